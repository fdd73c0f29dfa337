"""What the fuzzers feed: one function for each kind of hostile input, and the errors that it may raise.

A target takes any bytes. It returns, or raises one of its own errors (one line, which is checked); anything
else is a finding. Shared by the coverage-guided runs (`run.py`) and the short run among the tests.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gamer.export.errors import ExportError
from gamer.index import Album, AlbumError, IngestError, scan
from gamer.index.ingest import chat, picture
from gamer.index.ingest.metadata import sidecar_json, xmp
from gamer.index.memory.records import NewItem
from gamer.runtime.bundle import manifest
from gamer.runtime.cues.parse import parse
from gamer.runtime.errors import BundleError
from gamer.runtime.memory.reading.facts import facts_of

SEEDS = Path(__file__).parent / "seeds"
MAX_BYTES = 1 << 17  # of an input; a longer seed would be cut, and refused before it is read
NOW = datetime(2026, 6, 1, 12)


@dataclass(frozen=True)
class Target:
    """`feed` takes the input; `errors` are what it may raise. Its seeds are the files of SEEDS/<name>."""

    feed: Callable[[bytes], object]
    errors: tuple[type[Exception], ...] = ()

    def __call__(self, data: bytes) -> None:
        """Feeds one input. Raises AssertionError if an allowed error is of more than one line."""
        try:
            self.feed(data)
        except self.errors as error:
            assert str(error) and "\n" not in str(error), f"not one line: {error!r}"


def _with_file(suffix: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    def feed(data: bytes) -> object:
        with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
            path = Path(folder) / f"input{suffix}"
            path.write_bytes(data)
            return read(path)

    return feed


def _read_album(path: Path) -> None:
    with Album.open(path) as album:
        album.verify()
        album.photos(range(min(len(album), 8)))


def _read_gguf(path: Path) -> None:
    from gamer.export.checkpoints.decoder_config import decoder_shape
    from gamer.export.checkpoints.gguf_weights import open_gguf

    config, _ = open_gguf(path, "fuzz")
    decoder_shape(config, 64)


def _draw_facts(data: bytes) -> None:
    for fact in facts_of(data.decode("utf-8", "replace")):
        NewItem(fact.kind, fact.key, fact.value, 0)


TARGETS = {
    "album": Target(_with_file(".gamer", _read_album), (AlbumError,)),
    "chat": Target(_with_file(".txt", chat.read), (IngestError,)),
    "exif": Target(_with_file(".jpg", lambda path: list(scan(path.parent))), (IngestError,)),
    "facts": Target(_draw_facts),
    "gguf": Target(_with_file(".gguf", _read_gguf), (ExportError,)),
    "jsonl": Target(_with_file(".jsonl", lambda path: list(scan(path))), (IngestError,)),
    "manifest": Target(
        lambda data: manifest.from_json(data.decode("utf-8", "replace"), "manifest.json"), (BundleError,)
    ),
    "query": Target(lambda data: parse(data.decode("utf-8", "replace"), NOW, None)),
    "rendered": Target(_with_file(".png", picture.rendered)),
    "sidecar": Target(sidecar_json.parse, (IngestError,)),
    "xmp": Target(xmp.parse, (IngestError,)),
}
