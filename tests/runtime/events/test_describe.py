"""Names and summaries come from the memories, are bounded, and are one printable line."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.runtime.events.describe import MAX_NAME, MAX_SUMMARY, commonness, dates, describe
from gamer.runtime.events.segment import Moment

DAY = 86_400_000
MAY_13 = 20_221 * DAY  # 13 May 2025


def moment(n: int, *memories: str, days: int = 0, places: tuple[str, ...] = ()) -> Moment:
    return Moment(f"p{n}", MAY_13 + days * DAY + n * 60_000, memories=memories, places=places)


def test_a_name_says_what_is_named_and_when() -> None:
    event = [
        moment(0, "We went up to Tokyo Tower. It was windy."),
        moment(1, "Below us at Tokyo Tower, the lights."),
    ]
    said = describe(event)
    assert said.name.startswith("Tokyo Tower")
    assert said.name.endswith("13 May 2025")
    assert said.summary == "We went up to Tokyo Tower. Below us at Tokyo Tower, the lights."
    assert said.place is None


def test_what_the_whole_album_mentions_names_no_event() -> None:
    album = [moment(n, "Rex the dog with a red ball.", days=n) for n in range(30)]
    event = [moment(40, "Rex the dog with a red ball, beside a lighthouse.")]
    assert "lighthouse" in describe(event, commonness([*album, *event])).name.lower()


def test_the_place_is_the_most_frequent_and_names_an_event_without_words() -> None:
    event = [
        moment(0, places=("Graz, AT",)),
        moment(1, places=("Vienna, AT",)),
        moment(2, places=("Vienna, AT",)),
    ]
    assert describe(event).place == "Vienna, AT"
    assert describe(event).name == "Vienna, 13 May 2025"
    assert describe([moment(0)]).name == "Photos, 13 May 2025"


def test_dates_name_the_first_and_the_last_day() -> None:
    assert dates([moment(0), moment(1, days=2)]) == "13–15 May 2025"
    assert dates([moment(0), moment(1, days=20)]) == "13 May – 2 Jun 2025"
    assert dates([moment(0), moment(1, days=365)]) == "13 May 2025 – 13 May 2026"
    assert dates([Moment("a", None)]) == ""
    assert dates([Moment("a", 10**18)]) == ""


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=900), min_size=1, max_size=6), st.lists(st.text(max_size=200), max_size=2))
def test_every_description_is_one_printable_line_of_bounded_length(
    texts: list[str], places: list[str]
) -> None:
    said = describe([moment(n, text, places=tuple(places)) for n, text in enumerate(texts)])
    assert 0 < len(said.name) <= MAX_NAME
    assert len(said.summary) <= MAX_SUMMARY
    for text in (said.name, said.summary, said.place or ""):
        assert text.isprintable()
        assert not set("<>{}") & set(text)
