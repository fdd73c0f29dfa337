"""Layer 2 of an open album: the entity graph over its memories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ...entities import entity_vectors, graph
from ...entities.entity_vectors import EntityNodes
from ...records import EntityMatch, FloatArray, RowArray
from ...row_sets import RowSet
from ...vectors import hnsw
from .. import loader, segments
from ..album_file import AlbumFile, Layer
from ..results import NamedEntity

LIMIT = 32  # matches of a query
DEPTH = 3  # edges between an entity that a photo is about and one that is similar to the query
MOST_REACHED = 1_000  # photos; what leads to more says nothing about any of them
FEW = 2_000  # photos, of which it is worth computing first what can be reached from them


class EntityLayer(Layer):
    """Entities, their vectors, who mentions them, and the edges between them; loaded once, on first use."""

    def __init__(self, file: AlbumFile) -> None:
        super().__init__(file)
        self._nodes_with_graph: EntityNodes | None = None

    def activate(self, rows: RowArray) -> RowArray:
        """Sorted rows of the entities that these photos mention."""
        return self.entities_of.of(np.asarray(rows, np.int64))

    def match_entities(
        self,
        query: FloatArray,
        rows: RowArray | RowSet,
        delta: float,
        limit: int = LIMIT,
        depth: int = DEPTH,
    ) -> list[EntityMatch]:
        """The entities with similarity ≥ `delta` that a depth-first search reaches from the entities on which
        the photos of `rows` hang, best first, at most `limit`.

        The search follows edges from parent to child, at most `depth`, through nodes of any similarity. A
        match names only photos among `rows`: those that show the entity, and those that only hang on an
        entity above it, unless more than MOST_REACHED photos do.
        """
        if (nodes := self.nodes) is None:
            return []
        similarity = nodes.similar(self._file.query(query, nodes.dim, "entities"), delta)
        similar = np.flatnonzero(similarity >= delta)
        wanted = (
            rows if isinstance(rows, RowSet) else RowSet.of(np.asarray(rows, np.int64), self._file.photos)
        )
        if len(wanted) <= FEW:
            heads = self._heads_of.of(wanted.rows)
            similar = np.intersect1d(similar, graph.reach(heads, self._children, depth), assume_unique=True)
        out: list[EntityMatch] = []
        for row in similar[np.argsort(-similarity[similar], kind="stable")].tolist():
            own, reached = (wanted.keep(photos).tolist() for photos in self._photos_at(row, depth))
            if own or reached:
                name, kind = self._entity_name(row)
                match = EntityMatch(row, name, kind, float(similarity[row]), tuple(own), tuple(reached))
                out.append(match)
            if len(out) >= limit:
                break
        return out

    def traversed(self, query: FloatArray, rows: RowSet, delta: float) -> list[EntityMatch]:
        """The entities more similar than `delta` that a search depth-first finds from those on which the
        photos of `rows` hang, best first, each with the photos whose search found it (paper section 3.2,
        steps 2 and 3, as printed: every node on the way is compared with the query, to any depth).
        """
        if (nodes := self.nodes) is None:
            return []
        similarity = nodes.similar(self._file.query(query, nodes.dim, "entities"), delta)
        over = np.flatnonzero(similarity > delta)
        leading = graph.reach(over, self._parents, self._entity_count)  # other searches find nothing
        photos_of = defaultdict[int, set[int]](set)
        for head in np.intersect1d(self._heads_of.of(rows.rows), leading, assume_unique=True).tolist():
            found = graph.depth_first(head, self._children)
            photos = rows.keep(self._hanging.of(np.array([head]))).tolist()
            for node in found:
                if similarity[node] > delta:
                    photos_of[node].update(photos)
        return [
            EntityMatch(
                node, *self._entity_name(node), float(similarity[node]), tuple(sorted(photos_of[node]))
            )
            for node in sorted(photos_of, key=lambda node: (-similarity[node], node))
        ]

    def _photos_at(self, row: int, depth: int) -> tuple[RowArray, RowArray]:
        """The photos from which an entity is reached: those that show it themselves, and the others."""
        above = graph.above(row, self._parents, depth)
        shown = self._photos_of.of(np.array([row]))
        entities, which = self._heads_of.gather(shown)
        own = shown[np.bincount(which[np.isin(entities, above)], minlength=shown.size) > 0]
        if int(np.sum(self._hanging.offsets[above + 1] - self._hanging.offsets[above])) > MOST_REACHED:
            return own, own[:0]
        return own, np.setdiff1d(self._hanging.of(above), own, assume_unique=True)

    def entity_names(self, limit: int) -> list[str]:
        """At most `limit` names of entities, those linked to the most photos first; no aliases."""
        order = np.argsort(-np.bincount(self._mentions[0], minlength=self._entity_count), kind="stable")
        roots = self._file.load(loader.entity_roots)
        return [self._entity_name(int(row))[0] for row in order[roots[order] == order][:limit]]

    def listed_entities(self) -> list[NamedEntity]:
        """Every entity with its aliases, the most mentioned first, then by name."""
        rows = self._file.sql("SELECT row, name, kind FROM entities ORDER BY row")
        roots = self._file.load(loader.entity_roots).tolist()
        photos = np.bincount(self._mentions[0], minlength=len(rows)).tolist()
        aliases: dict[int, list[str]] = defaultdict(list)
        for (row, name, _), root in zip(rows, roots, strict=True):
            if row != root:
                aliases[root].append(str(name))
        entities = [
            NamedEntity(str(name), str(kind), photos[row], tuple(aliases[row]))
            for (row, name, kind), root in zip(rows, roots, strict=True)
            if row == root
        ]
        return sorted(entities, key=lambda entity: (-entity.photos, entity.name))

    def entity_links(self, entities: Sequence[int]) -> list[tuple[int, int]]:
        """The edges between two of these entity rows, each once and as (lower row, higher row)."""
        known = sorted(set(entities))
        near, which = self._edges.gather(np.asarray(known, np.int64))
        return sorted(
            {
                (known[at], int(row))
                for row, at in zip(near, which, strict=True)
                if known[at] < row and int(row) in set(known)
            }
        )

    @cached_property
    def _entity_count(self) -> int:
        return int(self._file.sql("SELECT count(*) FROM entities")[0][0])

    @property
    def nodes(self) -> EntityNodes | None:
        """With a graph, once it is loaded: as for vectors, a first search is sooner done without."""
        nodes, loaded = self._nodes, self._nodes_with_graph
        if loaded is None and nodes is not None and len(nodes.found.vectors) >= entity_vectors.GRAPH_FROM:
            self._file.wanted.add(entity_vectors.SEGMENT)
        return loaded or nodes

    @cached_property
    def _nodes(self) -> EntityNodes | None:
        found = self._file.load(loader.entity_vectors)
        return None if found is None else EntityNodes(found)

    def _load_entity_graph(self) -> None:
        nodes = self._nodes
        if nodes is not None and self._nodes_with_graph is None:
            graph = self._file.load(
                lambda db: segments.load(db, entity_vectors.SEGMENT, hnsw.VERSION, self._file.photos)
            )
            self._nodes_with_graph = EntityNodes.of(nodes.found, None if graph is None else graph.blob)

    @cached_property
    def _mentions(self) -> RowArray:
        limits = (self._entity_count, self._file.photos)
        return self._file.load(lambda db: loader.pairs(db, "mentions", limits))

    @cached_property
    def entities_of(self) -> graph.Adjacency:
        return graph.adjacency(self._mentions[1], self._mentions[0], self._file.photos, self._entity_count)

    @cached_property
    def _photos_of(self) -> graph.Adjacency:
        return graph.adjacency(self._mentions[0], self._mentions[1], self._entity_count, self._file.photos)

    @cached_property
    def _hanging(self) -> graph.Adjacency:
        """Entity → the photos that hang on it."""
        entities, photos = self._heads
        return graph.adjacency(entities, photos, self._entity_count, self._file.photos)

    @cached_property
    def _heads_of(self) -> graph.Adjacency:
        """Photo → the entities on which it hangs."""
        entities, photos = self._heads
        return graph.adjacency(photos, entities, self._file.photos, self._entity_count)

    @cached_property
    def _heads(self) -> RowArray:
        limits = (self._entity_count, self._file.photos)
        return self._file.load(lambda db: loader.pairs(db, "hanging", limits))

    @cached_property
    def _parents(self) -> graph.Adjacency:
        parents, children = self._related
        return graph.adjacency(children, parents, self._entity_count, self._entity_count)

    @cached_property
    def _children(self) -> graph.Adjacency:
        parents, children = self._related
        return graph.adjacency(parents, children, self._entity_count, self._entity_count)

    @cached_property
    def _related(self) -> RowArray:
        limits = (self._entity_count, self._entity_count)
        return self._file.load(lambda db: loader.pairs(db, "edges", limits))

    @cached_property
    def _edges(self) -> graph.Adjacency:
        parents, children = self._related
        both = np.concatenate([parents, children]), np.concatenate([children, parents])
        return graph.adjacency(both[0], both[1], self._entity_count, self._entity_count)

    def _entity_name(self, row: int) -> tuple[str, str]:
        name, kind = self._file.load(
            lambda db: db.execute("SELECT name, kind FROM entities WHERE row=?", (row,)).fetchall()[0]
        )
        return str(name), str(kind)
