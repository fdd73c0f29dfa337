"""The torch step and the ONNX graph of one tiny random decoder agree; and how its weights are quantized."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.components.decoders import step_specs
from gamer.export.components.export_module import ExportModule
from gamer.export.networks.decoder import DecoderShape, DecoderStep, Int8Embedding
from gamer.export.onnx import decoder_graph
from gamer.export.onnx import graph as onnx_graph
from gamer.export.parity import measure
from gamer.export.quantize import block_codes
from gamer.index.records import FloatArray
from gamer.runtime.backends import Array, open_session
from gamer.runtime.bundle.manifest import Artifact, Language, Parity, TensorSpec
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.language.decoder import BoundDecoder, Decoder, StepDecoder, open_decoder
from gamer.runtime.models.language.llm import LanguageModel, Request

SHAPE = DecoderShape(
    vocab=64,
    hidden=64,
    layers=2,
    heads=4,
    kv_heads=2,
    head_dim=16,
    intermediate=96,
    eps=1e-5,
    rope_theta=10_000.0,
)
LANGUAGE = Language(layers=2, kv_heads=2, head_dim=16, hidden=64, max_seq=24, rope_theta=10_000.0, eos_ids=())


@pytest.fixture(scope="module")
def step() -> DecoderStep:
    torch.manual_seed(3)
    model = DecoderStep(SHAPE)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.eval()
    return model


@pytest.fixture(scope="module")
def table() -> FloatArray:
    return np.random.default_rng(5).standard_normal((SHAPE.vocab, SHAPE.hidden)).astype(np.float32)


def on_the_grid(step: DecoderStep) -> DecoderStep:
    """The model with weights that were quantized to 4 bits before, as those of a Q4_1 file are."""
    changed = copy.deepcopy(step)
    for layer in changed.layers:
        for linear in (layer.qkv, layer.out, layer.gate_up, layer.down):
            linear.weight.data = torch.from_numpy(
                block_codes.affine_blocks(linear.weight.detach().numpy()).dequantize()
            )
    return changed


def torch_decoder(step: DecoderStep) -> StepDecoder:
    inputs, outputs = step_specs(step, LANGUAGE.max_seq)
    item = ExportModule("llm_decoder", step, (), inputs, outputs, {}, "", "", True, "")
    return StepDecoder(measure.TorchSession(item), LANGUAGE)


def onnx_session(step: DecoderStep, quant: str, path: Path) -> object:
    decoder_graph.write(step, LANGUAGE, quant, path)
    inputs, outputs = decoder_graph.specs(step, LANGUAGE.max_seq)
    return open_session(
        "onnx",
        path,
        Artifact("llm_decoder", "onnx", quant, "", 0, "", inputs, outputs, Parity("", "", 0.0), 0.0),
        1,
    )


@pytest.mark.parametrize(("quant", "least"), [("fp32", 0.99999), ("int8", 0.995), ("int4", 0.99)])
def test_the_onnx_graph_decodes_and_prefills_like_the_torch_step(
    step: DecoderStep, table: FloatArray, tmp_path: Path, quant: str, least: float
) -> None:
    if quant == "int4":
        step = on_the_grid(step)
    decoder = open_decoder(onnx_session(step, quant, tmp_path / "d.onnx"), LANGUAGE)  # type: ignore[arg-type]
    rows = table[[5, 9, 1, 33, 60, 2, 7, 7, 12]]
    want, best = measure.teacher_force(torch_decoder(step), rows)
    got, ours = measure.teacher_force(decoder, rows)
    assert measure.cosines(got, want).min() >= least
    decoder.reset()
    _, first = decoder.forward(rows[:4])
    _, rest = decoder.forward(rows[4:])
    assert measure.cosines(np.concatenate([first, rest]), want).min() >= least
    if quant == "fp32":
        assert (ours == best).all()


def test_a_full_cache_refuses_another_token(step: DecoderStep, table: FloatArray, tmp_path: Path) -> None:
    decoder = open_decoder(onnx_session(step, "fp32", tmp_path / "d.onnx"), LANGUAGE)  # type: ignore[arg-type]
    decoder.forward(table[:24])
    with pytest.raises(RuntimeFailure, match="25 tokens do not fit"):
        decoder.forward(table[:1])


@pytest.mark.parametrize("kind", ["torch", "onnx"])
def test_a_saved_cache_is_restored_and_one_of_another_shape_is_refused(
    step: DecoderStep, table: FloatArray, tmp_path: Path, kind: str
) -> None:
    decoder: Decoder = torch_decoder(step)
    if kind == "onnx":
        decoder = open_decoder(onnx_session(step, "fp32", tmp_path / "d.onnx"), LANGUAGE)  # type: ignore[arg-type]
    rows = table[[5, 9, 1, 33, 60, 2, 7]]
    want = decoder.forward(rows)[0].copy()
    decoder.reset()
    decoder.forward(rows[:4])
    saved = decoder.keep()
    assert saved.shape == (2, 2, 2, 4, 16)
    decoder.forward(table[[8, 8, 8]])  # `restore` drops these
    decoder.restore(saved)
    assert decoder.past == 4
    np.testing.assert_allclose(decoder.forward(rows[4:])[0], want, rtol=2e-4, atol=2e-4)
    wrongs: tuple[Any, ...] = (
        saved[:1],
        saved.astype(np.float64),
        saved[0],
        np.zeros((2, 2, 2, 25, 16), np.float32),
    )
    for wrong in wrongs:
        with pytest.raises(RuntimeFailure, match="does not fit the decoder"):
            decoder.restore(wrong)


def test_the_scores_of_all_positions_are_those_of_one_token_at_a_time(
    step: DecoderStep, table: FloatArray, tmp_path: Path
) -> None:
    decoder = open_decoder(onnx_session(step, "fp32", tmp_path / "d.onnx"), LANGUAGE)  # type: ignore[arg-type]
    assert isinstance(decoder, BoundDecoder)
    rows = table[[5, 9, 1, 33]]
    scores = decoder.rows(rows, None, len(rows))
    decoder.reset()
    for row, want in zip(rows, scores, strict=True):
        np.testing.assert_allclose(decoder.forward(row[None])[0], want, rtol=2e-4, atol=2e-4)


class Table:
    """A token table in memory."""

    def __init__(self, step: DecoderStep, rows: FloatArray) -> None:
        given = (step_specs(step, 24)[0][0],)
        self.artifact = Artifact("llm_embed", "onnx", "fp32", "", 0, "", given, (), Parity("", "", 0.0), 0.0)
        self._rows = rows

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        return {"embeds": self._rows[inputs["ids"].astype(int)]}


@pytest.mark.parametrize("quant", ["fp32", "int8", "int4"])
def test_what_is_measured_of_a_tokens_numbers_holds_for_a_whole_text(
    step: DecoderStep, table: FloatArray, tmp_path: Path, quant: str
) -> None:
    """Computed at once, one by one, and in parts; all but the last slot's, which no spare query follows."""
    source = on_the_grid(step) if quant == "int4" else step
    decoder = open_decoder(onnx_session(source, quant, tmp_path / "d.onnx"), LANGUAGE)  # type: ignore[arg-type]
    rows = table[np.arange(LANGUAGE.max_seq - 1) * 7 % SHAPE.vocab]
    alike = decoder.alike()
    assert decoder.past == 0  # what was measured with is taken back
    want = decoder.rows(rows, None, len(rows))
    kept = decoder.keep()
    same = []
    for size in (1, 2, 5):
        decoder.reset()
        parts = [decoder.rows(part, None, len(part)).copy() for part in np.split(rows, range(size, 23, size))]
        same.append(np.array_equal(np.concatenate(parts), want) and np.array_equal(decoder.keep(), kept))
    assert same == [alike, alike, alike] or (not alike and same[1:] == [True, True])
    assert decoder.forward(table[:1])[0].shape == (SHAPE.vocab,)  # the last slot


