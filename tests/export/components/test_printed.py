"""The part ocr: PaddleOCR's graphs as torch modules, which every target lowers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from gamer.export.components import components, printed
from gamer.export.errors import ExportError
from gamer.export.networks.from_onnx import OnnxNetwork
from gamer.export.recipe import OCR_ROLES, TARGETS
from gamer.export.settings import Settings
from gamer.runtime.models.printed import HEIGHT, characters, decoded
from gamer.runtime.telemetry import load_onnxruntime

ASKED = Settings("pocket", parts=("ocr",))


def source(role: str) -> Path:
    return printed._path(None, role)


def test_text_networks_are_a_part_that_must_be_asked_for() -> None:
    assert "ocr" not in Settings("pocket").chosen.parts()
    assert components.roles(ASKED) == OCR_ROLES
    for quant in ("int8", "fp16", "pal4"):  # characters are whole numbers up to 18,709
        asked = replace(ASKED, quant=quant)
        assert {asked.quant_of(role, target) for role in OCR_ROLES for target in TARGETS} == {"fp32"}


@pytest.mark.parametrize(
    ("role", "shape"), [("ocr_detector", (1, 3, 96, 160)), ("ocr_recogniser", (2, 3, 48, 333))]
)
def test_torch_computes_what_the_published_graph_does(role: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)
    session = load_onnxruntime().InferenceSession(str(source(role)), providers=["CPUExecutionProvider"])
    (want,) = session.run(None, {session.get_inputs()[0].name: x})
    with torch.no_grad():
        got = OnnxNetwork(source(role))(torch.from_numpy(x)).numpy()
    assert got.shape == want.shape
    assert np.abs(got - want).max() < 1e-4


def test_the_components_take_red_green_and_blue_and_give_characters(tmp_path: Path) -> None:
    recogniser = components.build(ASKED, "ocr_recogniser", "fp32").module
    line = printed.drawn((("Total 119.00 EUR", 36),), 480, HEIGHT, at=(8, 4)).astype(np.float32)
    codes, certainty = components.reference(recogniser, (line[None],))
    assert printed.write_characters(None, tmp_path) == ["ocr_characters.txt"]
    listed = characters(tmp_path / "ocr_characters.txt")
    text, sure = decoded(codes[0], certainty[0], (*listed, " "))
    assert (text, sure > 0.9) == ("Total 119.00 EUR", True)
    detector = components.build(ASKED, "ocr_detector", "fp32").module
    red = np.zeros((1, 64, 64, 3), np.float32)
    red[..., 0] = 255
    bgr = torch.from_numpy(red[..., ::-1].copy()).permute(0, 3, 1, 2) / 127.5 - 1
    with torch.no_grad():
        want = OnnxNetwork(source("ocr_detector"))(bgr)
    assert np.allclose(components.reference(detector, (red,))[0], want.flatten(1).numpy(), atol=1e-6)


def graph(operator: str, **values: object) -> onnx.ModelProto:
    weight = numpy_helper.from_array(np.ones((1, 1, 2, 2), np.float32), "w")
    spec = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy"]
    inputs = ["x", "w"] if operator == "Conv" else ["x"]
    node = helper.make_node(operator, inputs, ["y"], **values)
    return helper.make_model(helper.make_graph([node], "g", spec[:1], spec[1:], [weight]))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (graph("LSTM"), "cannot lower the ONNX operator LSTM"),
        (graph("Conv", auto_pad="SAME_UPPER", strides=[2, 2]), "SAME_UPPER with strides"),
    ],
)
def test_what_is_not_known_is_refused_by_its_name(
    model: onnx.ModelProto, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "a_det_b.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ExportError, match=message):
        OnnxNetwork(path)


def test_files_that_are_no_graphs_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="must hold one file"):
        printed.detector(str(tmp_path))
    (tmp_path / "a_det_b.onnx").write_bytes(b"no graph")
    with pytest.raises(ExportError, match="no ONNX graph") as raised:
        printed.detector(str(tmp_path))
    assert "\n" not in str(raised.value)
    with pytest.raises(ExportError, match="its architecture comes with its weights"):
        printed.detector("random:1")
