"""Suites `graph` (what lies above an entity), `entities` (what memories mention and how it is related),
`vectors` (int8 with a scale, residues, exact ranking) and `hnsw` (candidates by a segment's graph).

The numbers are synthetic.
"""

from __future__ import annotations

import base64
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from gamer.index import RowArray, extract
from gamer.index.entities.graph import above, adjacency
from gamer.index.vectors import hnsw as graphs
from gamer.index.vectors.nearest import nearest
from gamer.index.vectors.quantize import Query, VectorSet, quantize, residue
from tools.conformance.fixture import Answers, Given, base64_of, edited, floats, vector

_NO_ROWS: RowArray = np.empty(0, np.int64)


def graph(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del shared, folder, stack

    def answer(given: Given) -> Given:
        nodes, edges = given["nodes"], np.array(given["edges"], np.int64).reshape(-1, 2)
        linked = adjacency(edges[:, 1], edges[:, 0], nodes, nodes)
        return {"rows": above(given["node"], linked, given["depth"]).tolist()}

    return {"": answer}


def entities(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del shared, folder, stack
    return {
        "": lambda given: {
            "mentions": [[m.name, m.kind, m.parent, m.relation] for m in extract(given["text"])]
        }
    }


def vectors(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    """`dot`: every stored vector's score by its int8 codes alone; `top`: the k best photos, with residues."""
    del folder, stack
    sets = {name: _set(given) for name, given in shared["sets"].items()}

    def top(given: Given) -> Given:
        rows = None if given["rows"] is None else np.array(given["rows"])
        query = vector(given["query"])
        best = nearest(sets[given["set"]], None, _NO_ROWS, query, given["k"], rows, "exact")
        return {"rows": best.rows.tolist(), "scores": floats(best.scores)}

    return {
        "dot": lambda given: {"scores": floats(sets[given["set"]].dot(vector(given["query"])))},
        "top": top,
        "quantize": _quantize,
    }


def _set(given: Given) -> VectorSet:
    codes = _codes(given["codes"], given["dim"])
    fine = given["fine"] and np.frombuffer(base64.b64decode(given["fine"]), np.uint8).reshape(len(codes), -1)
    return VectorSet(codes, vector(given["scales"]), np.array(given["owners"], np.int64), fine)


def _quantize(given: Given) -> Given:
    stored = vector(given["vector"])[None]
    codes, scales = quantize(stored)
    fine = residue(stored, codes, scales)
    return {"codes": codes[0].tolist(), "scale": floats(scales)[0], "fine": base64_of(fine[0])}


def hnsw(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    """The blob is damaged as a case says; `behind`: photos that changed after it was made."""
    del folder, stack
    codes, blob = _codes(shared["codes"], shared["dim"]), base64.b64decode(shared["blob"])
    stored = VectorSet(codes, np.ones(len(codes), np.float32), np.arange(len(codes)), None)

    def answer(given: Given) -> Given:
        behind = np.array(given.get("behind", _NO_ROWS), np.int64)
        loaded = graphs.load(edited(blob, given), stored, behind)
        return {"positions": loaded.candidates(Query(vector(given["query"])), given["count"]).tolist()}

    return {"": answer}


def _codes(text: str, dim: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
    return np.frombuffer(base64.b64decode(text), np.int8).reshape(-1, dim)
