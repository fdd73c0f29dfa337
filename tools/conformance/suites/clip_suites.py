"""Suite `clips`: which frames of a video are looked at, where it is cut, and how its parts are named."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from gamer.index import Photo, clips
from gamer.index.ingest.clips import clip_decoder, clip_frames
from tools.conformance.fixture import Answers, Given
from tools.conformance.suites.pixel_suites import pixels_of


def suite(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del shared, folder, stack
    return {"frames": _frames, "cuts": _cuts, "change": _change, "part": _part, "named": _named}


def _frames(given: Given) -> Given:
    return {"times": clip_decoder.spread(given["start"], given["end"], given["most"])}


def _cuts(given: Given) -> Given:
    return {"cuts": clip_frames.cuts(given["times"], given["changes"], given["whole"])}


def _change(given: Given) -> Given:
    before, after = (clip_decoder.shares(pixels_of(given[name])) for name in ("before", "after"))
    return {"change": clip_decoder.change(before, after)}


def _part(given: Given) -> Given:
    part = clips.part(Photo(given["id"], taken_at=given["taken_at"]), given["start"], given["end"])
    return {"id": part.id, "taken_at": part.taken_at}


def _named(given: Given) -> Given:
    part = clips.part_of(given["id"])
    return {"part": None if part is None else list(part), "whole": clips.whole(given["id"])}
