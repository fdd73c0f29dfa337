"""Questions are sorted by what their answer is, not by their first word."""

from __future__ import annotations

import pytest

from gamer.bench.agent.question_types import TYPES, type_of


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did I last see my grandfather?", "when"),
        ("What year did we move?", "when"),
        ("Did we go to the lake first, or did we see the horses first?", "when"),
        ("Where did I eat dinner the day before the museum?", "where"),
        ("Which city did we fly to?", "where"),
        ("Who came to my birthday party in 2024?", "who"),
        ("How many balloons were in the photo?", "visual"),
        ("At the party, what colour was the cake?", "visual"),
        ("On the way to the lake, what did the yellow sign say?", "visual"),
        ("When I was eating in Berlin, what was she wearing on her wrist?", "visual"),
        ("What did I eat for breakfast?", "what"),
        ("cherry blossoms", "what"),
        ("", "what"),
    ],
)
def test_the_type_of_a_question(question: str, kind: str) -> None:
    assert type_of(question) == kind
    assert kind in TYPES
