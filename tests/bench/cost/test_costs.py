"""The work counted in exported graphs, compared with plain loops, torch's counter, closed formulas and the
shapes that ONNX Runtime computes.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

onnx = pytest.importorskip("onnx", reason="needs the bench extra")
from onnx import TensorProto, helper, numpy_helper

from gamer.bench.cost import costs, counting, flop_formulas, graph
from gamer.bench.cost.nodes import MS, GraphError
from tests.console import gamer

F = TensorProto.FLOAT


def save(
    path: Path, nodes: list[Any], inputs: dict[str, list[int | str]], weights: dict[str, Any], kind: int = F
) -> Path:
    """A model whose outputs are the last node's."""
    outputs = [helper.make_tensor_value_info(name, F, None) for name in nodes[-1].output if name]
    ins = [helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs.items()]
    values = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    model = helper.make_model(
        helper.make_graph(nodes, "g", ins, outputs, values),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)],
    )
    path.write_bytes(model.SerializeToString())
    return path


def works(path: Path, dims: dict[str, int] | None = None, past: int = 0) -> tuple[counting.Work, ...]:
    return counting.count(graph.read(path, dims or {}, past))


def macs(path: Path, dims: dict[str, int] | None = None, past: int = 0) -> int:
    return sum(w.macs for w in works(path, dims, past))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 5), max_size=2), st.integers(1, 6), st.integers(1, 6), st.integers(1, 6))
def test_a_matrix_product_has_the_multiply_adds_of_plain_loops(
    tmp_path_factory: pytest.TempPathFactory, lead: list[int], m: int, k: int, n: int
) -> None:
    path = save(
        tmp_path_factory.mktemp("g") / "m.onnx",
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        {"x": [*lead, m, k]},
        {"w": np.ones((k, n), np.float32)},
    )
    loops = sum(1 for _ in np.ndindex(*lead, m, n, k))
    (work,) = works(path)
    assert (work.macs, work.parameters) == (loops, k * n)
    assert work.weight_bytes == 4 * k * n
    assert work.activation_bytes == 4 * int(np.prod([*lead, m, k])) + 4 * int(np.prod([*lead, m, n]))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(3, 8))
def test_a_convolution_has_the_multiply_adds_of_plain_loops(
    tmp_path_factory: pytest.TempPathFactory, groups: int, inner: int, outer: int, stride: int, size: int
) -> None:
    weight = np.ones((groups * outer, inner, 3, 3), np.float32)
    node = helper.make_node(
        "Conv", ["x", "w"], ["y"], group=groups, strides=[stride, stride], pads=[1, 1, 1, 1]
    )
    path = save(
        tmp_path_factory.mktemp("g") / "c.onnx", [node], {"x": [1, groups * inner, size, size]}, {"w": weight}
    )
    side = len(range(0, size, stride))
    assert macs(path) == sum(1 for _ in np.ndindex(groups * outer, side, side, inner, 3, 3))


