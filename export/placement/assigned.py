"""Where the operations of an artifact are: as ONNX Runtime ran them, as ExecuTorch delegated them, and the
operations of an ML program by the precision that they compute in, on a Mac by the compute unit, too.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from gamer.runtime.backends import runs_here
from gamer.runtime.backends.onnx_backend import session_options
from gamer.runtime.bundle.manifest import Artifact, TensorSpec
from gamer.runtime.bundle.placement import Operations, Placement
from gamer.runtime.telemetry import load_onnxruntime
from gamer.runtime.versions import installed

from ..capabilities import capabilities
from ..coreml.mil import program
from ..errors import ExportError
from ..executorch import pte
from . import graph
from .prediction import predictions

ORT = ".ort"
PORTABLE = "portable"
# coremltools' class of a compute device → its name.
COMPUTE_UNITS = {
    "MLCPUComputeDevice": "CPU",
    "MLGPUComputeDevice": "GPU",
    "MLNeuralEngineComputeDevice": "Neural Engine",
}
VARYING = {"height": 256, "width": 256}  # dimensions that are run with another size than 1


def placement(artifact: Artifact, path: Path) -> Placement:
    """Where the operations of `artifact`, whose file is at `path`, are. Raises ExportError."""
    return {"onnx": _onnx, "executorch": _executorch, "coreml": _coreml}[artifact.target](artifact, path)


def _onnx(artifact: Artifact, path: Path) -> Placement:
    ran = _counted(
        (e["args"]["provider"], kernel(op), op) for e in _profile(artifact, path) for op in [_op(e)]
    )
    by = f"onnxruntime {installed('onnxruntime')}"
    # An ORT file does not give its graph.
    return Placement(by, ran, () if path.suffix == ORT else predictions(graph.of_onnx(path), "onnx"))


def _op(event: Any) -> str:
    return str(event["args"]["op_name"])


def kernel(operator: str) -> str:
    """The kind of ONNX Runtime's kernel for an operator of a graph that it has optimized."""
    kinds = capabilities().kernels.items()
    return next((kind for kind, names in kinds if operator in names), "reference")


def _profile(artifact: Artifact, path: Path) -> list[Any]:
    """The profiler's events of the nodes of one run, with zeros as inputs."""
    ort, options = load_onnxruntime(), session_options(1)
    file = path / "model.onnx" if path.is_dir() else path
    with tempfile.TemporaryDirectory() as folder:
        options.enable_profiling, options.profile_file_prefix = True, str(Path(folder) / artifact.role)
        try:
            session = ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
            session.run(None, {spec.name: _zeros(spec) for spec in artifact.inputs})
            events = json.loads(Path(session.end_profiling()).read_text())
        except Exception as error:  # onnxruntime raises many unrelated classes
            raise ExportError(
                f"{artifact.role}: ONNX Runtime cannot profile it ({str(error).splitlines()[0][:160]})"
            ) from None
    nodes = (e for e in events if e.get("cat") == "Node" and str(e["name"]).endswith("_kernel_time"))
    return list({e["name"]: e for e in nodes}.values())


def _zeros(spec: TensorSpec) -> Any:
    """Zeros of the input's shape, in which a dimension that varies is one; the cache's length is one, too."""
    shape = [size if isinstance(size, int) else VARYING.get(size, 1) for size in spec.shape]
    return (np.ones if spec.name in ("total_seq_len", "attention_mask") else np.zeros)(shape, spec.dtype)


def _executorch(artifact: Artifact, path: Path) -> Placement:
    loaded = pte.read(path)
    nodes = [(call.backend, *node) for call in loaded.calls for node in _delegated(call)]
    left = [(PORTABLE, "", name) for name, count in loaded.left.items() for _ in range(count)]
    by = f"executorch {installed('executorch')}"
    return Placement(by, _counted([*nodes, *left]), (), len(loaded.calls), loaded.memory)


def _delegated(call: pte.Call) -> list[tuple[str, str]]:
    """(precision, operator) of the nodes of a delegate; a single entry for one that is not read."""
    if call.backend == "XnnpackBackend":
        return _xnnpack(call.data)
    if call.backend == "CoreMLBackend":
        with tempfile.TemporaryDirectory() as folder:
            pte.unfold(call.data, Path(folder))
            return _mil(Path(folder) / "model.mlpackage")
    return [("", "(not read)")]


