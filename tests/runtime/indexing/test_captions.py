"""Captions say what is known, add nothing, and leave what people wrote alone."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.index import Album, Memory, Photo
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.indexing import captions
from gamer.runtime.indexing.build import build
from gamer.runtime.indexing.captions import Facts, LlmCaptioner, by_template, caption_album, facts_of
from gamer.runtime.models.models import Models
from gamer.runtime.texts import one_line

LINES = """\
{"id": "a", "taken_at": "2026-05-01T19:30:00", "memories": [{"source": "ocr", "text": "PLATFORM 9"}]}
{"id": "b", "taken_at": "2026-05-01T19:40:00", "memories": [{"source": "note", "text": "My own words."}]}
{"id": "c", "taken_at": "2026-05-01T19:50:00", "memories": [{"source": "people", "text": "Anna, Tom"}]}
"""


@pytest.fixture
def album(bundle: Path, tmp_path: Path) -> Path:
    (tmp_path / "album.jsonl").write_text(LINES, encoding="utf-8")
    return build(tmp_path / "album.jsonl", Models.open(bundle), tmp_path / "album.gamer").path


def test_the_template_says_labels_people_place_and_daypart() -> None:
    facts = Facts(("tabby", "sofa", "lamp"), ("Anna",), "", "Porto, PT", datetime(2026, 5, 1, 19))
    assert by_template(facts) == "I photographed Anna and tabby and sofa in Porto in the evening."


def test_the_template_says_nothing_when_only_time_and_place_are_known() -> None:
    assert by_template(Facts(place="Porto, PT", taken=datetime(2026, 5, 1))) == ""


def test_text_in_a_picture_is_told_as_text() -> None:
    assert by_template(Facts(text="EXIT")) == "I took this picture. It says: EXIT"


def test_a_model_that_adds_content_is_overruled_by_the_template() -> None:
    facts = Facts(labels=("tabby",))
    assert LlmCaptioner(lambda draft, recent: "A tabby on the moon with dragons.")(facts) == by_template(
        facts
    )
    assert (
        LlmCaptioner(lambda draft, recent: "The tabby I photographed.")(facts) == "The tabby I photographed."
    )
    assert LlmCaptioner(lambda draft, recent: "")(facts) == by_template(facts)


def test_a_model_is_not_asked_about_a_photo_of_which_nothing_is_known() -> None:
    def ask(draft: str, recent: object) -> str:
        raise AssertionError("asked")

    assert LlmCaptioner(ask)(Facts()) == ""


@given(st.lists(st.text(max_size=400), max_size=3), st.sampled_from(["label", "ocr", "people", "place"]))
def test_any_memory_gives_one_printable_line_of_bounded_length(texts: list[str], source: str) -> None:
    facts = facts_of(Photo("a", memories=tuple(Memory(source, text) for text in texts)), [])
    caption = one_line(by_template(facts), captions.MAX_CAPTION)
    assert len(caption) <= captions.MAX_CAPTION
    assert caption.isprintable() or not caption


def test_photos_without_a_persons_text_get_a_caption_and_the_others_are_left(
    album: Path, bundle: Path
) -> None:
    done = caption_album(album, Models.open(bundle))
    assert (done.captioned, done.written, done.nothing_known) == (2, 1, 0)
    with Album.open(album) as opened:
        by_id = {opened.photo(row).id: opened.photo(row) for row in range(len(opened))}
        assert opened.verify() == []
    assert by_id["b"].memories == (Memory("note", "My own words."),)
    assert Memory("caption", "I took this picture in the evening. It says: PLATFORM 9") in by_id["a"].memories
    assert Memory("caption", "I photographed Anna and Tom in the evening.") in by_id["c"].memories
    assert Memory("ocr", "PLATFORM 9") in by_id["a"].memories


def test_a_second_run_changes_nothing(album: Path, bundle: Path) -> None:
    models = Models.open(bundle)
    caption_album(album, models)
    again = caption_album(album, models)
    assert (again.captioned, again.written) == (0, 3)


def test_an_interrupted_run_goes_on_where_it_stopped(
    album: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captions, "BATCH", 1)

    def stop(done: int, total: int, name: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        caption_album(album, Models.open(bundle), progress=stop)
    assert caption_album(album, Models.open(bundle)).captioned == 1


def test_the_captioner_sees_the_three_captions_before(album: Path, bundle: Path) -> None:
    seen: list[tuple[str, ...]] = []

    def watch(facts: Facts) -> str:
        seen.append(facts.recent)
        return f"caption {len(seen)}"

    caption_album(album, Models.open(bundle), captions.from_facts(watch))
    assert seen == [(), ("caption 1", "My own words.")]


def test_an_unknown_captioner_lists_the_choices(bundle: Path) -> None:
    with pytest.raises(RuntimeFailure, match="template, llm"):
        captions.captioner("poet", Models.open(bundle))