def attention(path: Path, heads: int, kv: int, width: int, hidden: int, slots: int) -> Path:
    """Four-bit q, k, v projection, grouped-query attention, projection back: half a decoder block."""
    blocks = hidden // 32
    total = (heads + 2 * kv) * width
    names = ["q", "", "", "past_k", "past_v", "seqlens", "total", "cos", "sin"]
    nodes = [
        helper.make_node(
            "MatMulNBits", ["x", "w", "s"], ["q"], domain=MS, K=hidden, N=total, bits=4, block_size=32
        ),
        helper.make_node(
            "GroupQueryAttention",
            names,
            ["a", "k", "v"],
            domain=MS,
            num_heads=heads,
            kv_num_heads=kv,
            do_rotary=1,
        ),
        helper.make_node("MatMul", ["a", "o"], ["y"]),
    ]
    cache: list[int | str] = [1, kv, slots, width]
    weights = {
        "w": np.zeros((total, blocks, 16), np.uint8),
        "s": np.ones(total * blocks, np.float32),
        "o": np.ones((heads * width, hidden), np.float32),
    }
    weights |= {name: np.zeros((slots, width // 2), np.float32) for name in ("cos", "sin")}
    weights |= {"seqlens": np.zeros(1, np.int32), "total": np.zeros(1, np.int32)}
    return save(path, nodes, {"x": [1, "tokens", hidden], "past_k": cache, "past_v": cache}, weights)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 9), st.integers(0, 20), st.integers(1, 3), st.integers(1, 2))
def test_grouped_attention_has_the_multiply_adds_of_the_formula(
    tmp_path_factory: pytest.TempPathFactory, tokens: int, past: int, kv: int, share: int
) -> None:
    heads, width, hidden = kv * share, 16, 64
    path = attention(tmp_path_factory.mktemp("g") / "a.onnx", heads, kv, width, hidden, 64)
    llm = flop_formulas.Llm(hidden, 1, heads, kv, width, 0, 0)
    assert macs(path, {"tokens": tokens}, past) == llm.prompt(tokens, past)
    assert llm.prompt(tokens, past) == sum(llm.token(past + n + 1) for n in range(tokens))


def test_only_the_filled_part_of_a_cache_counts_as_memory_traffic(tmp_path: Path) -> None:
    path = attention(tmp_path / "a.onnx", 4, 2, 16, 64, 64)
    near, far = (works(path, {"tokens": 1}, past)[1].activation_bytes for past in (3, 13))
    assert far - near == 10 * 2 * 2 * 16 * 4  # positions × key and value × heads × width × float
    four_bits = works(path, {"tokens": 1}, 3)[0]
    assert four_bits.weight_bytes == 128 * 2 * (16 + 4)
    assert four_bits.parameters == 128 * 64


def test_an_unknown_operator_is_named_in_the_error(tmp_path: Path) -> None:
    path = save(tmp_path / "u.onnx", [helper.make_node("Det", ["x"], ["y"])], {"x": [2, 2]}, {})
    with pytest.raises(GraphError, match="Det"):
        works(path)
    path = save(
        tmp_path / "v.onnx", [helper.make_node("Mystery", ["x"], ["y"], domain=MS)], {"x": [2, 2]}, {}
    )
    with pytest.raises(GraphError, match="Mystery"):
        works(path)


def test_a_graph_that_cannot_be_counted_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = save(tmp_path / "d.onnx", [helper.make_node("Relu", ["x"], ["y"])], {"x": ["frames", 2]}, {})
    with pytest.raises(GraphError, match="--dim frames=N"):
        works(path)
    assert works(path, {"frames": 3})[0].arithmetic == 6
    (tmp_path / "no.onnx").write_bytes(b"\x00garbage")
    with pytest.raises(GraphError, match="not an ONNX model"):
        works(tmp_path / "no.onnx")
    path = save(tmp_path / "n.onnx", [helper.make_node("NonZero", ["x"], ["y"])], {"x": [2, 2]}, {})
    with pytest.raises(GraphError, match="depends on data"):
        works(path)


@given(st.binary(max_size=300))
@settings(max_examples=60, deadline=None)
def test_a_damaged_model_file_is_refused_or_counted(
    tmp_path_factory: pytest.TempPathFactory, tail: bytes
) -> None:
    """A damaged file raises GraphError and nothing else."""
    folder = tmp_path_factory.mktemp("g")
    good = save(
        folder / "m.onnx",
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        {"x": [2, 3]},
        {"w": np.ones((3, 2), np.float32)},
    ).read_bytes()
    path = folder / "d.onnx"
    path.write_bytes(good[: len(good) - len(tail) % len(good)] + tail)
    with contextlib.suppress(GraphError):
        assert all(w.macs >= 0 for w in works(path))


def test_a_dequantized_weight_counts_the_bytes_that_it_is_stored_in(tmp_path: Path) -> None:
    """A tensor that only a QuantizeLinear reads is written in 8 bits."""
    nodes = [
        helper.make_node("DequantizeLinear", ["w8", "s", "z"], ["w"]),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("QuantizeLinear", ["y", "s", "zu"], ["yq"]),
    ]
    weights: dict[str, Any] = {
        "w8": np.ones((8, 4), np.int8),
        "s": np.float32(0.1),
        "z": np.int8(0),
        "zu": np.uint8(0),
    }
    folded, product, quantize = works(save(tmp_path / "q.onnx", nodes, {"x": [2, 8]}, weights))
    assert (folded.kind, folded.macs + folded.arithmetic + folded.activation_bytes) == ("constant", 0)
    assert product.weight_bytes == 32 + 5
    assert product.activation_bytes == 2 * 8 * 4 + 2 * 4
    assert quantize.activation_bytes == 0
    assert quantize.arithmetic == 3 * 8


def test_the_formulas_give_the_known_sizes_of_clip_l_and_qwen() -> None:
    """CLIP-ViT-L/14 takes 81 G multiply-adds at 224 pixels. Qwen2-1.5B holds 1.54 G matrix weights, head
    included, and each takes one multiply-add for a token.
    """
    assert flop_formulas.CLIP_L_IMAGE.macs() / 1e9 == pytest.approx(81.0, abs=0.1)
    assert flop_formulas.QWEN2_1B5.token(0) / 1e9 == pytest.approx(1.54, abs=0.01)
    candidates = flop_formulas.candidates()
    assert [c.off for c in candidates] == sorted(c.off for c in candidates)
    assert all(
        min(abs(c.giga_macs - 32.1), abs(c.giga_flops - 32.1)) / 32.1 == pytest.approx(c.off, abs=2e-3)
        for c in candidates
    )


torch: Any = None


@pytest.fixture(scope="module")
def networks() -> Any:
    """torch, its counter and small networks of the architectures that are exported."""
    global torch
    torch = pytest.importorskip("torch", reason="needs the export extra")
    from gamer.export.networks.dpe import Expert

    class Vit(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.patch = torch.nn.Conv2d(3, 32, 8, 8, bias=False)
            self.token = torch.nn.Parameter(torch.zeros(1, 1, 32))
            self.blocks = Expert(32, 32, 4, 2, 32).blocks
            self.project = torch.nn.Linear(32, 16, bias=False)

        def forward(self, x: Any) -> Any:
            y = torch.cat([self.token, self.patch(x).flatten(2).transpose(1, 2)], 1)
            for block in self.blocks:
                y = block(y)
            return self.project(y[:, 0])

    torch.manual_seed(0)
    return {
        "vit": (Vit().eval(), torch.zeros(1, 3, 32, 32)),
        "expert": (Expert(48, 32, 4, 3, 64).eval(), torch.zeros(1, 17, 48)),
    }


def torch_macs(module: Any, x: Any) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        module(x)
    return int(counter.get_total_flops()) // 2


@pytest.mark.parametrize("name", ["vit", "expert"])
@pytest.mark.parametrize("how", ["fp32", "fp16", "int8", "dynamo"])
def test_a_graph_has_the_multiply_adds_of_torchs_counter_and_of_the_formula(
    networks: Any, tmp_path: Path, name: str, how: str
) -> None:
    module, x = networks[name]
    expected = torch_macs(module, x)
    body = flop_formulas.Encoder(32, 2, 128)
    closed = (
        flop_formulas.Vit(body, 32, 8, 16).macs()
        if name == "vit"
        else flop_formulas.Expert(48, flop_formulas.Encoder(32, 3, 128), 64).macs(17)
    )
    assert closed == expected
    path = tmp_path / "m.onnx"
    if how == "fp16":
        module, x = module.to(torch.float16), x.to(torch.float16)
    export(module, x, path, how == "dynamo")
    if how == "fp16":
        module.to(torch.float32)
    if how == "int8":
        from onnxruntime.quantization import quantize_dynamic

        quantize_dynamic(path, tmp_path / "q.onnx", op_types_to_quantize=["MatMul"])
        path = tmp_path / "q.onnx"
        assert "MatMulInteger" in {n.op_type for n in onnx.load(path).graph.node}
    assert macs(path) == expected
    if how in ("fp32", "dynamo"):
        assert {v.name: v.shape for n in graph.read(path, {}).nodes for v in n.outputs if v} == real_shapes(
            path, {"x": x.numpy()}
        )


def export(module: Any, x: Any, path: Path, dynamo: bool) -> None:
    import warnings

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if dynamo:  # weights lie beside the file, as they do in large models
            torch.onnx.export(
                module, (x,), str(path), dynamo=True, input_names=["x"], external_data=True, verbose=False
            )
        else:
            torch.onnx.export(module, (x,), str(path), dynamo=False, opset_version=17, input_names=["x"])


def real_shapes(path: Path, feeds: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shapes that ONNX Runtime computes, with every tensor of the graph as an output."""
    import onnxruntime as ort

    model = onnx.load(path)
    names = [name for node in model.graph.node for name in node.output if name]
    del model.graph.output[:]
    model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return {
        name: np.asarray(array).shape for name, array in zip(names, session.run(names, feeds), strict=True)
    }


@pytest.mark.slow
def test_the_bundles_graphs_have_the_multiply_adds_that_torch_counted(bundle: Path) -> None:
    """Every component except the language model, to the last multiply-add.

    The decoder's int4 graph has more: products with block sums, and columns for them.
    """
    from gamer.runtime.bundle import manifest as mf

    manifest = mf.read(bundle)
    for component in manifest.components:
        if component.role.startswith("llm"):
            continue
        dims = graph.dims_of(128, 0, {})
        assert costs.cost(bundle, manifest, component.role, "", "", dims).macs == component.macs, (
            component.role
        )


@pytest.mark.slow
def test_bench_flops_writes_components_operators_and_the_routing_sweep(bundle: Path, tmp_path: Path) -> None:
    words = ("bench", "flops", "-b", bundle, "--output", tmp_path / "f.json", "--operators")
    done = gamer(*words)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "f.json").read_text())
    assert "{" not in done.stdout
    assert {c["name"] for c in result["components"]} >= {
        "image_tower",
        "text_tower",
        "llm_prefill",
        "llm_decode",
    }
    decode = next(c for c in result["components"] if c["name"] == "llm_decode")
    assert sum(w["macs"] for w in decode["operators"]) == decode["macs"] > 0.9 * decode["parameters"]
    sweep = [(r["experts"], r["macs"]) for r in result["routing"]]
    assert sweep == sorted(sweep)
    assert sweep[0][0] >= 1
    assert sweep[-1][0] == 3
    assert "Table 1: 32.1 G" in done.stdout
    refused = gamer(*words, "--dim", "x")
    assert refused.returncode == 2
    assert "NAME=N" in refused.stderr
