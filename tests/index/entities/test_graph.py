"""What extraction finds in memories, what merges, and where the walk goes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.index import canonical, extract
from gamer.index.album.writing.rows import ALONE, CHILD, PARENT, leaves
from gamer.index.entities import graph as walks
from gamer.index.entities.extract import MAX_MENTIONS
from gamer.index.entities.graph import above, adjacency


def names(text: str) -> dict[str, str]:
    return {mention.name: mention.kind for mention in extract(text)}


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


Edges = list[tuple[int, int]]


def depth_first(start: int, edges: Edges, depth: int) -> set[int]:
    """The paper's walk, from parent to child: what it reaches from `start` over at most `depth` edges."""
    found = {start}
    if depth:
        for parent, child in edges:
            if parent == start:
                found |= depth_first(child, edges, depth - 1)
    return found


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 9).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=14),
            st.integers(0, n - 1),
            st.integers(0, 4),
        )
    )
)
def test_what_lies_above_a_node_is_what_a_depth_first_search_reaches_it_from(
    graph: tuple[int, Edges, int, int],
) -> None:
    n, edges, node, depth = graph
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    parents = adjacency(pairs[:, 1], pairs[:, 0], n, n)
    expected = [start for start in range(n) if node in depth_first(start, edges, depth)]
    assert above(node, parents, depth).tolist() == expected


@pytest.mark.parametrize(
    ("alone", "children", "expected"),
    [
        ({1, 2}, {}, {1: ALONE, 2: ALONE}),
        ({1}, {1: {2, 3}}, {1: PARENT, 2: CHILD, 3: CHILD}),
        ({1}, {1: {2}, 2: {3}}, {1: PARENT, 2: CHILD, 3: CHILD}),  # coffee → Blue Bottle → Kyoto
        (set(), {1: {2}}, {1: PARENT, 2: CHILD}),  # the parent stands in another memory
        ({1, 2}, {1: {2}}, {1: PARENT, 2: ALONE}),  # one memory is about 2 itself
        (set(), {1: {2}, 2: {1}}, {1: PARENT, 2: PARENT}),  # a circle is reached from nowhere
        ({1}, {1: {2}, 2: {1}}, {1: PARENT, 2: CHILD}),
    ],
)
def test_a_photo_hangs_on_what_describes_nothing_else(
    alone: set[int], children: dict[int, set[int]], expected: dict[int, int]
) -> None:
    assert leaves(alone, children) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=10), st.integers(0, 5))
def test_a_search_depth_first_visits_once_what_edges_lead_to(pairs: Edges, start: int) -> None:
    columns = np.array(pairs, np.int64).reshape(-1, 2).T
    edges = adjacency(columns[0], columns[1], 6, 6)
    found = walks.depth_first(start, edges)
    assert found[0] == start
    assert len(found) == len(set(found))
    assert set(found) == depth_first(start, sorted(set(pairs)), 6)
