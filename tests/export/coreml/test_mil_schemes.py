"""The files of the Core ML writer in every quantization, evaluated: a small decoder whose activations
overflow fp16 when they are squared.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("coremltools", reason="needs the export extra")
from torch import Tensor, nn

from gamer.export.components.export_module import ExportModule
from gamer.export.coreml import block_weights, to_coreml
from gamer.export.coreml.mil.interpreter import Interpreter
from gamer.export.coreml.mil.program import read
from gamer.export.errors import ExportError
from gamer.export.executorch import to_executorch
from gamer.export.networks.decoder import DecoderShape, DecoderStep
from gamer.export.quantize.palette import palette
from gamer.export.target_options import TargetOptions
from gamer.runtime.bundle.manifest import TensorSpec

SHAPE = DecoderShape(
    vocab=96,
    hidden=64,
    layers=2,
    heads=4,
    kv_heads=2,
    head_dim=16,
    intermediate=128,
    eps=1e-5,
    rope_theta=1e4,
)
SLOTS = 8
LANGUAGE: Any = None  # the writer does not use it
# scheme → (least cosine, the operation that its weights come from)
SCHEMES = {
    "fp32": (0.999999, "const"),
    "fp16": (0.9999, "const"),
    "int8": (0.999, "constexpr_blockwise_shift_scale"),
    "int4": (0.97, "constexpr_blockwise_shift_scale"),
    "pal6": (0.995, "constexpr_lut_to_dense"),
    "pal4": (0.95, "constexpr_lut_to_dense"),
}


@pytest.fixture(scope="module")
def item() -> ExportModule:
    torch.manual_seed(5)
    step = DecoderStep(SHAPE).eval()
    half, cache = SHAPE.head_dim // 2, (SHAPE.kv_heads, SLOTS, SHAPE.head_dim)
    sizes = [
        ("embeds", (1, SHAPE.hidden)),
        ("cos", (1, 1, half)),
        ("sin", (1, 1, half)),
        ("place", (SLOTS, 1)),
        ("mask", (1, 1, SLOTS)),
    ]
    sizes += [(f"past_{x}.{n}", cache) for n in range(SHAPE.layers) for x in "kv"]
    example = tuple(torch.randn(size) for _, size in sizes)
    # A residual stream as large as in language models: its squares are beyond 65,504.
    example[0].mul_(3000.0)
    example[3].zero_()[3] = 1.0
    example[4].zero_()[..., 4:] = -1e4
    names = ["logits", "hidden", *(f"{x}.{n}" for n in range(SHAPE.layers) for x in "kv")]
    inputs = tuple(TensorSpec(name, size, "float32") for name, size in sizes)
    outputs = tuple(TensorSpec(name, (1,), "float32") for name in names)
    return ExportModule("llm_decoder", step, example, inputs, outputs, {}, "", "", True, "")


def cosine(got: Any, want: Any) -> float:
    a, b = got.astype(np.float64).reshape(-1), want.astype(np.float64).reshape(-1)
    return float(a @ b / math.sqrt((a @ a) * (b @ b)))


@pytest.mark.slow
@pytest.mark.parametrize("quant", SCHEMES)
def test_a_decoder_in_every_scheme_stays_close_to_the_torch_module(
    item: ExportModule, quant: str, tmp_path: Path
) -> None:
    least, source = SCHEMES[quant]
    inputs, outputs = to_coreml.write(item, quant, LANGUAGE, [], tmp_path / "d.mlpackage")
    interpreter = Interpreter(tmp_path / "d.mlpackage")
    got = interpreter.run({t.name: x for t, x in zip(inputs, item.example, strict=True)})
    with torch.no_grad():
        want = item.module(*item.example)
    for spec, w in zip(outputs, want, strict=True):
        assert spec.shape == tuple(w.shape)
        assert spec.dtype == str(got[spec.name].numpy().dtype)
        assert cosine(got[spec.name].numpy(), w.numpy()) >= least
    assert source in {o.type for o in read(tmp_path / "d.mlpackage").operations}


def test_an_unknown_scheme_lists_the_known_ones(item: ExportModule, tmp_path: Path) -> None:
    with pytest.raises(
        ExportError, match="no quantization 'int3'; choose one of: fp32, fp16, int8, int4, pal6, pal4"
    ):
        to_coreml.write(item, "int3", LANGUAGE, [], tmp_path / "d.mlpackage")


class Tower(nn.Module):  # type: ignore[misc]
    """The parts that are distinguished by name: a table, the first product, one in the middle, the last."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(96, 64)
        self.patch, self.mlp, self.middle, self.project = (nn.Linear(64, 64) for _ in range(4))

    def forward(self, ids: Tensor) -> Tensor:
        x = torch.relu(self.middle(torch.relu(self.mlp(torch.relu(self.patch(self.table(ids)))))))
        return nn.functional.normalize(self.project(x[:, 0]), dim=-1)


