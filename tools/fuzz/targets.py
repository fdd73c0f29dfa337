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
from gamer.runtime.glosses.letters import Names
from gamer.runtime.glosses.reading import Reader
from gamer.runtime.glosses.table import GlossTable
from gamer.runtime.memory.reading.facts import facts_of
from gamer.runtime.models.tokenizers import open_tokenizer

SEEDS = Path(__file__).parent / "seeds"
MAX_BYTES = 1 << 17  # of an input; a longer seed would be cut, and refused before it is read
NOW = datetime(2026, 6, 1, 12)


@dataclass(frozen=True)
class Target:
    """`feed` takes the input; `errors` are what it may raise. Its seeds are the files of SEEDS/<name>.

    `needs`: a package that is not in the base installation, or "".
    """

    feed: Callable[[bytes], object]
    errors: tuple[type[Exception], ...] = ()
    needs: str = ""

    def __call__(self, data: bytes) -> None:
        """Feeds one input. Raises AssertionError if an allowed error is of more than one line."""
        try:
            self.feed(data)
        except self.errors as error:
            assert str(error), f"not one line: {error!r}"
            assert "\n" not in str(error), f"not one line: {error!r}"


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


def _read_config(path: Path) -> None:
    """The sizes of the networks. `preprocessor` holds what preprocessor_config.json would."""
    from gamer.export.checked import read_object
    from gamer.export.checkpoints import decoder_config, preprocessing, sentence_config, tower_config
    from gamer.export.checkpoints.sentence_modules import AS_IT_IS

    config = read_object(path) or {}
    match config.get("model_type"):
        case "clip" | "siglip":
            tower_config.text_shape(config)
            steps = config.get("preprocessor")
            preprocessing.preprocessing(config, steps if isinstance(steps, dict) else None)
        case "bert" | "roberta" | "xlm-roberta" | "mpnet":
            sentence_config.bert_shape(config, AS_IT_IS)
        case "modernbert":
            sentence_config.modernbert_shape(config, AS_IT_IS)
        case _:
            decoder_config.language(config, 64)


def _read_safetensors(path: Path) -> None:
    from gamer.export.checkpoints.weights import SafetensorsWeights

    weights = SafetensorsWeights([path], "fuzz")
    for name in ("weight", "bias", "half"):
        if weights.has(name):
            weights.get(name, 2, 3)


def _read_glosses(path: Path) -> None:
    reader = Reader([GlossTable(path)], {"the": 0, "cat": 1})
    for query in ("Katze am Schloss", "die Katzen", "ёлка 猫の写真", "l'été dernier", "donaudampfschiff"):
        reader.read(query, Names(["Anna"]))


def _cut(path: Path) -> None:
    tokenizer = open_tokenizer(path)
    for text in ("A cat, 12 é!", "a" * 300, " \n" * 100, "猫"):
        tokenizer.decode(tokenizer.encode(text).ids)


def _draw_facts(data: bytes) -> None:
    for fact in facts_of(data.decode("utf-8", "replace")):
        NewItem(fact.kind, fact.key, fact.value, 0)


TARGETS = {
    "album": Target(_with_file(".gamer", _read_album), (AlbumError,)),
    "chat": Target(_with_file(".txt", chat.read), (IngestError,)),
    "config": Target(_with_file(".json", _read_config), (ExportError,), "torch"),
    "exif": Target(_with_file(".jpg", lambda path: list(scan(path.parent))), (IngestError,)),
    "facts": Target(_draw_facts),
    "gguf": Target(_with_file(".gguf", _read_gguf), (ExportError,), "gguf"),
    "glosses": Target(_with_file(".bin", _read_glosses), (BundleError,)),
    "jsonl": Target(_with_file(".jsonl", lambda path: list(scan(path))), (IngestError,)),
    "manifest": Target(
        lambda data: manifest.from_json(data.decode("utf-8", "replace"), "manifest.json"), (BundleError,)
    ),
    "query": Target(lambda data: parse(data.decode("utf-8", "replace"), NOW, None)),
    "rendered": Target(_with_file(".png", picture.rendered)),
    "safetensors": Target(_with_file(".safetensors", _read_safetensors), (ExportError,), "torch"),
    "sidecar": Target(sidecar_json.parse, (IngestError,)),
    "tokenizer": Target(_with_file(".json", _cut), (BundleError,)),
    "xmp": Target(xmp.parse, (IngestError,)),
}
