"""Gives a written ONNX decoder a KV cache in 16 or 8 bits: half or a quarter of the memory.

fp16: attention's kernel for half floats, between casts of what a token brings. int8: codes, by a scale for
each channel of a head (quantize/cache_scales.py).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from gamer.index.records import FloatArray
from gamer.runtime.bundle.manifest import TensorSpec

from ..components.export_module import Specs

_CACHES = ("past_", "present_")


def write(
    path: Path,
    inputs: tuple[TensorSpec, ...],
    outputs: tuple[TensorSpec, ...],
    scales: FloatArray | None,
) -> Specs:
    """Rewrites the decoder at `path`, and returns its tensor specs: with caches of codes by `scales`
    [layers, 2, KV, Dh], or of half floats without."""
    import onnx

    file = path / "model.onnx" if path.is_dir() else path
    model = onnx.load(str(file), load_external_data=False)
    if scales is None:
        _halve(model.graph)
    else:
        _round(model.graph, scales)
    kind = "float16" if scales is None else "int8"
    for value in (*model.graph.input, *model.graph.output):
        if value.name.startswith(_CACHES):
            value.type.tensor_type.elem_type = onnx.TensorProto.DataType.Value(kind.upper())
    onnx.save(model, str(file))
    return _small(inputs, kind), _small(outputs, kind)


def _round(graph: Any, scales: FloatArray) -> None:
    """Makes the attention of a graph keep int8 codes, by scales [layers, 2, KV, Dh]."""
    from onnx import helper, numpy_helper

    for node in _attentions(graph):
        layer = int(node.input[3].rpartition(".")[2])
        names = [f"{kind}_scale.{layer}" for kind in "kv"]
        node.input.extend([""] * (12 - len(node.input)) + names)
        types = {f"{kind}_quant_type": "PER_CHANNEL" for kind in "kv"}
        node.attribute.extend(helper.make_attribute(*pair) for pair in types.items())
        node.attribute.append(helper.make_attribute("kv_cache_bit_width", 8))
        rows = scales[layer][:, None, :, None]  # [2, 1, KV, 1, Dh]
        graph.initializer.extend(numpy_helper.from_array(r, n) for r, n in zip(rows, names, strict=True))


def _halve(graph: Any) -> None:
    """Makes the attention of a graph one of half floats, with casts of what is no cache around it."""
    from onnx import TensorProto, helper

    nodes, cast = list(graph.node), dict[str, str]()
    attentions = {id(node) for node in _attentions(graph)}
    del graph.node[:]
    for node in nodes:
        if id(node) not in attentions:
            graph.node.append(node)
            continue
        for n in (0, 1, 2, 7, 8):  # queries, keys, values; the tables of rotation
            name = node.input[n] if n < len(node.input) else ""
            if name and name not in cast:
                cast[name] = f"{name}.half"
                graph.node.append(helper.make_node("Cast", [name], [cast[name]], to=TensorProto.FLOAT16))
            if name:
                node.input[n] = cast[name]
        whole, node.output[0] = node.output[0], f"{node.output[0]}.half"
        graph.node.append(node)
        graph.node.append(helper.make_node("Cast", [node.output[0]], [whole], to=TensorProto.FLOAT))


def _attentions(graph: Any) -> list[Any]:
    return [node for node in graph.node if node.op_type == "GroupQueryAttention"]


def _small(specs: tuple[TensorSpec, ...], kind: str) -> tuple[TensorSpec, ...]:
    return tuple(replace(spec, dtype=kind) if spec.name.startswith(_CACHES) else spec for spec in specs)
