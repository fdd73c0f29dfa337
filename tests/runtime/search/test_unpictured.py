"""Words that an image encoder of named classes does not know."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from gamer.runtime.models.models import Models
from gamer.runtime.search.unpictured import not_searched, unpictured


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for each test."""
    monkeypatch.setenv("GAMER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "names"


PLANE = {
    "seashore, coast": (1.0, 0.0),
    "beach": (0.8, 0.6),
    "shore": (0.8, 0.6),
    "zebra": (0.0, 1.0),
    "lamp": (-1.0, 0.0),
}


def _models(labels: tuple[str, ...]) -> Models:
    """A text tower that knows the words of PLANE; any other points away from them."""

    def encode(texts: list[str]) -> Any:
        return np.array([PLANE.get(text, (-0.6, -0.8)) for text in texts], np.float32)

    manifest = SimpleNamespace(text_prompts=None, dim=2, artifact=lambda *_: SimpleNamespace(sha256="5e"))
    text = SimpleNamespace(encode=encode, words={"seashore", "beach", "lamp"})
    return cast(Models, _Hashed(labels=labels, text=text, manifest=manifest, backend="onnx"))


class _Hashed(SimpleNamespace):
    __hash__ = object.__hash__  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("giraffe", ("giraffe",)),
        ("beach", ()),  # by the class that is like it
        ("beaches", ()),  # by what it is the plural of
        ("shores", ("shores",)),  # whose singular is no word of the tower
        ("the zebras", ()),  # by a class's name
        ("sea coast", ()),  # by a second name
        ("giraffe on a beach", ()),
        ("lamp", ("lamp",)),
        ("", ()),
    ],
)
def test_a_word_is_known_by_a_name_of_a_class_or_by_one_that_is_like_it(
    query: str, words: tuple[str, ...]
) -> None:
    assert unpictured(query, _models(("seashore, coast", "zebra"))) == words


def test_an_encoder_without_classes_knows_every_word() -> None:
    assert unpictured("giraffe", _models(())) == ()


def test_the_names_are_encoded_once_and_again_where_what_was_kept_is_damaged(kept: Path) -> None:
    labels = ("seashore, coast", "zebra")
    assert unpictured("beach", _models(labels)) == ()
    (file,) = kept.iterdir()
    other = np.array([[-0.6, -0.8], [0.0, 1.0]], np.float32)
    file.write_bytes(other.tobytes())
    assert unpictured("beach", _models(labels)) == ()  # by the second; the vectors are those of the file
    assert unpictured("giraffe", _models(labels)) == ()
    for damaged in (
        b"",
        b"PK\x03\x04",
        other.tobytes()[:-4],
        bytes(17),
        np.full(4, np.nan, np.float32).tobytes(),
    ):
        file.write_bytes(damaged)
        assert unpictured("giraffe", _models(labels)) == ("giraffe",)
    assert unpictured("giraffe", _models(("zebra",))) == ("giraffe",)
    assert len(list(kept.iterdir())) == 2


@pytest.mark.parametrize(
    ("words", "files", "code"),
    [
        (("schwarzer", "hund"), (), "unpictured.foreign"),
        (("schwarzer", "hund", "dog", "windmill"), (), "unpictured.foreign"),
        (("schwarzer", "dog"), (), "unpictured"),
        (("giraffe",), (), "unpictured"),
        (("windmill",), (), "unpictured"),
        (("schwarzer", "hund"), ("glosses-de.sqlite",), "unpictured"),
    ],
)
def test_words_that_may_be_no_english_ones_are_said_to_need_dictionaries(
    words: tuple[str, ...], files: tuple[str, ...], code: str
) -> None:
    manifest = SimpleNamespace(files=[SimpleNamespace(name=name) for name in files])
    text = SimpleNamespace(words={"dog": 1, "windmill": 2})
    models = cast(Models, SimpleNamespace(manifest=manifest, text=text))
    remark = not_searched(words, models)
    assert (remark.code, remark.text) == (code, " ".join(words))
    assert ("dictionaries" in str(remark)) is (code == "unpictured.foreign")
