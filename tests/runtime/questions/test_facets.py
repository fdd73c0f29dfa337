"""Which words name a facet: each album here has every one."""

from __future__ import annotations

import pytest

from gamer.runtime.questions.facets import Facet, fact_of
from gamer.runtime.questions.reader import read

VIDEO, SCREENSHOT = Facet("medium", "video"), Facet("medium", "screenshot")
PORTRAIT, LANDSCAPE = Facet("orientation", "portrait"), Facet("orientation", "landscape")
FLASH, TEXT, ANNA = Facet("fact", "flash"), Facet("fact", "text"), Facet("alone", "Anna")


@pytest.mark.parametrize(
    ("text", "facets", "query"),
    [
        ("videos of Anna", [VIDEO], "photos of Anna"),
        ("show me the video of the cat", [VIDEO], "show me the photos of the cat"),
        ("vertical videos of Tom", [VIDEO, PORTRAIT], "photos of Tom"),
        ("the lake in landscape mode", [LANDSCAPE], "the lake"),
        ("sunsets taken with my iPhone", [Facet("camera", "iPhone")], "sunsets"),
        ("shot on a Pixel 9", [Facet("camera", "a Pixel 9")], "photos"),
        ("sunsets taken with my", [], "sunsets taken with my"),
        ("screenshots from May", [SCREENSHOT], "photos from May"),
        ("the screenshot of my boarding pass", [SCREENSHOT], "the photos of my boarding pass"),
        ("birthday cake with flash", [FLASH], "birthday cake"),
        ("dinner taken with the flash in 2024", [FLASH], "dinner in 2024"),
        ("pictures with text in them", [TEXT], "pictures"),
        ("photos with writing", [TEXT], "photos"),
        ("photos with a date", [Facet("fact", "date")], "photos"),
        ("photos with a location from 2019", [Facet("fact", "place")], "photos from 2019"),
        ("photos of Anna alone", [ANNA], "photos of Anna"),
        ("Anna by herself on the swing", [ANNA], "Anna on the swing"),
        ("group photos in Rome", [Facet("together")], "photos in Rome"),
        ("our group pictures at the lake", [Facet("together")], "photos at the lake"),
        ("four people together at dinner", [Facet("together")], "photos at dinner"),
        ("photos with several people together at the beach", [Facet("together")], "photos at the beach"),
        ("two people together", [Facet("together")], "photos"),
        ("people together in the garden", [Facet("together")], "photos in the garden"),
        ("photos of just one person", [Facet("alone")], "photos"),
        ("people alone in Rome", [Facet("alone")], "photos in Rome"),
        ("Anna and Tom together", [Facet("together", "Anna and Tom")], "Anna and Tom"),
        ("photos of Anna, Tom and Eve together in Rome", [Facet("together", "Anna, Tom and Eve")], None),
    ],
)
def test_facets_are_taken_out_of_the_query(text: str, facets: list[Facet], query: str | None) -> None:
    question = read(text, has=lambda facet: facet.kind != "alone" or facet in (ANNA, Facet("alone")))
    assert list(question.facets) == facets
    assert query is None or question.query == query


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
        "the tree alone in the field",
        "my dog alone on the beach",
        "the Eiffel Tower by itself",
        "Tree alone on a hill",
        "two people in a boat",
        "no people together",
        "photos that are not group photos",
        "photos of three people alone",
        "old people together",
        "a group picture of penguins",
        "drawing of people together",
        "photos of children and people together",
        "age group photos",
        "a group of photographers",
        "the only person who came",
        "a video on the tv",
        "street signs with text on them",
        "we danced together",
        "dinner with a date",
        "a box with flash cards",
        "a child with a text book",
    ],
)
def test_scenes_name_no_facet(text: str) -> None:
    assert read(text, has=lambda facet: facet.kind != "alone" or facet == ANNA).facets == ()


@pytest.mark.parametrize(
    ("phrase", "fact"),
    [
        ("a date", ""),
        ("date", "date"),
        ("GPS coordinates", "place"),
        ("date tree", ""),
        ("text", "text"),
        ("flash", "flash"),
    ],
)
def test_a_fact_is_named_alone(phrase: str, fact: str) -> None:
    assert fact_of(phrase) == fact
