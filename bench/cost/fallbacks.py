"""Which nodes run a slower kernel than their artifact promises, and why; and whether ExecuTorch can be profiled here. Rules, each a line."""

from __future__ import annotations

import importlib
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamer.runtime.bundle import manifest as mf

from .graph import MS, Graph, Node

if TYPE_CHECKING:
    from .ops import Ran

PRODUCTS = ("MatMul", "FusedMatMul", "Gemm", "Conv", "FusedConv", "FusedGemm")
LOW = ("MatMulInteger", "ConvInteger", "QLinearConv", "QLinearMatMul", "QGemm")


@dataclass(frozen=True)
class Fallback:
    """Nodes of one kernel that are slower than they could be: `us` in all."""

    kernel: str
    times: int
    us: float
    why: str


def find(nodes: Sequence[Ran], exported: Graph) -> tuple[Fallback, ...]:
    """The dearest first."""
    named = {n.name: n for n in exported.nodes}
    low = any(n.op in LOW or n.op.startswith(f"{MS}:MatMulNBits") or _stored_low(n) for n in exported.nodes)
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for node in nodes:
        if why := _why(node, named, low):
            found[node.op, why].append(node.us)
    out = [Fallback(kernel, len(us), sum(us), why) for (kernel, why), us in found.items()]
    return tuple(sorted(out, key=lambda f: -f.us))


def _why(node: Ran, named: dict[str, Node], low: bool) -> str:
    """The reason why this node's kernel is not the fast one; "" when it is."""
    source = named.get(node.name) or next((n for name, n in named.items() if node.name.startswith(name)), None)
    if low and node.op in PRODUCTS and node.precision in ("fp32", "fp16"):
        constant = "Conv" in node.op or (source is not None and any(v is not None and v.constant and v.size > 1 for v in source.inputs[1:2]))
        return "float in a quantized graph: its weight was left out" if constant else "float in a quantized graph: both factors are activations"
    if node.op == "MatMulNBits" and source is not None and source.number("accuracy_level", 0) != 4:
        return "accuracy_level is not 4: weights are unpacked and multiplied in float"
    if node.op == "MatMulNBits" and source is not None and len(source.inputs) > 3 and source.inputs[3] is not None and source.inputs[3].dtype == 1:
        return "fractional zero points: the path for them is a hundred times slower"
    if node.op == "MatMulInteger":
        return "not fused with its scale: the result goes through memory in int32"
    if node.op in ("QuantizeLinear", "DequantizeLinear") and low:
        return "a boundary between int8 and float inside the graph"
    if node.op in ("ReduceMean", "Pow") and "norm" in node.name.lower():
        return "a norm in several operators: not fused"
    if node.op == "Erf":
        return "a GELU in several operators: not fused"
    if node.op in ("ReorderInput", "ReorderOutput"):
        return "a change of layout between blocked and plain channels"
    if node.op == "Cast" and "InsertedPrecisionFreeCast" in node.name:
        return "no kernel of this precision on this processor: cast to float"
    return ""


def _stored_low(node: Node) -> bool:
    return any(v is not None and v.constant and v.dtype in (2, 3, 21, 22) and v.size > 1 for v in node.inputs[:1]) and node.op == "DequantizeLinear"


def executorch(bundle: Path) -> str:
    """One line on ExecuTorch's ETDump: whether the installed runtime writes one. "" for a bundle without .pte files."""
    manifest = mf.read(bundle)
    artifact = min((a for a in manifest.artifacts if a.target == "executorch"), key=lambda a: a.bytes, default=None)
    if artifact is None:
        return ""
    try:
        torch: Any = importlib.import_module("torch")
        runtime: Any = importlib.import_module("executorch.extension.pybindings._portable_lib")
    except ImportError as error:
        return f"ExecuTorch: {error.name} is not installed, no operator is timed."
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / "run.etdp"
        program = runtime._load_for_executorch(str(mf.check_one(bundle, artifact)), enable_etdump=True)
        program.forward(tuple(torch.zeros([int(d) for d in s.shape], dtype=getattr(torch, s.dtype)) for s in artifact.inputs))
        program.write_etdump_result_to_file(str(dump), str(Path(folder) / "debug.bin"))
        if dump.is_file() and dump.stat().st_size:
            return "ExecuTorch: this runtime has an event tracer; read its ETDump with executorch.devtools.Inspector."
    return "ExecuTorch: the packaged runtime is built without its event tracer and writes no ETDump: operators of .pte files are not timed here."
