"""Entities and things of texts made to be slow: twice the text is twice the work, counted in calls."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from gamer.index.entities import extract as entities
from gamer.index.things import extract as things

READERS = {"entities": entities.extract, "things": things.extract}
TEXTS = {
    "prices of nothing": "$1, ",
    "an owner of nothing": "my ",
    "an owner's cups": "my cup ",
    "names side by side": "Ab{0:x}, ",
    "names in names": "Ab{0:x} in ",
    "cups in places": "cup{0:x} in Ab{0:x}, ",
    "things and things": "wordab{0:x} and ",
    "quotes": '"$1,"',
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", TEXTS)
def test_the_work_grows_as_the_text(reader: str, text: str) -> None:
    small, large = (_calls(reader, TEXTS[text], times) for times in (600, 1200))
    assert large < 2.6 * small


def _calls(reader: str, text: str, times: int) -> int:
    """Functions called, those of C too, while a text of `times` repeats is read."""
    whole = "".join(text.format(number) for number in range(times))
    calls = 0

    def count(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        READERS[reader](whole)
    finally:
        sys.setprofile(before)
    return calls
