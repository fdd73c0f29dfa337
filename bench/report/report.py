"""Draws results as one self-contained HTML file: queries, hits, the work and cost of each layer, plots.

It draws what the bench commands saved as JSON. There is no script and no external file; photographs are
embedded as small JPEGs. Everything that came from outside is escaped by the template engine.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gamer.index import IngestError, Photo, load_photo
from gamer.index.ingest.shown import jpeg
from gamer.runtime.bundle.manifest import Manifest
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.search.answer import LAYERS, Answer
from gamer.runtime.wall_time import day

from ..files import write_atomically
from ..published import LATENCY_NOTE, beside
from .parts import template
from .result_plots import Document, bits, draw

THUMB = 240
MAX_BYTES = 256 << 20
# The kinds of document that are drawn, and the fields by which a file's kind is recognised.
KINDS: dict[str, tuple[str, ...]] = {
    "latency": ("schema", "rows", "album", "machine"),
    "flops": ("components", "sums", "routing", "candidates"),
    "ops": ("tables", "ceilings", "executorch"),
    "device": ("checked", "outlooks", "tasks"),
    "quality": ("dataset", "methods", "reference"),
    "index": ("sizes", "dim", "queries"),
}


@dataclass(frozen=True)
class Shown:
    """A hit as the page shows it. `picture`: a data: URL, or "" if the photo cannot be read."""

    rank: int
    id: str
    taken: str
    score: float
    why: str
    memory: str
    picture: str


@dataclass(frozen=True)
class Search:
    answer: Answer
    hits: tuple[Shown, ...]


def thumbnail(photo: Photo) -> str:
    """A data: URL of the photo, at most THUMB pixels wide; "" when it cannot be read."""
    try:
        small = jpeg(load_photo(photo), THUMB, quality=80)
    except IngestError:
        return ""
    return "data:image/jpeg;base64," + base64.b64encode(small).decode()


def shown(answer: Answer) -> Search:
    """An answer with thumbnails of its hits."""
    hits = []
    for rank, hit in enumerate(answer.hits, 1):
        why = ", ".join(f"{name} {value:+.2f}" for name, value in hit.parts.items() if value)
        if hit.matched:
            why += f" · nodes: {', '.join(hit.matched)}"
        taken = day(hit.taken_at) if hit.taken_at is not None else "unknown"
        hits.append(
            Shown(
                rank=rank,
                id=hit.id,
                taken=taken,
                score=hit.score,
                why=why,
                memory=hit.memory or "",
                picture=thumbnail(Photo(hit.id, hit.path)),
            )
        )
    return Search(answer, tuple(hits))


def write(
    out: Path, manifests: Sequence[Manifest], documents: Sequence[Document], answers: Sequence[Answer]
) -> None:
    """Writes the page to a temporary file and renames it to `out`.

    Raises RuntimeFailure for a document that lacks what its kind has.
    """
    from jinja2 import TemplateError

    by_kind = {kind: [d for d in documents if kind_of(d) == kind] for kind in KINDS}
    try:
        text = template("report.html").render(
            manifests=manifests,
            docs=by_kind,
            plots=draw(by_kind),
            bits=bits,
            searches=[shown(a) for a in answers],
            layers=LAYERS,
            beside=beside,
            latency_note=LATENCY_NOTE,
        )
    except (
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        StopIteration,
        OverflowError,
        TemplateError,
    ) as error:
        raise RuntimeFailure(
            f"{out}: a result file lacks what its kind has ({type(error).__name__}: {str(error)[:80]}): "
            "measure it again"
        ) from None
    write_atomically(out, text)


def read(path: Path) -> tuple[Document, ...]:
    """The result in a file of a bench command; of `bench latency` by several --threads, one for each number.

    Raises RuntimeFailure for a file of an unknown kind.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise RuntimeFailure(f"{path}: {path.stat().st_size} bytes are no result: at most {MAX_BYTES}")
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RuntimeFailure(
            f"{path}: not JSON ({str(error)[:80]}): give files that the bench commands wrote with -o"
        ) from None
    runs = document.get("runs") if isinstance(document, dict) else None
    documents = tuple(runs) if isinstance(runs, list) and runs else (document,)
    if not all(isinstance(one, dict) and kind_of(one) in KINDS for one in documents):
        raise RuntimeFailure(f"{path}: no result that the report draws: {', '.join(KINDS)}")
    return documents


def kind_of(document: Document) -> str:
    """The kind whose fields the document has; "" if there is none."""
    return next((kind for kind, names in KINDS.items() if all(name in document for name in names)), "")
