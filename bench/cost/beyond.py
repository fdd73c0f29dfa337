"""What an exported graph multiplies beyond its model, and why: known by the names that the exporter gives.

The sum of an operator's work without this is the model's own, as the closed formulas count it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from .counting import ATTENTIONS, PRODUCTS
from .nodes import Graph, Node

# Blocks of another size than the graph's own have it in the name.
_SUMS, _BOTH = re.compile(r"\.sums(\.\d+)?$"), re.compile(r"\.both(\.\d+)?$")
SUMS = "int4: sums of the activations' blocks, and weights for them: what a whole zero point rounds away"
HEAD = "head in two parts: what 8 bits of its input hold, and what they miss"
SPARE = "a second query for a single token, so that its numbers do not depend on others of its call"


@dataclass(frozen=True)
class Beyond:
    """Multiply-adds of a component that its model does not have. `why`: one of those above."""

    why: str
    macs: float


def beyond(graph: Graph, per: int = 1) -> tuple[Beyond, ...]:
    """The most first; divided by `per`, as the component's own are."""
    nodes = {node.output().name: node for node in graph.nodes}
    found: dict[str, int] = defaultdict(int)
    for node in graph.nodes:
        for why, extra in _WHYS.items():
            found[why] += extra(node, nodes, graph.past)
    ordered = sorted(found.items(), key=lambda pair: -pair[1])
    return tuple(Beyond(why, macs / per) for why, macs in ordered if macs)


def _sums(node: Node, nodes: dict[str, Node], past: int) -> int:
    """All of the product that sums up blocks; of one whose input has the sums as columns, their share."""
    if node.op == "MatMul" and _SUMS.search(node.output().name):
        return PRODUCTS[node.op](node)
    given = node.inputs[0] if node.inputs else None
    if node.op not in PRODUCTS or given is None or not _BOTH.search(given.name):
        return 0
    sums = nodes[given.name].input(1).shape[-1] if given.name in nodes else 0
    return PRODUCTS[node.op](node) * sums // given.shape[-1]


def _head(node: Node, nodes: dict[str, Node], past: int) -> int:
    given = node.inputs[0] if node.inputs else None
    halved = node.op in PRODUCTS and given is not None and given.name == "last_rows"
    return PRODUCTS[node.op](node) // 2 if halved else 0


def _spare(node: Node, nodes: dict[str, Node], past: int) -> int:
    """What the last of two queries attends to, if the graph doubles a single one."""
    if node.op not in ATTENTIONS or not node.output().name.endswith(".attention_spared"):
        return 0
    queries = node.input(0).shape[1]
    if queries == nodes["tokens"].input(0).shape[1]:
        return 0
    pairs = queries * past + queries * (queries + 1) // 2
    return ATTENTIONS[node.op](node, past) * (past + queries) // pairs


_WHYS: dict[str, Callable[[Node, dict[str, Node], int], int]] = {SUMS: _sums, HEAD: _head, SPARE: _spare}
