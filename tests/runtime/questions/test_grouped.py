"""What a question counts by, in words that the reader's author did not list."""

from __future__ import annotations

import pytest

from gamer.runtime.questions.reader import read


@pytest.mark.parametrize(
    ("text", "each", "most", "target"),
    [
        ("which year did I photograph most?", "year", True, ""),
        ("In what month did we take the most pictures of Tom?", "month", True, "Tom"),
        ("where did I take the most photos of the cat", "place", True, "cat"),
        ("how many photos a month?", "month", False, ""),
        ("how many pictures of sunsets per year", "year", False, "sunsets"),
        ("number of photos each day", "day", False, ""),
        ("which country did I photograph most?", "country", True, ""),
        ("how many photos per city", "place", False, ""),
    ],
)
def test_what_a_question_counts_by(text: str, each: str, most: bool, target: str) -> None:
    question = read(text)
    assert (question.each, question.most) == (each, most)
    assert question.target == target


@pytest.mark.parametrize(
    "text",
    [
        "the most beautiful beach",
        "the photo of the year",
        "most recent photo of Tom",
        "which year was the wedding",
        "a month in Rome",
        "where is the most beautiful beach",
        "which day was the most beautiful sunset",
        "where did we have the most fun",
        "every year at the lake",
        "which country is the most beautiful",
    ],
)
def test_other_questions_count_by_nothing(text: str) -> None:
    assert read(text).each == ""
