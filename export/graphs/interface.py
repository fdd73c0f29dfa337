"""Puts a graph of optimum's behind the inputs and outputs of a component, which ends at a unit vector.

A text tower of optimum's gives the tokens' states, which are pooled here as the encoder's files say, or a
vector (`text_embeds`, `sentence_embedding`). An image tower takes normalised channels first; the normalising
becomes part of the graph. Of a graph of both towers, only the nodes of one are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gamer.runtime.bundle.manifest import Preprocessing, TensorSpec

from ..errors import ExportError

_TEXT = ("text_embeds", "sentence_embedding")
_STATES = ("last_hidden_state", "token_embeddings")
MOST_BYTES = (1 << 31) - 1  # protobuf's limit
LEAST_OPSET = 13  # of which the axes of ReduceSum and Unsqueeze are inputs
# The features of patches in a graph that gives vectors alone: what its last layer, or last norm, is called.
_PATCHES = {
    "clip": "/vision_model/encoder/layers.{}/Add_1_output_0",
    "siglip": "/vision_model/post_layernorm/",
}


class Interface:
    """A graph that is given another interface. All raise ExportError for a graph that does not fit."""

    def __init__(self, path: Path) -> None:
        import onnx

        if sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*")) > MOST_BYTES:
            raise ExportError(f"{path}: larger than 2 GB, which one graph holds at most")
        self.where, self.model = path, onnx.load(str(path))
        self.outputs = [output.name for output in self.model.graph.output]
        self.inputs = {value.name: value for value in self.model.graph.input}
        self._before, self._after = list[Any](), list[Any]()
        opset = next((o.version for o in self.model.opset_import if o.domain in ("", "ai.onnx")), 0)
        if opset < LEAST_OPSET:
            raise ExportError(
                f"{path}: opset {opset}, {LEAST_OPSET} is the least: export it with a newer optimum"
            )

    def text(
        self,
        pooling: str,
        specs: tuple[TensorSpec, ...],
        outputs: tuple[TensorSpec, ...],
        pad: int | None = None,
    ) -> Any:
        """input_ids, attention_mask → embedding, of unit length; `pooling`: of networks/pooling.py.

        `pad`: the id that stands at padding, for an encoder that attends to it (SigLIP).
        """
        if "input_ids" not in self.inputs:
            raise ExportError(f"{self.where}: no input input_ids: must be a text encoder")
        if pad is not None:
            self._padded(pad)
        if "token_type_ids" in self.inputs:
            self._prepare("Sub", ["input_ids", "input_ids"], "token_type_ids")
        vector = next((name for name in _TEXT if name in self.outputs), "")
        states = next((name for name in _STATES if name in self.outputs), "")
        if not vector and not states:
            raise ExportError(f"{self.where}: gives {', '.join(self.outputs)}, none of them states of tokens")
        self._unit(vector or self._pooled(states, pooling))
        return self._finished(specs, outputs)

    def image(
        self,
        kind: str,
        layers: int,
        spec: Preprocessing,
        specs: tuple[TensorSpec, ...],
        outputs: tuple[TensorSpec, ...],
    ) -> Any:
        """pixels [B, side, side, 3] in 0..255 → embedding, patches; `kind`, `layers`: of the architecture."""
        if "pixel_values" not in self.inputs or "image_embeds" not in self.outputs:
            raise ExportError(
                f"{self.where}: must take pixel_values and give image_embeds, to be an image tower"
            )
        mean, std = (
            self._constant(name, np.array(values, np.float32))
            for name, values in (
                ("mean", spec.channel_mean or (spec.mean,) * 3),
                ("std", spec.channel_std or (spec.std,) * 3),
            )
        )
        self._prepare("Sub", [specs[0].name, mean], "gamer/centred")
        self._prepare("Div", ["gamer/centred", std], "gamer/normalised")
        self._prepare("Transpose", ["gamer/normalised"], "pixel_values", perm=[0, 3, 1, 2])
        self._unit("image_embeds")
        states = self._states(kind, layers)
        skipped = 1 if kind == "clip" else 0  # the class token
        begin = self._constant("begin", np.array([skipped], np.int64))
        end, axis = (self._constant(n, np.array([v], np.int64)) for n, v in (("end", 1 << 30), ("axis", 1)))
        self._add("Slice", [states, begin, end, axis], "patches")
        return self._finished(specs, outputs)

    def _states(self, kind: str, layers: int) -> str:
        if "last_hidden_state" in self.outputs:
            return "last_hidden_state"
        beginning = _PATCHES.get(kind, "").format(layers - 1)
        made = (name for node in self.model.graph.node for name in node.output if name.startswith(beginning))
        if not beginning or not (names := list(made)):
            raise ExportError(
                f"{self.where}: no features of patches, which its last_hidden_state would be: export it with "
                "that output"
            )
        return str(names[-1])

    def _padded(self, pad: int) -> None:
        for node in self.model.graph.node:
            node.input[:] = ["gamer/ids" if name == "input_ids" else name for name in node.input]
        self._prepare("Cast", ["attention_mask"], "gamer/real", to=9)
        padding = self._constant("pad", np.array(pad, np.int64))
        self._prepare("Where", ["gamer/real", "input_ids", padding], "gamer/ids")

    def _pooled(self, states: str, pooling: str) -> str:
        if pooling == "cls":
            return self._add(
                "Gather", [states, self._constant("first", np.array(0, np.int64))], "gamer/pooled", axis=1
            )
        one, last = (self._constant(n, np.array([v], np.int64)) for n, v in (("axis", 1), ("last", -1)))
        if pooling == "lasttoken":
            count = self._add("ReduceSum", ["attention_mask", one], "gamer/count", keepdims=1)
            at = self._add("Sub", [count, one], "gamer/at")
            return self._add("GatherND", [states, at], "gamer/pooled", batch_dims=1)
        mask = self._add("Cast", ["attention_mask"], "gamer/mask", to=1)
        column = self._add("Unsqueeze", [mask, last], "gamer/column")
        # The mean has the direction of the sum, and the vector is made of unit length.
        return self._add(
            "ReduceSum", [self._add("Mul", [states, column], "gamer/read"), one], "gamer/pooled", keepdims=0
        )

    def _unit(self, name: str) -> None:
        self._add("LpNormalization", [name], "embedding", axis=-1, p=2)

    def _constant(self, name: str, value: Any) -> str:
        from onnx import numpy_helper

        full = f"gamer/{name}"
        if all(tensor.name != full for tensor in self.model.graph.initializer):
            self.model.graph.initializer.append(numpy_helper.from_array(value, full))
        return full

    def _prepare(self, op: str, inputs: list[str], output: str, **attributes: Any) -> None:
        self._before.append(_node(op, inputs, output, **attributes))

    def _add(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._after.append(_node(op, inputs, output, **attributes))
        return output

    def _finished(self, specs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...]) -> Any:
        from onnx import TensorProto, helper

        graph, kinds = self.model.graph, {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}
        nodes = [*self._before, *graph.node, *self._after]
        wanted = {spec.name for spec in outputs}
        live = _live(nodes, wanted)
        made = {name for node in live for name in node.output}
        if missing := sorted(wanted & set(self.inputs) - made - {spec.name for spec in specs}):
            raise ExportError(f"{self.where}: takes {missing[0]}, which no component gives")
        del graph.node[:], graph.input[:], graph.output[:], graph.value_info[:]
        graph.node.extend(live)
        for values, tensors in ((graph.input, specs), (graph.output, outputs)):
            values.extend(
                helper.make_tensor_value_info(t.name, kinds[t.dtype], list(t.shape)) for t in tensors
            )
        kept = [tensor for tensor in graph.initializer if tensor.name in wanted]
        del graph.initializer[:]
        graph.initializer.extend(kept)
        return self.model


def _node(op: str, inputs: list[str], output: str, **attributes: Any) -> Any:
    from onnx import helper

    return helper.make_node(op, inputs, [output], name=f"gamer/{output}/{op}", **attributes)


def _live(nodes: list[Any], wanted: set[str]) -> list[Any]:
    """The nodes that the values `wanted` depend on; `wanted` grows by all that these take."""
    live: list[Any] = []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            live.append(node)
            wanted.update(_taken(node))
    return live[::-1]


def _taken(node: Any) -> Iterator[str]:
    """What a node takes, with what the graphs inside it (If, Loop) take from around them."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for inner in (attribute.g, *attribute.graphs):
            for one in inner.node:
                yield from _taken(one)
