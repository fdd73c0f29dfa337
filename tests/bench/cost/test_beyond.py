"""What a decoder's graph multiplies beyond its model: without it, the closed formula to the last digit."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("onnx", reason="needs the export extra")
from gamer.bench.cost import costs, counting, graph
from gamer.bench.cost.beyond import HEAD, SPARE, SUMS, beyond
from gamer.bench.cost.flop_formulas import Llm
from gamer.export.networks.decoder import DecoderStep
from gamer.export.onnx import decoder_graph
from gamer.export.onnx.graph import Scheme
from gamer.runtime.bundle import manifest as mf
from tests.export.components.test_decoder import LANGUAGE, SHAPE

TINY = Llm(
    hidden=SHAPE.hidden,
    layers=SHAPE.layers,
    heads=SHAPE.heads,
    kv_heads=SHAPE.kv_heads,
    head_dim=SHAPE.head_dim,
    intermediate=SHAPE.intermediate,
    vocab=SHAPE.vocab,
)
SMOLLM2 = Llm(
    hidden=576, layers=30, heads=9, kv_heads=3, head_dim=64, intermediate=1536, vocab=49152
)  # fmt: skip


@pytest.mark.parametrize(("quant", "whys"), [("fp32", {SPARE}), ("int4", {SUMS, HEAD, SPARE})])
@pytest.mark.parametrize(("tokens", "past"), [(1, 9), (1, 0), (5, 0), (3, 7)])
def test_a_decoders_graph_without_what_is_beyond_is_its_model(
    tmp_path: Path, quant: str, whys: set[str], tokens: int, past: int
) -> None:
    decoder_graph.write(DecoderStep(SHAPE), LANGUAGE, quant, tmp_path / "d.onnx")
    read = graph.read(tmp_path / "d.onnx", graph.dims_of(tokens, past, {}), past)
    found = beyond(read)
    assert {one.why for one in found} == (whys if tokens == 1 else whys - {SPARE})
    macs = sum(work.macs for work in counting.count(read))
    assert macs - sum(one.macs for one in found) == TINY.prompt(tokens, past)


def test_blocks_of_a_size_of_their_own_are_not_the_models(tmp_path: Path) -> None:
    scheme = Scheme("int4", keep=(("down", "int4/16"),))
    decoder_graph.write(DecoderStep(SHAPE), LANGUAGE, scheme, tmp_path / "d.onnx")
    read = graph.read(tmp_path / "d.onnx", graph.dims_of(5, 0, {}), 0)
    assert any(node.output().name.endswith(".sums.16") for node in read.nodes)
    macs = sum(work.macs for work in counting.count(read))
    assert macs - sum(one.macs for one in beyond(read)) == TINY.prompt(5, 0)


@pytest.mark.slow
def test_the_bundles_decoder_without_what_is_beyond_is_its_model(bundle: Path) -> None:
    manifest = mf.read(bundle)
    decode = costs.cost(bundle, manifest, "llm_decoder", "", "", graph.dims_of(1, 167, {}), 167)
    extra = sum(one.macs for one in decode.beyond)
    assert decode.macs - extra == SMOLLM2.token(168)
    assert extra > 0.3 * SMOLLM2.token(168)
