"""Where operations ran, read from artifacts of each target; what engines that cannot run here would take."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
import onnx

from gamer.export import capabilities
from gamer.export.capabilities import Engine, Takes
from gamer.export.placement import assigned, graph, prediction
from gamer.export.placement.graph import Graph, Operation
from gamer.export.settings import Settings
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle.placement import Placement
from gamer.runtime.cli.doctor import doctor
from tests.export import tiny_encoders
from tests.export.conftest import Export

ENGINE = Engine(
    "npu",
    "onnx",
    "2026-01-01",
    "a table",
    True,
    ("float",),
    {"Conv": Takes((4,), (1,)), "Add": Takes()},
    {"Gelu": "leave it"},
)


def _op(name: str, inputs: str, output: str, constant: str = "", rank: int | None = 4) -> Operation:
    names = tuple(inputs)
    return Operation(name, names, (output,), "float", rank, tuple(n in constant for n in names))


def test_an_engine_takes_its_operators_of_its_ranks_types_and_constants() -> None:
    assert prediction.why_left(ENGINE, _op("Conv", "xw", "y", "w")) == ""
    assert prediction.why_left(ENGINE, _op("Conv", "xw", "y", "w", rank=3)) == "of rank 3"
    assert prediction.why_left(ENGINE, _op("Conv", "xw", "y", "w", rank=None)) == ""
    assert prediction.why_left(ENGINE, _op("Conv", "xw", "y")) == "its weights are no constants"
    assert prediction.why_left(ENGINE, _op("Gelu", "x", "y")) == "not among its operators"
    assert prediction.why_left(ENGINE, replace(_op("Add", "x", "y"), type="int64")) == "computed in int64"


def test_a_branch_beside_an_operator_that_is_left_does_not_split_the_graph() -> None:
    # a → Gelu → c, and b beside it: the engine computes a and b, then waits for Gelu: two pieces, not three
    rows = (_op("Add", "x", "a"), _op("Gelu", "a", "g"), _op("Add", "x", "b"), _op("Add", "gb", "c"))
    predicted = prediction.predict(ENGINE, Graph(rows, ("batch",)))
    assert (predicted.taken, predicted.all, predicted.partitions) == (3, 4, 2)
    assert [(left.operator, left.count, left.change) for left in predicted.left] == [("Gelu", 1, "leave it")]
    assert predicted.fixed == ("batch",)
    assert predicted.source == "a table; read 2026-01-01"
    whole = prediction.predict(ENGINE, Graph(tuple(r for r in rows if r.name == "Add"), ()))
    assert (whole.taken, whole.partitions, whole.left) == (3, 1, ())
    nothing = prediction.predict(ENGINE, Graph((_op("Gelu", "x", "y"),), ()))
    assert (nothing.taken, nothing.partitions) == (0, 0)


def test_nodes_that_fold_to_constants_are_no_operations_of_the_graph(tmp_path: Path) -> None:
    helper = onnx.helper
    nodes = [
        helper.make_node("Cast", ["w"], ["half"], to=10),
        helper.make_node("Cast", ["half"], ["weight"], to=1),
        helper.make_node("MatMul", ["x", "weight"], ["y"]),
        helper.make_node("Shape", ["y"], ["size"]),
        helper.make_node("Reshape", ["y", "size"], ["z"]),
    ]
    x = helper.make_tensor_value_info("x", 1, ["rows", 2])
    z = helper.make_tensor_value_info("z", 1, None)
    weight = helper.make_tensor("w", 1, [2, 2], [1.0, 0.0, 0.0, 1.0])
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [z], [weight])), str(tmp_path / "m.onnx"))
    read = graph.of_onnx(tmp_path / "m.onnx")
    assert [(o.name, o.type, o.rank, o.constant) for o in read.operations] == [
        ("MatMul", "float", 2, (False, True)),
        ("Reshape", "float", 2, (False, True)),
    ]
    assert read.varying == ("rows",)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoders.bert(tmp_path_factory.mktemp("source") / "model")


def _placed(manifest: mf.Manifest, target: str) -> Placement:
    found = manifest.artifact("text_tower", target).placement
    assert found is not None
    return found


def test_an_export_says_where_each_operation_ran_and_doctor_shows_it(
    export: Export, tmp_path: Path, source: Path
) -> None:
    settings = Settings("sentence", "int8", sources=(("text", str(source)),))
    manifest = export(settings, tmp_path / "out", ("onnx", "executorch", "coreml"))
    assert mf.read(tmp_path / "out") == manifest

    onnx_ran = _placed(manifest, "onnx")
    assert {o.where for o in onnx_ran.operations} == {"CPUExecutionProvider"}
    products = sum(o.count for o in onnx_ran.operations if o.kernel == "quantized")
    assert products == 12  # two layers of query, key, value, output, up and down
    assert {p.engine for p in onnx_ran.predictions} == {"NNAPI", "QNN (HTP)", "XNNPACK"}
    qnn = next(p for p in onnx_ran.predictions if p.engine.startswith("QNN"))
    assert next(left for left in qnn.left if left.operator == "MatMulInteger").count == 12
    assert qnn.fixed == ("batch", "tokens")
    assert 1 < qnn.partitions < qnn.taken < qnn.all

    delegated = _placed(manifest, "executorch")
    wide = [o for o in delegated.operations if (o.where, o.kernel) == ("XnnpackBackend", "qcint8")]
    assert [(o.operator, o.count) for o in wide] == [("FullyConnected", 12)]
    assert any((o.where, o.operator) == ("portable", "aten::embedding.out") for o in delegated.operations)
    assert delegated.delegates > 1
    assert delegated.memory > 0
    assert delegated.predictions == ()

    program = _placed(manifest, "coreml")
    assert any((o.kernel, o.operator) == ("fp16", "linear") for o in program.operations)
    (neural,) = program.predictions
    assert neural.taken < neural.all
    assert all(left.why.startswith("computed in") for left in neural.left)

    shown = CliRunner().invoke(doctor, [str(tmp_path / "out")], env={"COLUMNS": "140"})
    assert "MatMulInteger" in shown.output
    assert f"{qnn.taken} of {qnn.all} in {qnn.partitions}*" in shown.output
    raw = json.loads(CliRunner().invoke(doctor, [str(tmp_path / "out"), "--json"]).output)
    assert raw["components"][0]["placement"]["by"] == onnx_ran.by


def test_a_kernel_is_quantized_fused_or_reference() -> None:
    assert assigned.kernel("MatMulNBits") == "quantized"
    assert assigned.kernel("SkipLayerNormalization") == "fused"
    assert assigned.kernel("Softmax") == "reference"


def test_the_table_says_what_the_writers_have() -> None:
    table = capabilities.capabilities()
    from gamer.export.coreml.to_coreml import PASSES
    from gamer.export.executorch.to_executorch import BACKENDS

    assert set(capabilities.writer("coreml").quants) == {"fp32", "fp16", *PASSES}
    assert {f"executorch/{name}" for name in BACKENDS} == {n for n in table.writers if "/" in n}
    for written in table.writers.values():
        assert {q.partition("/")[0] for q in written.searched} <= set(written.quants)
        assert {int(q.partition("/")[2]) for q in written.searched if "/" in q} <= set(written.blocks)
        assert set(written.since_ios18) <= set(written.quants)
    for engine in table.engines:
        assert engine.source
        assert engine.date[:2] == "20"


def _no_compiler(package: str, to: str) -> str:
    raise Exception("Compiling a Core ML models is only support on macOS")  # as coremltools has it


def test_on_a_mac_the_operations_stand_by_the_compute_unit_that_core_ml_plans(
    export: Export, tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan is a stand-in of coremltools' own classes: no Mac has run it."""
    import coremltools as ct
    from coremltools.models import compute_plan as plans
    from coremltools.models.compute_device import MLCPUComputeDevice, MLNeuralEngineComputeDevice

    from gamer.export.coreml.mil import program

    manifest = export(Settings("sentence", sources=(("text", str(source)),)), tmp_path / "out", ("coreml",))
    artifact = manifest.artifact("text_tower", "coreml")
    package = tmp_path / "out" / artifact.path
    named = plans.MLModelStructureProgramNamedValueType
    operations = [
        plans.MLModelStructureProgramOperation(
            {}, f"ios18.{op.type}", [named(op.outputs[0].name, None)], [], None
        )
        for op in program.read(package).operations
    ]
    block = plans.MLModelStructureProgramBlock([], operations, [])

    class Plan:
        model_structure = plans.MLModelStructure(
            None,
            plans.MLModelStructureProgram({"main": plans.MLModelStructureProgramFunction([], block)}),
            None,
        )

        def get_compute_device_usage_for_mlprogram_operation(
            self, op: plans.MLModelStructureProgramOperation
        ) -> plans.MLComputePlanDeviceUsage | None:
            if op.operator_name == "ios18.const":
                return None
            kind = MLCPUComputeDevice if op.operator_name == "ios18.gather" else MLNeuralEngineComputeDevice
            return plans.MLComputePlanDeviceUsage(kind.__new__(kind), [])

    monkeypatch.setattr(assigned, "runs_here", lambda name: name == "coreml")
    monkeypatch.setattr(ct.models.utils, "compile_model", _no_compiler)
    assert assigned.placement(artifact, package) == _placed(manifest, "coreml")
    monkeypatch.setattr(ct.models.utils, "compile_model", lambda package, to: to)
    monkeypatch.setattr(plans.MLComputePlan, "load_from_path", lambda path, units: Plan())
    placed, plain = assigned.placement(artifact, package), _placed(manifest, "coreml")
    assert placed.by.startswith("Core ML's plan, coremltools ")
    assert {o.where for o in placed.operations if o.operator == "gather"} == {"CPU"}
    assert {o.where for o in placed.operations if o.operator != "gather"} == {"Neural Engine"}
    rows = sorted((o.kernel, o.operator, o.count) for o in placed.operations)
    assert rows == sorted((o.kernel, o.operator, o.count) for o in plain.operations)
    assert placed.predictions == plain.predictions