def _xnnpack(data: bytes) -> list[tuple[str, str]]:
    """The nodes of an XNNPACK graph, by executorch's own schema and its converter to JSON."""
    from executorch.backends.xnnpack.serialization import xnnpack_graph_serialize as xnnpack
    from executorch.exir._serialize._flatbuffer import _flatc_decompile

    header = xnnpack.XNNHeader.from_bytes(data[: xnnpack.XNNHeader.EXPECTED_LENGTH])
    with tempfile.TemporaryDirectory() as folder:
        schema, graph_file = Path(folder) / "schema.fbs", Path(folder) / "graph.bin"
        schema.write_bytes(xnnpack._get_schema_bytes())
        begin = header.flatbuffer_offset
        graph_file.write_bytes(data[begin : begin + header.flatbuffer_size])
        _flatc_decompile(folder, str(schema), str(graph_file))
        text = graph_file.with_suffix(".json").read_text(encoding="utf-8")
    raw = json.loads(re.sub(r"(?<=: )-?(inf|nan)\b", "null", text))
    types = dict[int, str]()
    for value in raw["xvalues"]:
        tensor = value["xvalue_union"].get("tensor_value", value["xvalue_union"])
        types[tensor["id_out"]] = str(tensor["datatype"]).removeprefix("xnn_datatype_")
    return [(_xnnpack_type(node["xnode_union"], types), _xnnpack_name(node)) for node in raw["xnodes"]]


def _xnnpack_type(node: Any, types: dict[int, str]) -> str:
    """The type of the node's weights, else that of its result."""
    return types.get(node.get("filter_id", node.get("output_id")), "")


def _xnnpack_name(node: Any) -> str:
    return str(node["xnode_union_type"]).removeprefix("XNN")


def _coreml(artifact: Artifact, path: Path) -> Placement:
    by, predicted = f"coremltools {installed('coremltools')}", predictions(graph.of_program(path), "coreml")
    if runs_here("coreml") and (planned := _planned(path)):
        return Placement(f"Core ML's plan, {by}", _counted(planned), predicted)
    return Placement(by, _counted(("ML program", *each) for each in _mil(path)), predicted)


def _planned(package: Path) -> list[tuple[str, str, str]]:
    """(compute unit, precision, operation) by Core ML's plan for this Mac, of all functions; [] without."""
    import coremltools as ct
    from coremltools.models.compute_plan import MLComputePlan

    try:
        with tempfile.TemporaryDirectory() as folder:
            compiled = ct.models.utils.compile_model(str(package), str(Path(folder) / "model.mlmodelc"))
            plan = MLComputePlan.load_from_path(compiled, ct.ComputeUnit.ALL)
    except (
        Exception
    ):  # what coremltools raises where the compiler or the plan is missing; no export fails for it
        return []
    types = {op.outputs[0].name: _mil_type(op) for op in program.read(package).operations if op.outputs}
    rows = []
    for function in plan.model_structure.program.functions.values():
        for op in function.block.operations:
            usage = plan.get_compute_device_usage_for_mlprogram_operation(op)
            if usage is not None:  # constants have none
                unit = type(usage.preferred_compute_device).__name__
                kind = types.get(op.outputs[0].name, "") if op.outputs else ""
                rows.append((COMPUTE_UNITS.get(unit, unit), kind, op.operator_name.rpartition(".")[2]))
    return rows


def _mil(package: Path) -> list[tuple[str, str]]:
    """(precision, operation): the type of the result, or of stored weights that of the codes."""
    return [(_mil_type(op), op.type) for op in program.read(package).operations if op.type != "const"]


def _mil_type(op: program.Operation) -> str:
    if op.type.startswith("constexpr_"):
        codes = next(
            (v[0] for name, v in op.inputs.items() if name in ("data", "quantized_data", "indices")), None
        )
        if codes is not None and not isinstance(codes, (str, program.Text)):
            return f"{_name(codes)} weights"
    return graph.mil_type(op.outputs[0].type.dtype.name) if op.outputs else ""


def _name(codes: Any) -> str:
    return graph.mil_type(codes.type.dtype.name) if isinstance(codes, program.Stored) else "stored"


def _counted(rows: Iterable[tuple[str, str, str]]) -> tuple[Operations, ...]:
    """Entries by place and kernel, the most frequent operator first."""
    counts = Counter(rows)
    places = dict.fromkeys((where, kind) for where, kind, _ in counts)
    order = {place: n for n, place in enumerate(places)}
    ranked = sorted(counts.items(), key=lambda item: (order[item[0][:2]], -item[1], item[0][2]))
    return tuple(Operations(*row, count) for row, count in ranked)
