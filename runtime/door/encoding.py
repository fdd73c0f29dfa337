"""What is read from photos when they are indexed, and building an album of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .bundle import DEFAULT, Bundle, Running, bundle_of

if TYPE_CHECKING:
    from ..indexing.build import Built, Progress
    from ..indexing.encode import Encoder
    from ..models.models import Models


@dataclass(frozen=True)
class Reading:
    """`ocr`: text in pictures, of "all" or, where the bundle reads text, of those that likely carry some
    ("auto"). `extract`: who finds entities in memories, the "rules" or, beside them, the bundle's language
    model ("llm").
    """

    ocr: Literal["off", "auto", "all"] = "auto"
    extract: Literal["rules", "llm"] = "rules"


AS_IT_IS = Reading()


def unread(album: Path, reading: Reading) -> tuple[int, str]:
    """How many screenshots of an album `reading` read no text in, and what reads it. Raises AlbumError."""
    from gamer.index import Album

    from ..bundle.manifest import read
    from ..errors import BundleError
    from ..models.printed import DETECTOR

    with Album.open(album) as opened:
        known = {row for row, _ in opened.memories_of("ocr")}
        screenshots = len(set(opened.rows_by_detail["medium"].get("screenshot", ())) - known)
        bundle = opened.bundle
    try:
        manifest = None if bundle is None else read(bundle)
    except BundleError:
        return 0, ""
    if not screenshots or manifest is None:
        return 0, ""
    if not any(component.role == DETECTOR for component in manifest.components):
        adds = f"gamer export {manifest.recipe} --parts ocr -o {bundle}"
        return screenshots, f"{adds}, then gamer index update {album}"
    return (screenshots, "--ocr auto") if reading.ocr == "off" else (0, "")


def encoder(models: Models, album: Path, reading: Reading) -> Encoder:
    """What encodes the photos of `album`; the language model's answers are kept in ALBUM.extract."""
    from gamer.index import extract as by_rules

    from ..indexing.encode import Encoder
    from ..indexing.ocr import TextReader

    reader: TextReader | None = TextReader(lambda: models.lines, reading.ocr)
    if reading.ocr == "all":
        _ = models.lines  # what is asked for and missing is said before anything is done
    elif reading.ocr == "off" or not models.has_lines:
        reader = None
    if reading.extract == "rules":
        return Encoder(models, reader, by_rules)
    from ..indexing.extract import LlmExtractor

    return Encoder(models, reader, LlmExtractor.open(models, album.with_name(album.name + ".extract")))


def build(
    source: str | Path,
    to: str | Path,
    bundle: str | Path | Bundle | None = None,
    *,
    people: bool | None = None,
    reading: Reading = AS_IT_IS,
    running: Running = DEFAULT,
    progress: Progress | None = None,
) -> Built:
    """Builds the album file `to` of a folder of photos, or of a JSONL; it replaces one only when it is whole.

    Without `bundle`, the one near `to`. Raises RuntimeFailure if no photo could be taken.
    """
    from ..indexing import build as indexing

    out = Path(to).expanduser()
    opened = bundle_of(out, bundle, running)
    made_by = encoder(opened.models, out, reading)
    return indexing.build(Path(source).expanduser(), opened.models, out, progress, made_by, people)
