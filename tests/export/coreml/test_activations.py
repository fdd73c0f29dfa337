"""Core ML's activations in 8 bits (a8w8): every convolution and linear map takes what a quantize has made, by
ranges of the calibration's inputs, in both layouts, and outputs stay near torch's on other inputs.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("coremltools", reason="needs the export extra")
from click.testing import CliRunner

from gamer.export import cli
from gamer.export.capabilities import capabilities
from gamer.export.components.components import reference
from gamer.export.components.export_module import ExportModule, Samples
from gamer.export.coreml import activations, to_coreml
from gamer.export.coreml.mil.interpreter import Interpreter
from gamer.export.coreml.mil.program import Operation
from gamer.export.parity.reference import cosines
from gamer.export.placement import graph
from gamer.export.placement.prediction import predict
from gamer.export.planning import limits
from gamer.export.settings import Settings
from gamer.export.target_options import TargetOptions
from tests.export.onnx.test_static import part, rows
from tests.export.onnx.test_to_onnx import NO_LANGUAGE

WHOLE = ("conv", "linear")


def worst(item: ExportModule, path: Path, samples: Samples) -> float:
    interpreter = Interpreter(path)
    name, figures = interpreter.program.outputs[0], []
    for row in samples:
        specs = zip(interpreter.program.inputs, row, strict=True)
        given = {i.name: torch.from_numpy(x).to(i.type.dtype.held) for i, x in specs}
        got = interpreter.run(given)[name].float().numpy()
        figures.append(float(cosines(got, reference(item.module, row)[0]).min()))
    return min(figures)


def maker(operations: tuple[Operation, ...], operation: Operation) -> str:
    """The type of the operation that makes x."""
    makers = {o.name: op.type for op in operations for o in op.outputs}
    return makers.get(str(operation.inputs["x"][0]), "input")


@pytest.mark.parametrize("layout", ["rows", "ane"])
@pytest.mark.parametrize("name", ["clip-image", "expert"])
def test_products_take_codes_calibrated_by_the_interpreter(name: str, layout: str, tmp_path: Path) -> None:
    item, path = part(name), tmp_path / "a8w8.mlpackage"
    samples = rows(item, 10)
    to_coreml.write(item, "a8w8", NO_LANGUAGE, samples[:8], path, TargetOptions(layout=layout))
    program = Interpreter(path).program
    products = [o for o in program.operations if o.type in WHOLE]
    assert products
    assert {maker(program.operations, o) for o in products} == {"dequantize"}
    assert any(
        o.type == "constexpr_blockwise_shift_scale" and o.outputs[0].type.dtype.floating
        for o in program.operations
    )
    assert worst(item, path, samples[8:]) > 0.97
    ane = predict(next(e for e in capabilities().engines if e.target == "coreml"), graph.of_program(path))
    assert not any(left.operator in ("quantize", "dequantize", *WHOLE) for left in ane.left)


def test_ranges_are_those_of_the_samples(tmp_path: Path) -> None:
    item, path = part("expert"), tmp_path / "fp32.mlpackage"
    to_coreml.write(item, "fp32", NO_LANGUAGE, [], path)
    samples = rows(item, 3)
    program = Interpreter(path).program
    found = activations.ranges(path, samples)
    pixels = np.concatenate([row[0] for row in samples])
    assert found[program.inputs[0].name] == {"rmin": float(pixels.min()), "rmax": float(pixels.max())}
    outputs = np.concatenate([reference(item.module, row)[0] for row in samples])
    got = found[program.outputs[0]]
    np.testing.assert_allclose([got["rmin"], got["rmax"]], [outputs.min(), outputs.max()], rtol=1e-3)


def test_for_npu_is_other_defaults_of_quantization_and_targets(tmp_path: Path) -> None:
    command = ["pocket", "--parts", "text,image", "--dry-run", "--json", "-o", "unused"]
    file = tmp_path / "mine.yaml"
    file.write_text("for: npu\ntargets: onnx\n")
    for more, want in (
        (["--for", "npu"], {("onnx", "a8w8"), ("coreml", "a8w8"), ("onnx", "a16w8"), ("coreml", "int8")}),
        (["--for", "npu", "--targets", "coreml"], {("coreml", "a8w8"), ("coreml", "int8")}),
        (["--config", str(file)], {("onnx", "a8w8"), ("onnx", "a16w8")}),
    ):
        done = CliRunner().invoke(cli.export, [*command, *more])
        assert done.exit_code == 0, done.output
        planned = json.loads(done.stdout)["artifacts"]
        assert {(a["target"], a["quant"]) for a in planned} == want
    refused = CliRunner().invoke(cli.export, [*command, "--for", "npu", "--max-size", "9MB"])
    assert refused.exit_code == 1
    assert "leave it out" in refused.stderr


def test_notes_say_what_core_ml_has_instead() -> None:
    notes = limits.check(Settings("pocket", "a16w8", parts=("text", "image")), ("onnx", "coreml"))
    assert any(n.startswith("coreml: image_tower, text_tower in int8") and "fp16" in n for n in notes)
    whole = Settings("pocket", "a8w8", executorch_backend="coreml")
    assert whole.quant_of("image_tower", "coreml") == "a8w8"
    assert whole.quant_of("image_tower", "executorch") == "int8"
