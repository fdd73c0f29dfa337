"""Questions made from an album's memory graph: sampled by Algorithm 1, and answered by the album itself."""

from __future__ import annotations

from pathlib import Path
from random import Random

from gamer.bench.agent import made
from gamer.bench.agent.made import MemoryGraph, Node
from gamer.index import Album
from tests.albums import built, note

# Events 0..3 with ten photos each: a cake in all, a bride in one, a band in two; Ann here and there.
PHOTOS = {
    (event, number): (
        *(("cake",) if number < 3 else ()),
        *(("bride",) if event == 1 and number < 2 else ()),
        *(("band",) if event in (1, 2) and number == 4 else ()),
        *(("ann",) if number == 5 and event != 3 else ()),
    )
    for event in range(4)
    for number in range(10)
}
IDS = [f"p{event}{number}" for event, number in PHOTOS]


def graph() -> MemoryGraph:
    photoset = {row: event for row, (event, _) in enumerate(PHOTOS)}
    return MemoryGraph(photoset, dict(enumerate(PHOTOS.values())), frozenset({"ann"}))


def test_a_sample_is_part_of_the_graph_and_every_node_has_its_context() -> None:
    whole = graph()
    for seed in range(30):
        nodes, edges = made.sample(whole, seed, 12, Random(seed))
        assert Node("photo", seed) in nodes
        assert nodes == {node for edge in edges for node in edge}
        for one, other in map(tuple, edges):
            known = {node for _, node in whole.neighbours(one)} | {one}
            assert other in known or one in {node for _, node in whole.neighbours(other)}
        assert len({edge for edge in edges if not _completes(edge)}) <= 12
        for node in nodes:
            if node.kind == "clue":
                assert Node("photo", node.row) in nodes
            if node.kind == "photo":
                assert Node("photoset", whole.photoset[node.row]) in nodes


def _completes(edge: made.Edge) -> bool:
    return "photoset" in {node.kind for node in edge} or {node.kind for node in edge} == {"photo", "clue"}


def test_kinds_of_edges_are_drawn_alike_so_that_samples_leave_their_event() -> None:
    """A photo has ten neighbours by its event and few by what it shows; events are left all the same."""
    whole, left = graph(), 0
    for seed in range(40):
        nodes, _ = made.sample(whole, 0, 10, Random(seed))
        left += len({whole.photoset[node.row] for node in nodes if node.kind == "photo"}) > 1
    assert left > 35


def test_a_question_has_its_answer_in_the_anchors_events_and_photos_like_it_elsewhere() -> None:
    whole = graph()
    asked = made.tasks(whole, IDS, 20)
    found = {task.text: task.relevant for task in asked}
    assert found["all photos of cake from the event with bride"] == {"p10", "p11", "p12"}
    assert found["all photos of cake from the events with band"] == {"p10", "p11", "p12", "p20", "p21", "p22"}
    assert {task.group for task in asked} == set(made.GROUPS)
    assert asked == made.tasks(whole, IDS, 20)
    for task in asked:
        target = task.text.split(" of ")[1].split(" from ")[0]
        showing = {IDS[row] for row in whole.showing[target]}
        assert task.relevant < showing  # some look alike and are not meant


def test_an_albums_own_entities_and_days_make_its_graph(tmp_path: Path) -> None:
    rows = [
        {"id": f"p{day}", "taken_at": f"2025-06-{day:02}T12:00:00", "memories": note(text)}
        for day, text in enumerate(("rain", "a cake", "a cake and a bride", "a cake", *("rain",) * 27))
        if day
    ]
    with Album.open(built(tmp_path, rows)) as album:
        whole = MemoryGraph.of(album)
        asked = made.tasks(whole, album.ids(), 4)
    assert len(set(whole.photoset.values())) == 30
    assert {task.text.lower(): task.relevant for task in asked} == {
        "all photos of cake from the event with bride": frozenset({"p2"})
    }
