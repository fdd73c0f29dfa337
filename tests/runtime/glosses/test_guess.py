from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from gamer.runtime.glosses import guess
from gamer.runtime.glosses.guess import QueryWord, Ranks, likelier, ranks
from gamer.runtime.glosses.table import Gloss


def test_glosses_that_all_count_little_say_what_unknown_ones_say() -> None:
    english = ranks({"dog": 5, "the": 0})
    weak, sure = ((Gloss("dog", weight),) for weight in (0.4, 1.0))
    assert likelier("hund", weak, english) < 0.0 < likelier("hund", sure, english)


ENGLISH = {"the": 0, "on": 3, "cat": 40, "a": 1, "computer": 500, "playa": 30_000, "die": 900}
WORDS = [*ENGLISH, "gato", "hund", "katze", "mesa", "otto", "l"]
GLOSSES = st.lists(
    st.builds(Gloss, st.sampled_from([*ENGLISH, "table top"]), st.sampled_from([0.2, 0.6, 1.0])), max_size=3
)
TABLES = st.dictionaries(
    st.sampled_from(["de", "es", "fr"]), st.dictionaries(st.sampled_from(WORDS), GLOSSES)
)


def plainly(
    words: Sequence[QueryWord],
    tables: Mapping[str, Callable[[str], Sequence[Gloss]]],
    english: Ranks,
    told: str | None,
) -> dict[str, float]:
    """Each language's score, by all words."""
    scores = dict[str, float]()
    for code, lookup in tables.items():
        scores[code] = guess.TOLD if code == told else 0.0
        for said in words:
            known = english.get(said.word, guess.UNKNOWN) <= guess.COMMON
            if len(said.word) > 1 and (known or not said.is_name):
                more = likelier(said.word, lookup(said.word), english)
                missing = said.is_capital and not lookup(said.word)
                scores[code] += max(more, guess.CAPITAL) if missing else more
    return scores


@given(
    st.lists(st.builds(QueryWord, st.sampled_from(WORDS), st.booleans(), st.booleans()), max_size=8),
    TABLES,
    st.sampled_from([None, "de", "es"]),
)
def test_words_that_are_not_looked_up_would_change_nothing(
    words: list[QueryWord], listed: dict[str, dict[str, list[Gloss]]], told: str | None
) -> None:
    def lookup(table: dict[str, list[Gloss]]) -> Callable[[str], Sequence[Gloss]]:
        return lambda word: table.get(word, [])

    tables = {code: lookup(table) for code, table in listed.items()}
    scores = plainly(words, tables, ENGLISH, told)
    best = guess.language(words, tables, ENGLISH, told)
    most = max(scores.values(), default=0.0)
    if best is None:
        assert most <= guess.MARGIN + 1e-9
    else:
        assert scores[best] > guess.MARGIN - 1e-9
        assert scores[best] >= most - 1e-9
