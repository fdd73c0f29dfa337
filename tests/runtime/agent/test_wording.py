"""Steps of a question in plain words: no condition, no argument of a tool is shown to people as it is."""

from __future__ import annotations

import pytest

from gamer.runtime.agent import calls
from gamer.runtime.agent.wording import condition_in_words, in_words


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("(time >= 2026-01-01T00:00:00 and time <= 2026-12-31T23:59:59)", "from 2026-01-01 to 2026-12-31"),
        ("time >= 2026-01-01T08:30:00 and time <= 2026-01-02", "from 2026-01-01 08:30:00 to 2026-01-02"),
        ("time < img_4 and time >= 2026-01-01", "before img_4 and from 2026-01-01 on"),
        ("time > img_4 and not (time = 2025-05-13)", "after img_4 and not 2025-05-13"),
        ('place = "New York" and year != 2020', "in New York and not 2020"),
        ("people >= 2 or weekday = sunday", "people at least 2 or weekday sunday"),
        (
            "(time >= 2026-01-01 and time <= 2026-02-01) and (place = Oslo or place = Rome)",
            "from 2026-01-01 to 2026-02-01 and (in Oslo or in Rome)",
        ),
        ("month = 5", "month 5"),
        (
            "not (place = Oslo and time >= 2026-01-01 and time <= 2026-02-01)",
            "not (in Oslo and from 2026-01-01 to 2026-02-01)",
        ),
    ],
)
def test_a_condition_is_said_in_words(where: str, said: str) -> None:
    assert condition_in_words(where) == said


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (calls.Filter("year = 2026", order="newest", limit=1), "photos 2026, at most 1, the newest first"),
        (calls.Filter(), "photos of all times"),
        (calls.Filter("tme > 1"), "photos where tme > 1"),
        (calls.Search("a cat", save_as="all", every=True), "search for “a cat”, all that fit, kept as “all”"),
        (calls.Search(like=("img_1", "img_2"), k=3), "search for photos like img_1, img_2, the best 3"),
        (calls.Grep("tea", within="found"), "memories with “tea”, within “found”"),
        (calls.List("month"), "count by month"),
        (calls.Combine("minus", "a", "b", "c"), "“a” minus “b”, kept as “c”"),
        (calls.View("what is red", ids=("img_1",)), "look at img_1: “what is red”"),
    ],
)  # fmt: skip
def test_a_call_is_said_in_words(call: calls.Call, said: str) -> None:
    assert in_words(call) == said


def test_every_tool_has_words() -> None:
    least = {"words": "a", "by": "day", "ids": ["a"], "id": "a", "prompt": "a", "query": "a"}
    least |= {"how": "and", "first": "a", "second": "b", "save_as": "c"}
    for name, tool in calls.TOOLS.items():
        needed = {key: value for key, value in least.items() if key in tool.__dataclass_fields__}
        assert in_words(calls.parse(name, needed))
