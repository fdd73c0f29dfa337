"""Which words name a facet: each album here has every one."""

from __future__ import annotations

import pytest

from gamer.runtime.questions.facets import Facets, fact_of
from gamer.runtime.questions.reader import read


@pytest.mark.parametrize(
    ("text", "facets", "query"),
    [
        ("videos of Anna", Facets(clips=True), "photos of Anna"),
        ("show me the video of the cat", Facets(clips=True), "show me the photos of the cat"),
        ("vertical videos of Tom", Facets("portrait", clips=True), "photos of Tom"),
        ("the lake in landscape mode", Facets("landscape"), "the lake"),
        ("sunsets taken with my iPhone", Facets(camera="iPhone"), "sunsets"),
        ("shot on a Pixel 9", Facets(camera="a Pixel 9"), "photos"),
    ],
)
def test_facets_are_taken_out_of_the_query(text: str, facets: Facets, query: str) -> None:
    question = read(text, has=lambda *_: True)
    assert (question.facets, question.query) == (facets, query)


@pytest.mark.parametrize(
    "text",
    [
        "photos and videos of Anna",
        "kids watching a video",
        "photos from the day after the video of the wedding",
        "the video shop",
        "a portrait of Anna",
        "a child with an apple",
        "the boy on the 6",
        "dinner with the family",
    ],
)
def test_scenes_name_no_facet(text: str) -> None:
    assert read(text, has=lambda *_: True).facets == Facets()


@pytest.mark.parametrize(
    ("phrase", "fact"), [("a date", ""), ("date", "date"), ("GPS coordinates", "place"), ("date tree", "")]
)
def test_a_fact_is_named_alone(phrase: str, fact: str) -> None:
    assert fact_of(phrase) == fact
