"""The decoder as an ONNX graph, written node by node in the fused operators of ONNX Runtime (GroupQueryAttention, MatMulNBits).

Why not traced: a traced decoder copies its cache every token and knows none of these operators, and torch's exporter takes a minute where
this takes seconds and quantizes each matrix as it is written, so that no second copy of the weights is ever held. That it is the same
model is proven, not assumed: parity compares it with the torch module token by token.

int4: the layers' matrices are written in 4-bit blocks with a whole zero point (block_codes.py), the head in 8 bits. What a whole zero point
misses, a constant per block, is multiplied with the block sums of the activations, which stand as further columns beside them: the
operator's fast path knows no fractional zero points (its path for them is a hundred times slower), and without the correction the GGUF's
own Q4_1 weights would be quantized twice (measured: top-1 agreement 0.72 instead of 0.96, perplexity +13 % instead of +0.4 %).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from gamer.runtime.decoder import rotary
from gamer.runtime.manifest import Language, TensorSpec
from numpy.typing import NDArray
from torch import Tensor

from .block_codes import BLOCK, affine_blocks, nearest_blocks, pack_nibbles, quantize_blocks
from .modules.decoder import DecoderStep

MS = "com.microsoft"
Floats = NDArray[np.float32]


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
        if self.quant == "int4" and name != "head":
            return self._linear4(x, matrix, name)
        rows, scales = quantize_blocks(matrix)
        return self._product(x, name, 8, rows, scales, None)

    def _linear4(self, x: str, matrix: Floats, name: str) -> str:
        main = affine_blocks(matrix)
        rest = np.zeros((len(matrix), _sums(matrix.shape[1])), np.float32)
        rest[:, : main.rest.shape[1]] = main.rest
        side = nearest_blocks(rest)
        codes = np.concatenate([main.codes, side.codes], axis=1)
        scales = np.concatenate([main.scales, side.scales], axis=1)
        zeros = np.concatenate([main.zeros, side.zeros], axis=1)
        return self._product(self._with_sums(x, matrix.shape[1]), name, 4, pack_nibbles(codes), scales, pack_nibbles(zeros))

    def _with_sums(self, x: str, width: int) -> str:
        """x [1, S, K] and, beside it, its sums over each block (zeros up to a whole block): [1, S, K + sums]."""
        ones = f"sums.{width}"
        if all(w.name != ones for w in self.weights):
            columns = np.arange(width)[:, None] // BLOCK == np.arange(_sums(width))
            self.constant(ones, columns.astype(np.float32))
        return self.node("Concat", [x, self.node("MatMul", [x, ones], [f"{x}.sums"])], [f"{x}.both"], axis=-1)

    def _product(self, x: str, name: str, bits: int, codes: NDArray[np.uint8], scales: Floats, zeros: NDArray[np.uint8] | None) -> str:
        """MatMulNBits. codes [N, blocks, bytes], scales [N, blocks], zeros [N, bytes] packed as the codes are."""
        inputs = [x, self.constant(f"{name}.weight_q", codes), self.constant(f"{name}.scales", scales.reshape(-1))]
        if zeros is not None:
            inputs.append(self.constant(f"{name}.zeros", zeros.reshape(-1)))
        size = {"K": codes.shape[1] * BLOCK, "N": len(codes), "bits": bits, "block_size": BLOCK, "accuracy_level": 4}
        return self.node("MatMulNBits", inputs, [name], MS, **size)


def _sums(width: int) -> int:
    """Columns that the block sums of a row take: whole blocks."""
    return -(-(width // BLOCK) // BLOCK) * BLOCK


def specs(step: DecoderStep, max_seq: int) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Tensor specs of the ONNX decoder: tokens are dynamic, the caches have `max_seq` slots and are updated in place.

    `last`: the positions whose logits are wanted, in generation the last one only: the head is the largest matrix.
    """
    s = step.shape
    cache = (1, s.kv_heads, max_seq, s.head_dim)
    inputs = [
        TensorSpec("embeds", (1, "tokens", s.hidden), "float32"),
        TensorSpec("seqlens_k", (1,), "int32"),
        TensorSpec("total_seq_len", (1,), "int32"),
        TensorSpec("last", ("wanted",), "int64"),
    ]
    outputs = [TensorSpec("logits", (1, "wanted", s.vocab), "float32"), TensorSpec("hidden", (1, "tokens", s.hidden), "float32")]
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
    silu = g.node("QuickGelu", [f"{at}.gate"], [f"{at}.silu"], MS, alpha=1.0)  # x · sigmoid(x) in one operator
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
