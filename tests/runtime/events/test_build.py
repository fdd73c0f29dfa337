"""Events of an album: made, made again, and changed by a person, whose changes stay."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gamer.index import Album, AlbumError, AlbumWriter, Encoded, Event, Memory, Photo, event_id
from gamer.runtime.events.build import Counts, merge, rename, segment_album, split
from gamer.runtime.events.describe import MAX_NAME
from gamer.runtime.events.segment import Decision, Draft, Moment
from gamer.runtime.indexing.build import build
from gamer.runtime.models.models import Models
from tests.fakes import fake_models

MODELS = fake_models()
TEXTS = ("a lake with boats", "a lake with swans", "a lake at noon")
DAYS = {1: "abc", 9: "def", 20: "ghi"}


class ByDay:
    """A decider whose decisions a test can foresee."""

    def decide(self, draft: Draft | None, moment: Moment) -> Decision:
        far = draft is None or (moment.wall or 0) - draft.end > 86_400_000
        return Decision("ADD" if far else "UPDATE", float(far), "by day")


def segmented(album: Path, models: Models) -> Counts:
    return segment_album(album, models, ByDay())


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """Three days with three photos each, a minute apart, and a photo without a date."""
    rows = [
        {
            "id": name,
            "taken_at": f"2025-05-{day:02}T10:{minute:02}:00",
            "memories": [{"source": "note", "text": TEXTS[minute]}],
        }
        for day, names in DAYS.items()
        for minute, name in enumerate(names)
    ]
    source = tmp_path / "a.jsonl"
    lines = [*rows, {"id": "z", "memories": [{"source": "note", "text": "no date"}]}]
    source.write_text("\n".join(json.dumps(row) for row in lines), encoding="utf-8")
    return build(source, MODELS, tmp_path / "a.gamer").path


def events(album: Path) -> dict[str, Event]:
    """By the photos' ids, joined."""
    with Album.open(album) as opened:
        assert opened.verify() == []
        return {"".join(event.photos): event for event in opened.events()}


def add(album: Path, name: str, when: str) -> None:
    wall = int(np.datetime64(when, "ms").astype(np.int64))
    text = MODELS.text.encode([TEXTS[0]])
    photo = Photo(name, taken_at=wall, memories=(Memory("note", TEXTS[0]),))
    with AlbumWriter.extend(album) as writer:
        writer.add([Encoded(photo, {"text": text})])


def test_each_day_is_an_event_and_an_undated_photo_is_in_none(album: Path) -> None:
    counts = segmented(album, MODELS)
    assert isinstance(counts, Counts)
    assert (counts.events, counts.photos, counts.undated) == (3, 9, 1)
    assert counts.actions["ADD"] == 3
    assert sum(counts.actions.values()) == 9
    made = events(album)
    assert set(made) == {"abc", "def", "ghi"}
    assert made["abc"].id == event_id("a")
    event = made["def"]
    assert event.name.endswith("9 May 2025")
    assert "lake" in event.summary
    assert not event.edited
    assert event.vector is not None
    wanted = MODELS.text.encode([f"{event.name}. {event.summary}"])[0]
    assert float(event.vector @ wanted) > 0.98


def test_making_events_again_changes_nothing_and_encodes_nothing(
    album: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segmented(album, MODELS)
    before = events(album)
    models = fake_models()
    monkeypatch.setattr(models.text, "encode", lambda texts: pytest.fail(f"encoded {texts}"))
    assert segmented(album, models).unchanged == 3
    assert events(album) == before


def test_an_event_keeps_its_id_while_it_keeps_its_first_photo_or_most(album: Path) -> None:
    segmented(album, MODELS)
    before = events(album)
    add(album, "A", "2025-05-01T09:59:50")  # before the first photo of the first event
    add(album, "j", "2025-05-20T10:03:00")
    segmented(album, MODELS)
    after = events(album)
    assert after["Aabc"].id == before["abc"].id
    assert after["ghij"].id == before["ghi"].id
    with AlbumWriter.extend(album) as writer:
        writer.remove(["d"])
    segmented(album, MODELS)
    assert events(album)["ef"].id == before["def"].id


def test_a_persons_name_stays_and_a_photo_that_comes_inside_joins(album: Path) -> None:
    segmented(album, MODELS)
    wanted = events(album)["def"].id
    assert rename(album, MODELS, wanted, "Our\nlake <b>\x07" + "x" * 200).name.startswith("Our lake b")
    add(album, "E", "2025-05-09T10:01:30")
    counts = segmented(album, MODELS)
    event = events(album)["deEf"]
    assert counts.kept == 1
    assert event.edited
    assert event.id == wanted
    assert event.name.startswith("Our lake b")
    assert len(event.name) <= MAX_NAME
    with pytest.raises(AlbumError, match="printable"):
        rename(album, MODELS, wanted, "\n")


def test_merged_events_stay_one_and_what_lies_between_stays_outside(album: Path) -> None:
    segmented(album, MODELS)
    made = events(album)
    merged = merge(album, MODELS, made["abc"].id, made["ghi"].id)
    assert merged.name == made["abc"].name
    assert merged.edited
    segmented(album, MODELS)
    after = events(album)
    assert set(after) == {"abcghi", "def"}
    assert after["abcghi"].id == made["abc"].id
    with pytest.raises(AlbumError, match="name two"):
        merge(album, MODELS, merged.id, merged.id)


def test_a_split_stays_and_can_be_merged_again(album: Path) -> None:
    segmented(album, MODELS)
    whole = events(album)["def"]
    first, second = split(album, MODELS, whole.id, "e")
    assert (first.id, second.id) == (whole.id, event_id("e"))
    assert first.edited
    assert second.edited
    segmented(album, MODELS)
    assert {"d", "ef"} <= set(events(album))
    assert merge(album, MODELS, first.id, second.id).photos == whole.photos
    for photo in ("d", "a", "nobody"):  # its first photo, another event's, none
        with pytest.raises(AlbumError, match="can be split"):
            split(album, MODELS, whole.id, photo)
    with pytest.raises(AlbumError, match="no event 'ev_0000000000'"):
        split(album, MODELS, "ev_0000000000", "d")


def test_an_event_of_a_person_ends_the_one_before(album: Path) -> None:
    segmented(album, MODELS)
    first, second = split(album, MODELS, events(album)["abc"].id, "b")
    merge(album, MODELS, second.id, events(album)["ghi"].id)
    add(album, "0", "2025-05-01T09:59:59")
    add(album, "k", "2025-05-20T10:02:01")
    segmented(album, MODELS)
    assert set(events(album)) == {"0", "a", "bcghi", "def", "k"}
    assert first.photos == ("a",)
