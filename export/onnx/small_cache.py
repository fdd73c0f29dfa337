"""Gives a written ONNX decoder a KV cache in 8 bits: a quarter of the memory, and of the bytes a token reads.

Each channel of a head has a scale: the greatest size of its values while the decoder itself reads a text.
Rotation mixes two channels of a key by an angle that grows with the position, so both get the greatest length
of the pair, which no position changes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gamer.index.records import FloatArray
from gamer.runtime.backends import open_session
from gamer.runtime.bundle.manifest import Artifact, Language, Parity, TensorSpec
from gamer.runtime.models.language.decoder import open_decoder

from ..components import components
from ..components.export_module import Specs
from ..quantize import calibrated
from ..settings import Settings

_LEAST = 1e-6  # of a channel that is always zero


def write(
    settings: Settings, path: Path, inputs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...]
) -> Specs:
    """Rewrites the decoder at `path` and returns its tensor specs, in which the caches are int8."""
    language = components.language(settings)
    assert language is not None
    draft = Artifact("llm_decoder", "onnx", "", "", 0, "", inputs, outputs, Parity("", "", 0.0), 0.0)
    decoder: Any = open_decoder(open_session("onnx", path, draft, threads=1), language)
    peaks = np.full((language.layers, 2, language.kv_heads, language.head_dim), _LEAST, np.float32)
    for piece in calibrated.pieces(settings, min(calibrated.LENGTH, language.max_seq)):
        decoder.reset()
        decoder.forward(piece[0].numpy())
        peaks = np.maximum(peaks, _peaks(decoder.keep(), language))
    del decoder
    _rewrite(path / "model.onnx" if path.is_dir() else path, peaks / np.float32(127))
    return _small(inputs), _small(outputs)


def _peaks(cache: FloatArray, language: Language) -> FloatArray:
    """The greatest sizes [layers, 2, KV, Dh] over the positions of a cache [layers, 2, KV, T, Dh]."""
    sizes = np.abs(cache)
    if language.rope_theta:
        halves = sizes[:, 0].reshape(*sizes[:, 0].shape[:-1], 2, -1)
        sizes[:, 0] = np.tile(np.hypot(halves[..., 0, :], halves[..., 1, :]), 2)
    return np.asarray(sizes.max(axis=3), np.float32)


def _rewrite(file: Path, scales: FloatArray) -> None:
    """Makes the caches of the graph in `file` int8, by scales [layers, 2, KV, Dh]."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load(str(file), load_external_data=False)
    graph = model.graph
    for node in graph.node:
        if node.op_type != "GroupQueryAttention":
            continue
        layer = int(node.input[3].rpartition(".")[2])
        names = [f"{kind}_scale.{layer}" for kind in "kv"]
        node.input.extend([""] * (12 - len(node.input)) + names)
        types = {f"{kind}_quant_type": "PER_CHANNEL" for kind in "kv"}
        node.attribute.extend(helper.make_attribute(*pair) for pair in types.items())
        node.attribute.append(helper.make_attribute("kv_cache_bit_width", 8))
        rows = scales[layer][:, None, :, None]  # [2, 1, KV, 1, Dh]
        graph.initializer.extend(numpy_helper.from_array(r, n) for r, n in zip(rows, names, strict=True))
    for value in (*graph.input, *graph.output):
        if value.name.startswith(("past_", "present_")):
            value.type.tensor_type.elem_type = TensorProto.INT8
    onnx.save(model, str(file))


def _small(specs: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
    return tuple(
        replace(spec, dtype="int8") if spec.name.startswith(("past_", "present_")) else spec for spec in specs
    )
