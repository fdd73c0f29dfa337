"""What an engine that cannot run here would take of a graph, by the table of capabilities.

Partitions are counted as ONNX Runtime makes them: nodes are taken as they become ready, and those of the
engine go on as long as one of them is ready.
"""

from __future__ import annotations

from collections import Counter, deque

from gamer.runtime.bundle.placement import Left, Prediction

from ..capabilities import Engine, Takes, capabilities
from .graph import Graph, Operation


def predictions(graph: Graph, target: str) -> tuple[Prediction, ...]:
    """One for each engine of the table that reads the target's graphs."""
    return tuple(predict(engine, graph) for engine in capabilities().engines if engine.target == target)


def predict(engine: Engine, graph: Graph) -> Prediction:
    """What `engine` takes of `graph`; of one with varying shapes, what it would take once they are fixed."""
    reasons = [why_left(engine, operation) for operation in graph.operations]
    left = Counter((o.name, why) for o, why in zip(graph.operations, reasons, strict=True) if why)
    return Prediction(
        engine.name,
        reasons.count(""),
        len(reasons),
        partitions(graph.operations, [not why for why in reasons]),
        tuple(Left(name, n, why, engine.change.get(name, "")) for (name, why), n in left.most_common()),
        f"{engine.source}; read {engine.date}",
        graph.varying if engine.fixed_shapes else (),
    )


def why_left(engine: Engine, operation: Operation) -> str:
    """Why the engine leaves the operation; "" if it takes it. What is not known of it counts as fitting."""
    if engine.operators and operation.name not in engine.operators:
        return "not among its operators"
    if engine.types and operation.type and operation.type not in engine.types:
        return f"computed in {operation.type}"
    limits = engine.operators.get(operation.name, Takes())
    if limits.rank and operation.rank is not None and operation.rank not in limits.rank:
        return f"of rank {operation.rank}"
    if any(n < len(operation.constant) and not operation.constant[n] for n in limits.constant):
        return "its weights are no constants"
    return ""


def partitions(operations: tuple[Operation, ...], taken: list[bool]) -> int:
    """The number of pieces that the operations with True make."""
    producers = {name: n for n, operation in enumerate(operations) for name in operation.outputs}
    needs = [{producers[i] for i in operation.inputs if i in producers} for operation in operations]
    readers: dict[int, list[int]] = {}
    for n, before in enumerate(needs):
        for producer in before:
            readers.setdefault(producer, []).append(n)
    waiting = [len(before) for before in needs]
    ready = {True: deque[int](), False: deque[int]()}
    for n, count in enumerate(waiting):
        if not count:
            ready[taken[n]].append(n)
    pieces, mine = 0, False
    while ready[True] or ready[False]:
        now = bool(ready[True]) if mine else not ready[False]
        pieces, mine = pieces + (now and not mine), now
        for reader in readers.get(ready[now].popleft(), ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                ready[taken[reader]].append(reader)
    return pieces
