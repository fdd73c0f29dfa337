"""What extraction finds in memories, what merges, and where the walk goes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.index import Mention, canonical, extract
from gamer.index.entities.extract import MAX_MENTIONS
from gamer.index.entities.graph import adjacency, traverse


def names(text: str) -> dict[str, str]:
    return {mention.name: mention.kind for mention in extract(text)}


def test_a_price_or_a_place_belongs_to_the_thing_in_its_sentence() -> None:
    mentions = extract("We bought a wooden chair for $119 at IKEA.")
    assert Mention("$119", "price", "wooden chair") in mentions
    assert Mention("IKEA", "place", "wooden chair") in mentions  # the paper's Chair → 119, IKEA
    assert Mention("IKEA", "place") in extract("We bought a chair for $119. Then we had lunch at IKEA.")


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("Caroline: Hey Mel! Good to see you!", "Caroline", "person"),
        ("I walked over the Golden Gate Bridge.", "Golden Gate Bridge", "thing"),
        ('The street sign said "Via Sallustiana" in blue.', "Via Sallustiana", "thing"),
        ("We met in Rome after the war.", "Rome", "place"),
        ("Taken on June 26th, 2010 with a drone.", "June 26th, 2010", "date"),
        ("It was 2026-01-05 then.", "2026-01-05", "date"),
        ("That cost 45 euros in all.", "45 euros", "price"),
        ("some friends on the wooden tables", "wooden table", "thing"),
        ("Im Sommer waren wir in München.", "München", "place"),
    ],
)
def test_extraction_finds_a_name_and_its_kind(text: str, name: str, kind: str) -> None:
    assert names(text).get(name) == kind


def test_common_words_are_no_entities() -> None:
    assert names("This is really just a very nice photo. They are here. I may go.") == {}


def test_spellings_of_a_name_share_one_canonical_form() -> None:
    assert canonical("Red Chairs") == canonical("red  chair") == "red chair"
    assert canonical("Anna's") == "anna"
    assert canonical("glass") == "glass"
    assert canonical("cities") == "city"


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300))
def test_extraction_of_any_text_is_bounded_repeatable_and_without_duplicates(text: str) -> None:
    mentions = extract(text)
    assert mentions == extract(text)
    assert len(mentions) <= MAX_MENTIONS
    keys = [canonical(mention.name) for mention in mentions]
    assert len(set(keys)) == len(keys)
    assert all(m.parent is None or m.parent in {other.name for other in mentions} for m in mentions)


def test_the_walk_starts_at_activated_nodes_and_passes_only_similar_ones() -> None:
    # 0 - 1 - 2 - 3 and 4 alone; 2 is below the threshold, so 3 is out of reach; 4 is similar but not
    # activated.
    pairs = np.array([(0, 1), (1, 2), (2, 3)], np.int64)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    edges = adjacency(both[:, 0], both[:, 1], 5, 5)
    similarity = np.array([0.7, 0.9, 0.1, 0.8, 0.95], np.float32)
    assert traverse(np.array([0, 2]), similarity, edges, 0.5).tolist() == [1, 0]
    assert traverse(np.array([2]), similarity, edges, 0.5).tolist() == []
    assert traverse(np.array([3, 4]), similarity, edges, 0.5).tolist() == [4, 3]
