"""The decoder as an ONNX graph, written node by node in the fused operators of ONNX Runtime (GroupQueryAttention, MatMulNBits).

Why not traced: a traced decoder copies its cache every token and knows none of these operators, and torch's exporter takes a minute where
this takes seconds and quantizes each matrix as it is written, so that no second copy of the weights is ever held. That it is the same
model is proven, not assumed: parity compares it with the torch module token by token.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from gamer.runtime.llm import rotary
from gamer.runtime.manifest import Language, TensorSpec
from numpy.typing import NDArray
from torch import Tensor

from .modules.decoder import DecoderStep

BLOCK = 32
MS = "com.microsoft"


class _Graph:
    """Collects nodes and initializers; `linear` writes a matrix product in the chosen quantization."""

    def __init__(self, quant: str) -> None:
        self.quant, self.nodes, self.weights = quant, list[Any](), list[Any]()

    def node(self, op: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(op, inputs, outputs, name=f"/{outputs[0] or outputs[-1]}/{op}", domain=domain, **attributes))
        return outputs[0]

    def constant(self, name: str, value: NDArray[Any]) -> str:
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def linear(self, x: str, weight: Tensor, name: str) -> str:
        """x [1, S, K] times weight [N, K] transposed → [1, S, N]."""
        matrix = weight.detach().numpy()
        if self.quant == "fp32":
            return self.node("MatMul", [x, self.constant(f"{name}.weight", matrix.T)], [name])
        rows, scales = quantize_blocks(matrix, BLOCK)
        inputs = [x, self.constant(f"{name}.weight_q", rows), self.constant(f"{name}.scales", scales)]
        size = {"K": matrix.shape[1], "N": matrix.shape[0], "bits": 8, "block_size": BLOCK, "accuracy_level": 4}
        return self.node("MatMulNBits", inputs, [name], MS, **size)


def quantize_blocks(matrix: NDArray[np.float32], block: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """[N, K] → uint8 [N, K/block, block] around zero point 128 and scales [N · K/block], as MatMulNBits with bits=8 reads them."""
    rows, columns = matrix.shape
    blocks = matrix.reshape(rows, columns // block, block)
    scales = np.maximum(np.abs(blocks).max(axis=2), 1e-10) / 127.0
    codes = np.clip(np.rint(blocks / scales[..., None]), -127, 127) + 128
    return codes.astype(np.uint8), scales.astype(np.float32).reshape(-1)


def specs(step: DecoderStep, max_seq: int) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Tensor specs of the ONNX decoder: tokens are dynamic, the caches have `max_seq` slots and are updated in place."""
    s = step.shape
    cache = (1, s.kv_heads, max_seq, s.head_dim)
    inputs = [
        TensorSpec("embeds", (1, "tokens", s.hidden), "float32"),
        TensorSpec("seqlens_k", (1,), "int32"),
        TensorSpec("total_seq_len", (1,), "int32"),
        TensorSpec("last", (1,), "int64"),
    ]
    outputs = [TensorSpec("logits", (1, 1, s.vocab), "float32"), TensorSpec("hidden", (1, "tokens", s.hidden), "float32")]
    for n in range(s.layers):
        inputs += [TensorSpec(f"past_{x}.{n}", cache, "float32") for x in ("key", "value")]
        outputs += [TensorSpec(f"present_{x}.{n}", cache, "float32") for x in ("key", "value")]
    return tuple(inputs), tuple(outputs)


def write(step: DecoderStep, language: Language, quant: str, path: Path) -> None:
    """Writes the decoder to `path` (one file, weights inside)."""
    import onnx
    from onnx import TensorProto, helper

    s, g = step.shape, _Graph(quant)
    cos, sin = rotary(language, np.arange(language.max_seq))
    g.constant("cos_cache", cos)
    g.constant("sin_cache", sin)
    skip = "embeds"
    normed = g.node(
        "SimplifiedLayerNormalization",
        ["embeds", g.constant("layers.0.attention_norm", step.layers[0].attention_norm.weight.detach().numpy())],
        ["layers.0.attention_normed"],
        epsilon=s.eps,
        axis=-1,
    )
    for n, layer in enumerate(step.layers):
        with torch.no_grad():
            skip, normed = _layer(g, step, n, layer, skip, normed)
    rows = g.node("Gather", [normed, "last"], ["last_hidden"], axis=1)
    logits = g.linear(rows, step.head.weight, "head")
    g.node("Identity", [logits], ["logits"])
    types = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "int64": TensorProto.INT64}
    ins, outs = specs(step, language.max_seq)
    graph = helper.make_graph(
        g.nodes,
        "decoder",
        [helper.make_tensor_value_info(t.name, types[t.dtype], list(t.shape)) for t in ins],
        [helper.make_tensor_value_info(t.name, types[t.dtype], list(t.shape)) for t in outs],
        g.weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(MS, 1)], ir_version=10)
    onnx.save(model, str(path))


def _layer(g: _Graph, step: DecoderStep, n: int, layer: Any, skip: str, normed: str) -> tuple[str, str]:
    s, at = step.shape, f"layers.{n}"
    qkv = g.linear(normed, layer.qkv.weight, f"{at}.qkv")
    attended = g.node(
        "GroupQueryAttention",
        [qkv, "", "", f"past_key.{n}", f"past_value.{n}", "seqlens_k", "total_seq_len", "cos_cache", "sin_cache"],
        [f"{at}.attention", f"present_key.{n}", f"present_value.{n}"],
        MS,
        num_heads=s.heads,
        kv_num_heads=s.kv_heads,
        do_rotary=1,
        rotary_interleaved=0,
    )
    out = g.linear(attended, layer.out.weight, f"{at}.out")
    middle, total = _skip_norm(g, skip, out, layer.norm.weight, f"{at}.norm", s.eps)
    both = g.linear(middle, layer.gate_up.weight, f"{at}.gate_up")
    g.node("Split", [both], [f"{at}.gate", f"{at}.up"], axis=-1, num_outputs=2)
    silu = g.node("Mul", [f"{at}.gate", g.node("Sigmoid", [f"{at}.gate"], [f"{at}.sigmoid"])], [f"{at}.silu"])
    down = g.linear(g.node("Mul", [silu, f"{at}.up"], [f"{at}.gated"]), layer.down.weight, f"{at}.down")
    last = n + 1 == s.layers
    weight = step.norm.weight if last else step.layers[n + 1].attention_norm.weight
    after, total = _skip_norm(g, total, down, weight, "hidden" if last else f"layers.{n + 1}.attention_normed", s.eps)
    return total, after


def _skip_norm(g: _Graph, skip: str, x: str, weight: Any, name: str, eps: float) -> tuple[str, str]:
    """(norm(skip + x) · weight, skip + x) in one fused operator."""
    gamma = g.constant(f"{name}.gamma", weight.detach().numpy())
    g.node("SkipSimplifiedLayerNormalization", [x, skip, gamma], [name, "", "", f"{name}.sum"], MS, epsilon=float(np.float32(eps)))
    return name, f"{name}.sum"
