"""The package `gamer` as a program uses it: albums and bundles, opened, asked and changed."""

from __future__ import annotations

import base64
import io
import re
import shutil
import subprocess
import sys
import threading
from datetime import datetime
from pathlib import Path

import pytest
from PIL import Image

import gamer
from gamer.index.errors import AlbumError, IngestError
from gamer.runtime.errors import NoBundle, RuntimeFailure
from tests.export import tiny

NOW = datetime(2026, 11, 21)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    for name, colour in (("red", "red"), ("blue", "blue"), ("red again", "#f00010")):
        Image.new("RGB", (320, 240), colour).save(folder / f"{name}.jpg")
    (folder / "blue.xmp").write_text(
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:description><rdf:Alt>'
        '<rdf:li xml:lang="x-default">swimming in the lake with Anna</rdf:li>'
        "</rdf:Alt></dc:description></rdf:Description></rdf:RDF></x:xmpmeta>"
    )
    return folder


@pytest.fixture(scope="module")
def built(bundle: Path, photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("album") / "mine.gamer"
    with gamer.build(photos, to=path, bundle=bundle) as album:
        assert album.built is not None
        assert album.built.photos == len(album) == 3
    return path


@pytest.fixture
def path(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(built, tmp_path / "mine.gamer"))


def test_the_lines_of_the_readme_find_a_photo(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with gamer.open(str(path)) as album:
        for hit in album.search("swimming with Anna", k=5):
            print(f"{hit.probability:.0%}", hit.path)
    assert capsys.readouterr().out.splitlines()[0].endswith("blue.jpg")


def test_an_answer_is_a_sequence_goes_into_a_table_and_shows_its_pictures(path: Path, photos: Path) -> None:
    with gamer.open(path) as album:
        answer = album.search("swimming <with> Anna", now=NOW)
        assert [hit.id for hit in answer] == [answer[n].id for n in range(len(answer))]
        assert [row["id"] for row in answer.to_dicts()] == [hit.id for hit in answer.hits]
        shown = answer._repr_html_()
        assert "swimming &lt;with&gt; Anna" in shown
        assert "<with>" not in shown
        (first, *_) = re.findall(r"base64,([^\"]+)", shown)
        assert Image.open(io.BytesIO(base64.b64decode(first))).size == (200, 150)
        similar = album.similar("red.jpg", k=1)
        assert [photo.id for photo in similar] == [similar.to_dicts()[0]["id"]]
        assert similar._repr_html_().count("<img") == 1
        outcome = album.ask("how many photos of swimming?", now=NOW)
        assert outcome.answer.sentence in outcome._repr_html_()
        assert [row["file"] for row in outcome.to_dicts()] == list(outcome.files)
        assert set(outcome.ids) <= {hit.id for hit in album.search("swimming", k=50, now=NOW)}
        assert outcome.ids


def test_a_picture_that_is_gone_leaves_its_caption(path: Path, photos: Path, tmp_path: Path) -> None:
    with gamer.open(path) as album:
        answer = album.search("swimming with Anna", k=1)
    (photos / "blue.jpg").rename(tmp_path / "blue.jpg")
    try:
        assert "<img" not in answer._repr_html_()
        assert "swimming in the lake" in answer._repr_html_()
    finally:
        (tmp_path / "blue.jpg").rename(photos / "blue.jpg")


def test_changes_are_seen_by_the_next_call(path: Path, photos: Path) -> None:
    with gamer.open(path) as album:
        assert len(album) == 3
        assert album.search("red", k=9)
        Image.new("RGB", (64, 64), "green").save(photos / "green.jpg")
        try:
            assert album.add(photos).added == 1
            assert len(album) == 4
        finally:
            (photos / "green.jpg").unlink()
        assert album.remove("green.jpg") == ("green.jpg",)
        assert len(album) == 3
        assert album.verify() == []
        assert {photo for period in album.timeline("year") for photo in period.photos} == {
            "red.jpg",
            "blue.jpg",
            "red again.jpg",
        }


def test_the_memory_of_the_owner_and_the_events(path: Path) -> None:
    with gamer.open(path) as album:
        number = album.memory.add("Porto", kind="core", key="home")
        assert "Porto" in album.memory.say("Where do I live?", NOW).text
        later = album.memory.correct(number, "Lisbon")
        assert [item.value.text for item in album.memory if item.value.key == "home"] == ["Lisbon"]
        album.memory.forget(later)
        with pytest.raises(AlbumError, match="nobody was searched for"):
            list(album.people)
        assert list(album.events) == []
        assert album.events.build().photos == 0


def test_threads_share_an_album(path: Path) -> None:
    answers: list[tuple[str, ...]] = []
    with gamer.open(path) as album:
        threads = [
            threading.Thread(
                target=lambda: answers.append(tuple(hit.id for hit in album.search("Anna", now=NOW)))
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(answers) == 4
    assert len(set(answers)) == 1


def test_errors_are_of_one_class_and_one_line(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GAMER_BUNDLE", raising=False)
    monkeypatch.chdir(tmp_path)
    for error, call in (
        (AlbumError, lambda: gamer.open(tmp_path / "none.gamer")),
        (RuntimeFailure, lambda: gamer.Bundle(tmp_path)),
        (NoBundle, lambda: gamer.build(photos, to=tmp_path / "a.gamer")),
        (IngestError, lambda: gamer.build(tmp_path / "none", tmp_path / "a", tmp_path)),
    ):
        with pytest.raises(gamer.GamerError) as caught:
            call()
        assert len(str(caught.value).splitlines()) == 1
        assert isinstance(caught.value, error) or error is IngestError


@pytest.mark.slow
def test_a_checkpoint_is_exported_and_verified(tmp_path: Path) -> None:
    source = tiny.clip(tmp_path / "clip")
    bundle = gamer.export(source, to=tmp_path / "out", targets=("onnx",))
    bundle.check()
    assert bundle.targets == ("onnx",)
    assert gamer.verify(tmp_path / "out", run=False) == bundle.manifest


def test_the_package_is_imported_in_no_time_and_its_names_are_there() -> None:
    heavy = ["numpy", "onnxruntime", "apsw", "torch", "click", "PIL"]
    code = f"import gamer, sys; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    for name in gamer.__all__:
        assert getattr(gamer, name) is not None
        assert name in dir(gamer)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = gamer.nothing
