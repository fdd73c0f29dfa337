"""Graphs for NPUs (--quant a8w8, a16w8): fixed shapes, every product in QDQ form, nothing that Qualcomm's
provider leaves, and outputs near torch's on inputs that did not calibrate them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
onnx = pytest.importorskip("onnx")

from click.testing import CliRunner

from gamer.export.capabilities import capabilities
from gamer.export.cli import export
from gamer.export.components import components, experts, fixtures
from gamer.export.components.components import reference
from gamer.export.components.export_module import ExportModule, Samples
from gamer.export.errors import ExportError
from gamer.export.onnx.to_onnx import write
from gamer.export.parity.reference import cosines
from gamer.export.placement import graph
from gamer.export.placement.prediction import predict
from gamer.export.planning import limits
from gamer.export.quantize import calibration
from gamer.export.settings import Settings
from tests.export.onnx.test_to_onnx import CLIP, NO_LANGUAGE, SIGLIP, inputs, run, tower

SIZES = experts.Sizes(experts=3, blocks=2, width=32, heads=2, features=48, hidden=64)
PARTS = ["clip-image", "clip-text", "siglip-image", "siglip-text", "expert", "router"]
# Worst cosines of the first output: the towers are random and very narrow.
LEAST = {"a8w8": 0.93, "a16w8": 0.9985}


def part(name: str) -> ExportModule:
    if name in ("expert", "router"):
        return experts.component(f"dpe_{name}" + "_0" * (name == "expert"), 9, SIZES, 4)
    family, kind = name.split("-")
    return tower(CLIP if family == "clip" else SIGLIP, kind)


def rows(item: ExportModule, count: int) -> Samples:
    if item.role.startswith("dpe"):
        rng = np.random.default_rng(6)
        return [(rng.normal(size=(1, 9, 48)).astype(np.float32),) for _ in range(count)]
    given = list(inputs(item, count).values())
    # The longest first, as in calibration.CAPTIONS.
    return [tuple(array[n : n + 1] for array in given) for n in reversed(range(count))]


def worst(item: ExportModule, path: Path, samples: Samples) -> float:
    names = [t.name for t in item.inputs]
    pairs = (
        (run(path, dict(zip(names, row, strict=True)))[0], reference(item.module, row)[0]) for row in samples
    )
    return min(float(cosines(got, want).min()) for got, want in pairs)


@pytest.mark.parametrize("name", PARTS)
def test_a_graph_for_npus_is_fixed_whole_and_near_torch(name: str, tmp_path: Path) -> None:
    item = part(name)
    samples = rows(item, 10)
    reached = {}
    for quant, width in (("a8w8", "uint8"), ("a16w8", "uint16")):
        if name.endswith("text") and quant == "a8w8":  # which no recipe has: see test_settings
            continue
        path = tmp_path / f"{quant}.onnx"
        specs, _ = write(item, quant, NO_LANGUAGE, samples[:8], path)
        assert all(isinstance(n, int) for t in specs for n in t.shape)
        found = graph.of_onnx(path)
        assert found.varying == ()
        qnn = predict(next(e for e in capabilities().engines if e.name.startswith("QNN")), found)
        assert (qnn.taken, qnn.partitions, qnn.left, qnn.fixed) == (qnn.all, 1, (), ())
        model = onnx.load(str(path))
        _every_product_is_quantized(model.graph, width)
        reached[quant] = worst(item, path, samples[8:])
        assert reached[quant] >= LEAST[quant]
    assert reached["a16w8"] >= reached.get("a8w8", 0.0)


def _every_product_is_quantized(found: Any, width: str) -> None:
    makers = {out: node for node in found.node for out in node.output}
    types = {t.name: onnx.TensorProto.DataType.Name(t.data_type).lower() for t in found.initializer}
    products = [node for node in found.node if node.op_type in ("MatMul", "Gemm", "Conv")]
    assert products
    for node in products:
        zeros: Sequence[str] = [types[makers[name].input[2]] for name in node.input[:2]]
        assert set(zeros) <= {width, "int8"}
    assert any(types.get(n.input[0]) == "int8" for n in found.node if n.op_type == "DequantizeLinear")


def test_masked_tokens_still_change_nothing(tmp_path: Path) -> None:
    """The mask is brought near for the sake of the grid; what it hides must stay hidden."""
    item = part("clip-text")
    samples = rows(item, 6)
    write(item, "a16w8", NO_LANGUAGE, samples, tmp_path / "t.onnx")
    ids, mask = samples[0]
    other = np.where(mask == 1, ids, 7)
    want, got = (run(tmp_path / "t.onnx", {"input_ids": x, "attention_mask": mask})[0] for x in (ids, other))
    assert float(cosines(got, want).min()) > 0.99999


@pytest.mark.slow
def test_packaged_sentence_encoder_keeps_its_vectors_on_texts_that_did_not_calibrate_it(
    tmp_path: Path,
) -> None:
    settings = Settings("pocket", "a8w8", parts=("text",))
    quant = settings.quant_of("text_tower", "onnx")
    assert quant == "a16w8"
    item = components.build(settings, "text_tower", "fp32")
    write(item, quant, NO_LANGUAGE, calibration.samples(settings, item, "onnx", quant), tmp_path / "t.onnx")
    assert not set(calibration.CAPTIONS) & set(fixtures.TEXTS)
    bar = settings.threshold(quant, "text_tower").cosine
    assert worst(item, tmp_path / "t.onnx", fixtures.samples(settings, item, fixed=True)) >= bar


def test_the_command_refuses_other_bits_for_npus() -> None:
    told = CliRunner().invoke(export, ["pocket", "--for", "npu", "--quant", "int4", "-o", "unused"])
    assert told.exit_code == 2
    assert "'int4' is not for NPUs: a8w8 or a16w8" in told.output


def test_notes_say_what_stays_on_the_cpu_and_why() -> None:
    notes = limits.check(Settings("pocket", "a8w8"), ("onnx",))
    assert (
        "onnx: text_tower in a16w8, not a8w8: its activations have outliers, for which 8 bits are too few"
        in notes
    )
    assert any("llm_embed in int8" in note and "no fixed shape" in note for note in notes)


def test_photographs_of_the_user_calibrate_experts_too(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="no folder of photographs"):
        calibration.samples(
            Settings("pocket", "a8w8", calibrate=str(tmp_path / "none")), part("expert"), "onnx", "a8w8"
        )


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (Settings("pocket", "a8w8", parts=("llm",)), "cache has no fixed shape"),
        (Settings("pocket", "a8w8", parts=("faces",)), "stay in fp32"),
        (
            Settings("pocket", "a8w8", image_input="any", parts=("text", "image")),
            "no fixed shape: leave out --image-input any",
        ),
        (Settings("pocket", "a16w8", onnx_format="ort", parts=("text",)), "leave out --onnx-format"),
        (Settings("pocket", "a16w8", keep=(("up", "int8"),), parts=("text",)), "nothing follows it"),
    ],
)
def test_what_has_no_fixed_graph_is_refused_in_one_line(settings: Settings, text: str) -> None:
    with pytest.raises(ExportError, match=text) as refused:
        limits.check(settings, ("onnx",))
    assert "\n" not in str(refused.value)


def test_a_target_without_calibrated_activations_is_refused() -> None:
    with pytest.raises(ExportError, match="add onnx to --targets"):
        limits.check(Settings("pocket", "a16w8", parts=("text",)), ("executorch",))