@pytest.mark.parametrize("kind", ["torch", "fp32", "int8"])
def test_turns_and_drafts_give_the_tokens_of_a_decoder_that_starts_anew(
    step: DecoderStep, table: FloatArray, tmp_path: Path, kind: str
) -> None:
    decoder: Decoder = torch_decoder(step)
    if kind != "torch":
        decoder = open_decoder(onnx_session(step, kind, tmp_path / "d.onnx"), LANGUAGE)  # type: ignore[arg-type]
    lm = LanguageModel(Table(step, table), decoder, LANGUAGE)
    said, computed = (5, 9, 1, 7), list[int]()
    for words in ((), (2, 8), (3,), (4, 60)):
        ids = (*said, *words)
        want = lm.generate(Request(ids, 4, plain=True))
        lm.reuse.forget()
        for turn in ((6, 6, 6), said, ids):  # another dialogue, the last turn again, then this one
            got = lm.generate(Request(turn, 4))
        assert (got.ids, got.ended) == (want.ids, want.ended)
        computed.append(got.computed)
        said = (*ids, *got.ids)
    assert max(computed) <= (3 if decoder.alike() else 6)  # of 21: the words, and else the answer too


def test_the_torch_step_generates_until_its_length_or_an_end_token(
    step: DecoderStep, table: FloatArray
) -> None:
    lm = LanguageModel(Table(step, table), torch_decoder(step), LANGUAGE)
    free = lm.generate(Request((5, 9, 1), 6))
    assert len(free.ids) == 6
    assert free.ended == "length"
    assert free.prompt_tokens == 3
    again = LanguageModel(
        Table(step, table), torch_decoder(step), Language(2, 2, 16, 64, 24, 10_000.0, (free.ids[2],))
    )
    stopped = again.generate(Request((5, 9, 1), 6))
    assert stopped.ids == free.ids[: free.ids.index(free.ids[2])]
    assert stopped.ended == "end"


