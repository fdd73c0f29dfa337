"""Questions of several steps that nobody wrote, over any album: DeepImageSearch's memory graph, sampled.

Its nodes are photos, events (photosets), clues (an entity as one photo shows it) and persons; structural
edges say what contains what, and an edge of association leads from a clue to a photo of another event where
the entity is again (section 3.3). A subgraph is sampled by the paper's Algorithm 1. Where the paper has
models find entities, verify them and write the query, the album's own entities and two phrasings stand
here: the target is in photos that look alike elsewhere, and only the anchor's event tells which are meant
(Appendix C.3). What no memory tells counts as not there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from gamer.index import Album

from .tasks import Task

EDGES = 40  # of a subgraph
_TRIES = 50  # pivots for each question
_COMMON = 0.1  # an entity of a greater share of the photos means none
_DAY = 86_400_000  # ms
_MENTIONS = """
    SELECT m.photo, e.name, e.kind FROM mentions m JOIN entities e ON e.row = m.entity
    WHERE e.kind IN ('thing', 'person') ORDER BY m.photo, e.row"""
GROUPS = ("intra-event", "inter-event")


@dataclass(frozen=True)
class Node:
    """`kind`: photo, photoset, clue or person. `row`: of a photo or a photoset; `name`: of an entity."""

    kind: str
    row: int = -1
    name: str = ""


Edge = frozenset[Node]


@dataclass(frozen=True, eq=False)
class MemoryGraph:
    """`photoset`: the event of each photo that has one. `shown`: names by photo; `persons`: of people."""

    photoset: dict[int, int]
    shown: dict[int, tuple[str, ...]]
    persons: frozenset[str]
    inside: dict[int, tuple[int, ...]] = field(init=False)
    showing: dict[str, tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        inside, showing = defaultdict[int, list[int]](list), defaultdict[str, list[int]](list)
        for photo, event in self.photoset.items():
            inside[event].append(photo)
            for name in self.shown.get(photo, ()):
                showing[name].append(photo)
        object.__setattr__(self, "inside", {event: tuple(photos) for event, photos in inside.items()})
        object.__setattr__(self, "showing", {name: tuple(photos) for name, photos in showing.items()})

    @classmethod
    def of(cls, album: Album) -> MemoryGraph:
        """An album's: of its events, of days where it has none, and of its things and persons.

        Raises AlbumError.
        """
        told = album.reading(lambda db, _: list(db.execute(_MENTIONS)))
        counts, persons = (
            Counter(name for _, name, _ in told),
            {name for _, name, kind in told if kind == "person"},
        )
        most, shown = max(2, int(_COMMON * len(album))), defaultdict[int, list[str]](list)
        photoset, said = dict[int, int](), list[str]()
        for row, photo in enumerate(album.photos(range(len(album)))):
            said.append(" ".join(m.text for m in photo.memories if m.source != "label").lower())
            if (event := album.event_of(row)) is not None:
                photoset[row] = int(event.id[3:], 16)
            elif photo.wall is not None:
                photoset[row] = -(photo.wall // _DAY)
        for row, name, _ in told:
            if counts[name] <= most and name.lower() in said[row]:  # no label of a network's
                shown[row].append(name)
        return cls(photoset, {row: tuple(names) for row, names in shown.items()}, frozenset(persons))

    def neighbours(self, node: Node) -> Iterator[tuple[str, Node]]:
        """(kind of edge, node) of every edge."""
        if node.kind == "photoset":
            yield from (("contains", Node("photo", photo)) for photo in self.inside[node.row])
            return
        if node.kind == "person":
            yield from (("knows", Node("photo", photo)) for photo in self.showing.get(node.name, ()))
            return
        if node.kind == "clue":
            yield "shows", Node("photo", node.row)
            yield from (("again", Node("photo", photo)) for photo in self._again(node.name, node.row))
            return
        yield "contains", Node("photoset", self.photoset[node.row])
        for name in self.shown.get(node.row, ()):
            if name in self.persons:
                yield "knows", Node("person", name=name)
                continue
            yield "shows", Node("clue", node.row, name)
            yield from (("again", Node("clue", photo, name)) for photo in self._again(name, node.row))

    def _again(self, name: str, row: int) -> Iterator[int]:
        event = self.photoset[row]
        return (photo for photo in self.showing.get(name, ()) if self.photoset[photo] != event)


def sample(graph: MemoryGraph, pivot: int, limit: int, random: Random) -> tuple[set[Node], set[Edge]]:
    """The nodes and edges of a subgraph around a photo, by Algorithm 1 (balanced by kinds of edges)."""
    first = Node("photo", pivot)
    nodes, edges, frontier = {first}, set[Edge](), [first]
    while len(edges) < limit and frontier:
        at = random.choice(frontier)
        kinds = defaultdict[str, list[Node]](list)
        for kind, other in graph.neighbours(at):
            if frozenset((at, other)) not in edges:
                kinds[kind].append(other)
        if not kinds:
            frontier.remove(at)
            continue
        other = random.choice(kinds[random.choice(sorted(kinds))])
        edges.add(frozenset((at, other)))
        if other not in nodes:
            nodes.add(other)
            frontier.append(other)
    for kind, parent in (("clue", "photo"), ("photo", "photoset")):
        for node in [one for one in nodes if one.kind == kind]:
            above = Node(parent, node.row if parent == "photo" else graph.photoset[node.row])
            nodes.add(above)
            edges.add(frozenset((node, above)))
    return nodes, edges


def tasks(graph: MemoryGraph, ids: Sequence[str], count: int, seed: int = 20) -> list[Task]:
    """At most `count` questions, the two groups in turn; fewer where the album has no more to ask.

    `ids`: of the photos, by row.
    """
    random, out = Random(seed), dict[str, Task]()
    pivots = sorted(row for row in graph.photoset if graph.shown.get(row))
    for number in range(count * _TRIES if pivots else 0):
        if len(out) == count:
            break
        nodes, _ = sample(graph, random.choice(pivots), EDGES, random)
        group = GROUPS[(len(out) + number // _TRIES) % 2]
        pairs = [*_pairs(graph, nodes, group)]
        if pairs:
            target, anchor, photos = random.choice(pairs)
            text = _TEXTS[group].format(target=target, anchor=anchor)
            out.setdefault(
                text, Task(f"{group} {number}", text, frozenset(ids[photo] for photo in photos), group)
            )
    return list(out.values())


_TEXTS = {
    "intra-event": "all photos of {target} from the event with {anchor}",
    "inter-event": "all photos of {target} from the events with {anchor}",
}


def _pairs(graph: MemoryGraph, nodes: set[Node], group: str) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """(target, anchor, the target's photos that are meant): there are photos of the target elsewhere, too.

    The anchor is in one event or, for the other group, in several.
    """
    names = sorted({node.name for node in nodes if node.name})
    events = {name: {graph.photoset[photo] for photo in graph.showing[name]} for name in names}
    for anchor in names:
        if (len(events[anchor]) == 1) != (group == GROUPS[0]):
            continue
        for target in names:
            within = events[target] & events[anchor]
            if {*target.split()} & {*anchor.split()} or within == events[target]:
                continue
            if len(within) < (1 if group == GROUPS[0] else 2):
                continue
            yield target, anchor, tuple(p for p in graph.showing[target] if graph.photoset[p] in within)
