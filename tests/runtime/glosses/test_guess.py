from __future__ import annotations

from gamer.runtime.glosses.guess import likelier, ranks
from gamer.runtime.glosses.table import Gloss


def test_glosses_that_all_count_little_say_what_unknown_ones_say() -> None:
    english = ranks({"dog": 5, "the": 0})
    weak, sure = ((Gloss("dog", weight),) for weight in (0.4, 1.0))
    assert likelier("hund", weak, english) < 0.0 < likelier("hund", sure, english)