def test_quantized_blocks_err_by_at_most_half_a_step() -> None:
    matrix = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)
    codes, scales = block_codes.quantize_blocks(matrix)
    back = (codes.astype(np.float32) - 128) * scales[..., None]
    assert np.abs(back.reshape(8, 64) - matrix).max() <= scales.max() / 2 + 1e-6


def test_a_q4_1_matrix_is_quantized_to_its_original_codes() -> None:
    """GGUF's Q4_1: half-precision scale and minimum, codes that reach both ends of the grid, as min-max
    quantization gives them.
    """
    random = np.random.default_rng(2)
    codes = random.integers(0, 16, (6, 3, 32)).astype(np.float32)
    codes[..., 0], codes[..., 1] = 0, 15
    scale = random.uniform(0.001, 0.1, (6, 3, 1)).astype(np.float16).astype(np.float32)
    minimum = (-scale * random.uniform(-2, 17, (6, 3, 1))).astype(np.float16).astype(np.float32)
    matrix = (codes * scale + minimum).reshape(6, 96)
    blocks = block_codes.affine_blocks(matrix)
    assert (blocks.codes == codes).all()
    np.testing.assert_allclose(blocks.dequantize(), matrix, atol=1e-6)
    inside = (minimum <= 0) & (minimum + 15 * scale >= 0)
    assert (np.abs(blocks.rest) <= 0.51 * scale[..., 0])[inside[..., 0]].all()


def test_searched_blocks_have_a_smaller_error_than_plain_ones() -> None:
    matrix = np.random.default_rng(4).standard_normal((16, 64)).astype(np.float32)
    searched = block_codes.nearest_blocks(matrix)
    plain = block_codes.affine_blocks(matrix)
    rounded = plain._replace(rest=np.zeros_like(plain.rest)).dequantize()
    assert not searched.rest.any()
    assert searched.codes.max() <= 15
    assert searched.zeros.max() <= 15
    assert np.square(searched.dequantize() - matrix).sum() < np.square(rounded - matrix).sum()


def test_a_second_four_bits_store_the_error_of_the_first() -> None:
    rest = np.random.default_rng(8).standard_normal((16, 64)).astype(np.float32)
    coarse = block_codes.nearest_blocks(rest).dequantize()
    fine = block_codes.nearest_blocks(rest - coarse).dequantize()
    assert np.abs(rest - coarse - fine).max() < np.abs(rest - coarse).max() / 8


@pytest.mark.parametrize("count", [1, 4, 5])
def test_nibbles_are_packed_low_half_first(count: int) -> None:
    codes = np.random.default_rng(1).integers(0, 16, (3, count)).astype(np.uint8)
    packed = block_codes.pack_nibbles(codes)
    assert packed.shape == (3, (count + 1) // 2)
    assert all((packed[r, n // 2] >> 4 * (n % 2)) & 15 == codes[r, n] for r in range(3) for n in range(count))


def test_an_int4_layer_gives_the_matrix_product_with_its_blocks(tmp_path: Path) -> None:
    """The correction by block sums restores what an integer zero point misses: compared with numpy on blocks
    far from zero.
    """
    import onnxruntime as ort

    random = np.random.default_rng(6)
    weight = (random.standard_normal((24, 64)) * 0.05 + random.uniform(-0.3, 0.3, (24, 1))).astype(np.float32)
    path = tmp_path / "y.onnx"
    with onnx_graph.GraphWriter(onnx_graph.Scheme("int4"), path) as graph:
        graph.linear("x", torch.from_numpy(weight), "y")
        graph.save((TensorSpec("x", (1, "s", 64), "float32"),), (TensorSpec("y", (1, "s", 24), "float32"),))
    x = (random.standard_normal((1, 5, 64)) + 1.0).astype(np.float32)
    got = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    want = x @ block_codes.affine_blocks(weight).dequantize().T
    # The remaining error comes from the int8 activations and the 4-bit rest.
    assert np.abs(got - want).max() < 0.015 * np.abs(want).max()


def test_the_int8_token_table_errs_by_at_most_half_a_step() -> None:
    weight = torch.randn(10, 16)
    ids = torch.tensor([3, 3, 9])
    assert (Int8Embedding(weight)(ids) - weight[ids]).abs().max() <= weight.abs().max() / 254 + 1e-6


def test_an_outlier_does_not_set_the_scale_of_its_whole_row() -> None:
    torch.manual_seed(0)
    weight, ids = torch.randn(10, 1024), torch.tensor([3, 3, 9])
    assert Int8Embedding(weight).groups == 1
    weight[7, 40] = 40.0  # of a row whose root mean square is one
    table = Int8Embedding(weight)
    assert table.groups == 32
    assert table.get_buffer("scale").shape == (10, 32)
    assert table.get_buffer("rows").shape == weight.shape
    assert torch.nn.functional.cosine_similarity(table(torch.arange(10)), weight, dim=1).min() > 0.9999
    blocks = weight[ids].view(3, 32, 32)
    assert (
        (table(ids).view(3, 32, 32) - blocks).abs() <= blocks.abs().amax(dim=2, keepdim=True) / 254 + 1e-6
    ).all()
