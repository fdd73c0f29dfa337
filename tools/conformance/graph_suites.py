"""Suites `graph` (what lies above an entity), `entities` (what memories mention and how it is related),
`vectors` (int8 with a scale, residues, exact ranking) and `hnsw` (candidates by a segment's graph).

The numbers are synthetic.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gamer.index import FloatArray, RowArray, extract
from gamer.index.entities.graph import above, adjacency
from gamer.index.errors import AlbumError
from gamer.index.vectors import hnsw
from gamer.index.vectors.nearest import nearest
from gamer.index.vectors.quantize import Query, VectorSet, quantize, residue
from tools.conformance.fixture import Case, Suite, base64_of, floats

_NO_ROWS: RowArray = np.empty(0, np.int64)


def committed(folder: Path) -> list[Suite]:
    del folder
    return [_graph(), _entities(), _vectors(), _hnsw()]


def _graph() -> Suite:
    rng = np.random.default_rng(5)
    cases = []
    for n, (nodes, links) in enumerate([(1, 0), (2, 3), (3, 2), (8, 10), (20, 15), (60, 80), (60, 200)] * 3):
        edges = rng.integers(0, nodes, (links, 2))
        node, depth = int(rng.integers(0, nodes)), int(rng.integers(0, 5))
        rows = above(node, adjacency(edges[:, 1], edges[:, 0], nodes, nodes), depth)
        given = {"nodes": nodes, "edges": edges.tolist(), "node": node, "depth": depth}
        cases.append(Case(f"{n:02d}", given, {"rows": rows.tolist()}))
    return Suite("graph", tuple(cases))


MEMORIES = (
    "The chair at IKEA costs $119",
    "Chair: 119 at IKEA",
    "Anna: 5 minutes late, sorry",
    "Caroline: Hey Mel! Good to see you in Denver, Colorado!",
    "We bought a wooden chair for $119 at IKEA. Then we had lunch at IKEA.",
    "Ramen at Ichiran in Shibuya with Anna and Tom; 1,200 yen.",
    "Bella is Anna's dog. Bella's favourite toys are on the red sofa.",
    "Anna’s garden in Graz, near the “Old Mill” and the river",
    "In Anna's garden we ate. Visited Li Hua's house in Graz",
    "In Tokyo I ate sushi. On May 3rd, 2019 we flew to Osaka with José Álvarez",
    "a gift from Tom, a red kite on the table near the window, paid with 45 euros",
    "Kuchen im Café Bräunerhof in Wien, 12.5.2019 für 4,50 €",
    "京都の寺で Anna と一緒に",
    "IKEA at chair at IKEA. Anna with Anna and anna",
    "THE BIG SALE: lamps 20 € each\nlamp and chair, chair and lamp",
    "",
    # 65 entities in one sentence: the last two are in different ones.
    f"We met {', '.join(f'{chr(65 + n // 26)}{chr(97 + n % 26)}ra' for n in range(63))}, a chair $12",
)


def _entities() -> Suite:
    cases = [
        Case(
            f"{n:02d}",
            {"text": text},
            {"mentions": [[m.name, m.kind, m.parent, m.relation] for m in extract(text)]},
        )
        for n, text in enumerate(MEMORIES)
    ]
    return Suite("entities", tuple(cases))


def _unit(array: FloatArray) -> FloatArray:
    return np.asarray(array / np.linalg.norm(array, axis=-1, keepdims=True), np.float32)


def _set(n: int, dim: int, seed: int, chunks: bool, with_fine: bool) -> VectorSet:
    rng = np.random.default_rng(seed)
    vectors = _unit(
        (rng.standard_normal((n, dim)) + 1.5 * rng.standard_normal((6, dim))[rng.integers(0, 6, n)]).astype(
            np.float32
        )
    )
    codes, scales = quantize(vectors)
    owners = np.sort(rng.integers(0, max(n * 2 // 3, 1), n)) if chunks else np.arange(n)
    return VectorSet(
        codes, scales, owners.astype(np.int64), residue(vectors, codes, scales) if with_fine else None
    )


def set_json(vectors: VectorSet) -> dict[str, Any]:
    return {
        "dim": vectors.dim,
        "codes": base64_of(vectors.codes),
        "scales": floats(vectors.scales),
        "owners": vectors.owners.tolist(),
        "fine": None if vectors.fine is None else base64_of(vectors.fine),
    }


def _vectors() -> Suite:
    sets = {
        "plain": _set(120, 24, 1, chunks=False, with_fine=True),
        "chunks": _set(90, 18, 2, chunks=True, with_fine=True),
        "old": _set(60, 16, 3, chunks=False, with_fine=False),
        "odd": _set(12, 7, 4, chunks=True, with_fine=True),
    }
    rng = np.random.default_rng(8)
    cases: list[Case] = []
    for name, vectors in sets.items():
        cases += [
            case
            for n in range(8)
            for case in _query_cases(
                f"{name}-{n}", name, vectors, rng, filtered=n % 2 == 1, k=(1, 5, 10, 200)[n // 2]
            )
        ]
    cases += [
        _quantised(n, vector)
        for n, vector in enumerate(
            [*_unit(rng.standard_normal((6, 10)).astype(np.float32)), np.zeros(9, np.float32)]
        )
    ]
    return Suite(
        "vectors",
        tuple(cases),
        {"sets": {name: set_json(vectors) for name, vectors in sets.items()}},
        tolerance=2e-6,
    )


def _query_cases(
    name: str, set_name: str, vectors: VectorSet, rng: np.random.Generator, filtered: bool, k: int
) -> list[Case]:
    """Cases for one query vector.

    `dot`: every stored vector's score by its int8 codes alone; `top`: the k best photos, with residues. Only
    queries whose ranking rounding cannot change.
    """
    while True:
        query = _unit(rng.standard_normal(vectors.dim).astype(np.float32))
        rows = np.flatnonzero(rng.random(int(vectors.owners.max()) + 4) < 0.4) if filtered else None
        result = nearest(vectors, None, _NO_ROWS, query, k, rows, "exact")
        scores = vectors.fine_dot(Query(query), np.arange(len(vectors)))
        best = np.full(int(vectors.owners.max()) + 1, -np.inf, np.float32)
        np.maximum.at(best, vectors.owners, scores)
        allowed = [
            row
            for row in np.argsort(-best, kind="stable").tolist()
            if best[row] > -np.inf and (rows is None or row in rows)
        ][:k]
        gaps = -np.diff(result.scores)
        if allowed == result.rows.tolist() and (not gaps.size or gaps.min() > 1e-5):
            break
    query_given = {"set": set_name, "query": floats(query)}
    dots = Case(f"{name}-dot", {"op": "dot", **query_given}, {"scores": floats(vectors.dot(query))})
    given = {"op": "top", **query_given, "k": k, "rows": None if rows is None else rows.tolist()}
    return [dots, Case(f"{name}-top", given, {"rows": result.rows.tolist(), "scores": floats(result.scores)})]


def _quantised(n: int, vector: FloatArray) -> Case:
    codes, scales = quantize(vector[None])
    fine = residue(vector[None], codes, scales)
    out = {"codes": codes[0].tolist(), "scale": floats(scales)[0], "fine": base64_of(fine[0])}
    return Case(f"quantize-{n}", {"op": "quantize", "vector": floats(vector)}, out)


def _hnsw() -> Suite:
    rng = np.random.default_rng(21)
    vectors = _set(250, 16, 31, chunks=False, with_fine=False)
    blob = hnsw.build(vectors, 250)
    graph = hnsw.load(blob, vectors, _NO_ROWS)
    cases: list[Case] = []
    for n in range(24):
        query, count = _unit(rng.standard_normal(16).astype(np.float32)), (1, 10, 56, 120)[n % 4]
        cases.append(
            Case(
                f"walk-{n:02d}",
                {"query": floats(query), "count": count},
                {"positions": graph.candidates(Query(query), count).tolist()},
            )
        )
    behind = np.array([3, 50, 249], np.int64)
    late = hnsw.load(blob, vectors, behind)
    query = _unit(rng.standard_normal(16).astype(np.float32))
    given = {"query": floats(query), "count": 60, "behind": behind.tolist()}
    cases.append(Case("behind", given, {"positions": late.candidates(Query(query), 60).tolist()}))
    for name, edits, length in _DAMAGES:
        damaged_given = {"edits": edits, "length": length, "query": floats(query), "count": 5}
        cases.append(
            Case(f"damaged-{name}", damaged_given, error=_refusal(edited(blob, edits, length), vectors))
        )
    shared = {"blob": base64_of(blob), "dim": 16, "codes": base64_of(vectors.codes)}
    return Suite("hnsw", tuple(cases), shared)


_LINKS = 40 + 2 * 250
# Name, edits as (offset, hexadecimal bytes), and the blob's new length (None: unchanged).
_DAMAGES: tuple[tuple[str, list[tuple[int, str]], int | None], ...] = (
    ("magic", [(0, "58")], None),
    ("version", [(4, "03")], None),
    ("cut", [], 20_000),
    ("short", [], 30),
    ("entry", [(_LINKS + 64 + 32, "fa00000000000000")], None),
    ("link", [(_LINKS + 105 + 250 + 1, "ffffff")], None),
    ("count", [(_LINKS + 105 + 250, "21")], None),
    ("chunks", [(40, "0200")], None),
)


def edited(blob: bytes, edits: list[tuple[int, str]], length: int | None) -> bytes:
    out = bytearray(blob)
    for offset, digits in edits:
        new = bytes.fromhex(digits)
        out[offset : offset + len(new)] = new
    return bytes(out[:length])


def _refusal(blob: bytes, vectors: VectorSet) -> str:
    try:
        hnsw.load(blob, vectors, _NO_ROWS)
    except AlbumError as error:
        if "rebuild the segment" in str(error):
            return "rebuild the segment"
    raise AssertionError("a damaged graph was read")