@pytest.fixture(scope="module")
def tower() -> ExportModule:
    torch.manual_seed(5)
    inputs, outputs = (TensorSpec("ids", (1, 8), "int32"),), (TensorSpec("embedding", (1, 64), "float32"),)
    return ExportModule(
        "text_tower",
        Tower().eval(),
        (torch.arange(8, dtype=torch.int32)[None],),
        inputs,
        outputs,
        {},
        "",
        "",
        True,
        "",
    )


def test_each_weight_gets_the_quantization_that_its_name_asks_for(
    tower: ExportModule, tmp_path: Path
) -> None:
    to_coreml.write(
        tower, "int4", LANGUAGE, [], tmp_path / "t.mlpackage", TargetOptions(keep=(("mlp", "pal4"),))
    )
    weights = {
        o.outputs[0].name: o
        for o in read(tmp_path / "t.mlpackage").operations
        if "_weight" in o.outputs[0].name
    }
    kinds = {
        name.split("_weight")[0][2:]: o.type
        for name, o in weights.items()
        if name.endswith(("fp16", "quantized", "palettized"))
    }
    blocks, lut = "constexpr_blockwise_shift_scale", "constexpr_lut_to_dense"
    assert kinds == {"table": blocks, "patch": "const", "mlp": lut, "middle": blocks, "project": blocks}
    assert {name.split("_weight")[0][2:] for name, o in weights.items() if "offset" in o.inputs} == {
        "middle"
    }, "the others are int8, around zero"
    got = Interpreter(tmp_path / "t.mlpackage").run({"ids": tower.example[0]})["embedding"].numpy()
    assert cosine(got, tower.module(*tower.example).detach().numpy()) > 0.99


def test_nearest_blocks_have_a_smaller_error_than_blocks_between_their_extremes() -> None:
    from coremltools.optimize.coreml._quantization_passes import linear_quantize_weights as theirs

    matrix = np.random.default_rng(1).standard_normal((64, 128)).astype(np.float32)
    block_weights.register()
    plain = theirs.blockwise_compress_by_dtype(matrix, "uint4", "LINEAR", [1, 32])
    ours = block_weights.nearest(matrix, plain, 32)
    errors = [np.square(theirs.decompress(params) - matrix).mean() for params in (ours, plain)]
    assert errors[0] < 0.95 * errors[1]
    assert [getattr(ours, part).dtype for part in ("data", "scale", "offset")] == [
        getattr(plain, part).dtype for part in ("data", "scale", "offset")
    ]


def test_executorch_leaves_weights_that_keep_names_in_floats(tower: ExportModule) -> None:
    asked = to_executorch.quantized(tower, "int8", [], TargetOptions(keep=(("middle", "fp32"),)))
    plain = {
        name
        for name, part in asked.named_modules()
        if isinstance(part, nn.Linear) and type(part.weight) is nn.Parameter
    }
    assert plain == {"patch", "middle"}
    with pytest.raises(ExportError, match="ExecuTorch has no quantization 'pal4'"):
        to_executorch.quantized(tower, "int8", [], TargetOptions(keep=(("middle", "pal4"),)))


@pytest.mark.parametrize("bits", [4, 6])
def test_a_palette_is_closer_than_even_steps_and_its_indices_are_the_nearest(bits: int) -> None:
    values = np.random.default_rng(1).standard_t(4, (16, 300)).astype(np.float32)
    lut, indices = palette(values, bits)
    flat = values.reshape(-1)
    assert lut.shape == (1 << bits,)
    assert np.array_equal(indices, np.abs(flat[:, None] - lut[None]).argmin(1))
    even = np.linspace(flat.min(), flat.max(), 1 << bits)
    assert ((flat - lut[indices]) ** 2).mean() < ((flat[:, None] - even[None]) ** 2).min(1).mean()


def test_a_palette_of_one_value_is_that_value() -> None:
    lut, indices = palette(np.full((4, 4), 0.5, np.float16), 4)
    assert set(lut[indices]) == {np.float16(0.5)}
