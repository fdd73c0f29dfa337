"""A small ONNX graph as a torch module, so that every target can lower a network that is published as ONNX.

Only the operators of OPERATORS are known, with the attributes that convolutional networks use; anything else
is refused by its name. Weights become parameters. No code of a file is run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import ExportError

Values = dict[str, Any]  # attributes by name, as Python values
MAX_BYTES = 1 << 28


class OnnxNetwork(nn.Module):
    """`forward(x)`: the one output of a graph for its one input.

    Values that the graph computes from shapes are Python numbers; all others are tensors.
    """

    def __init__(self, path: Path) -> None:
        """Raises ExportError for a file that is no such graph."""
        super().__init__()
        model = _read(path)
        graph = model.graph
        self.input, self.output = graph.input[0].name, graph.output[0].name
        self.convolutions, self.weights = nn.ModuleList(), nn.ParameterDict()
        self._steps: list[tuple[Callable[..., Any], Values, list[str], str]] = []
        self._numbers: dict[str, list[Any]] = {}
        self._parameters_of: dict[str, str] = {}
        plain: dict[str, str] = {}  # other names of a value → its first
        for node in graph.node:
            if node.op_type == "Identity":
                plain[node.output[0]] = plain.get(node.input[0], node.input[0])
        self.output = plain.get(self.output, self.output)
        tensors = dict(_initializers(graph))
        for node in graph.node:
            inputs = [plain.get(name, name) for name in node.input]
            if node.op_type not in (*OPERATORS, "Conv") or len(node.output) != 1:
                raise ExportError(f"{path.name}: cannot lower the ONNX operator {node.op_type}")
            if node.op_type != "Identity":
                self._add(node, inputs, tensors)
        self.eval()

    def _add(self, node: Any, inputs: list[str], tensors: dict[str, Tensor]) -> None:
        values = _attributes(node)
        if node.op_type == "Conv":
            self.convolutions.append(_convolution(*(tensors[name] for name in inputs[1:]), **values))
            self._steps.append((self.convolutions[-1], {}, inputs[:1], node.output[0]))
            return
        for name in inputs:
            if name in tensors and (node.op_type == "Resize" or not tensors[name].is_floating_point()):
                self._numbers[name] = tensors[name].flatten().tolist()
            elif name in tensors:
                own = self._parameters_of.setdefault(name, f"w{len(self._parameters_of)}")
                self.weights[own] = nn.Parameter(tensors[name], requires_grad=False)
        self._steps.append((OPERATORS[node.op_type], values, inputs, node.output[0]))

    def reverse_channels(self) -> None:
        """Makes the first convolution read its input's channels in reverse order, as blue, green and red."""
        weight = self.convolutions[0].weight
        weight.data = weight.data.flip(1).contiguous()

    def forward(self, x: Tensor) -> Tensor:
        known: dict[str, Any] = {self.input: x, "": None, **self._numbers}
        known |= {name: self.weights[own] for name, own in self._parameters_of.items()}
        for operator, values, inputs, output in self._steps:
            known[output] = operator(*(known[name] for name in inputs), **values)
        return torch.as_tensor(known[self.output])


def metadata(path: Path) -> dict[str, str]:
    """A graph's own notes by name. Raises ExportError for a file that is no graph."""
    return {entry.key: entry.value for entry in _read(path).metadata_props}


def _read(path: Path) -> Any:
    import onnx

    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"more than {MAX_BYTES >> 20} MB")
        return onnx.load(str(path), load_external_data=False)
    except Exception as error:  # onnx and protobuf raise classes of their own
        raise ExportError(f"{path}: no ONNX graph: {str(error)[:100]}") from None


def _initializers(graph: Any) -> list[tuple[str, Tensor]]:
    from onnx import numpy_helper

    constants = [
        (node.output[0], attribute.t)
        for node in graph.node
        if node.op_type == "Constant"
        for attribute in node.attribute
    ]
    given = [(tensor.name, tensor) for tensor in graph.initializer]
    return [
        (name, torch.from_numpy(numpy_helper.to_array(tensor).copy())) for name, tensor in given + constants
    ]


def _attributes(node: Any) -> Values:
    from onnx import helper

    found = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    return {k: v.decode() if isinstance(v, bytes) else v for k, v in found.items()}


def _convolution(
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    group: int = 1,
    auto_pad: str = "",
    **_: Any,
) -> nn.Module:
    """The convolution, behind its padding where that is not the same on opposite sides."""
    if auto_pad == "SAME_UPPER":
        pads = _same(weight.shape[2:], strides)
    top, left, bottom, right = pads
    even = (top, left) == (bottom, right)
    layer = nn.Conv2d(
        weight.shape[1] * group,
        weight.shape[0],
        tuple(weight.shape[2:]),
        tuple(strides),
        (top, left) if even else 0,
        tuple(dilations),
        group,
        bias is not None,
    )
    layer.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        layer.bias = nn.Parameter(bias, requires_grad=False)
    return layer if even else nn.Sequential(nn.ZeroPad2d((left, right, top, bottom)), layer)


def _same(window: Sequence[int], strides: Sequence[int]) -> tuple[int, int, int, int]:
    """The padding that keeps the size, the odd pixel behind. Raises ExportError for other strides than 1."""
    if tuple(strides) != (1, 1):
        raise ExportError("cannot lower the ONNX padding SAME_UPPER with strides")
    high, wide = (side - 1 for side in window)
    return high // 2, wide // 2, high - high // 2, wide - wide // 2


def _conv_transpose(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, strides: Sequence[int], **_: Any
) -> Tensor:
    return F.conv_transpose2d(x, weight, bias, tuple(strides))


def _max_pool(
    x: Tensor, *, kernel_shape: Sequence[int], strides: Sequence[int], auto_pad: str = "", **_: Any
) -> Tensor:
    if auto_pad == "SAME_UPPER":  # what is pooled went through a relu: no zero is greater
        top, left, bottom, right = _same(kernel_shape, strides)
        x = F.pad(x, (left, right, top, bottom))
    return F.max_pool2d(x, tuple(kernel_shape), tuple(strides))


def _average_pool(x: Tensor, *, kernel_shape: Sequence[int], strides: Sequence[int], **_: Any) -> Tensor:
    return F.avg_pool2d(x, tuple(kernel_shape), tuple(strides))


def _resize(x: Tensor, _region: Any, scales: Any, *_more: Any, **_: Any) -> Tensor:
    factors = tuple(int(v) for v in scales[2:])
    return F.interpolate(x, scale_factor=tuple(map(float, factors)), mode="nearest")


def _normal(
    x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor, *, epsilon: float, **_: Any
) -> Tensor:
    return F.batch_norm(x, mean, variance, scale, offset, eps=epsilon)


def _mean(x: Tensor, *, axes: Sequence[int], keepdims: int = 1) -> Tensor:
    return x.mean(tuple(axes), keepdim=bool(keepdims))


def _slice(x: Any, starts: list[int], ends: list[int], axes: list[int], steps: Any = None) -> Any:
    if not isinstance(x, Tensor):
        return x[starts[0] : ends[0]]
    return x.narrow(axes[0], starts[0], ends[0] - starts[0])


def _squeeze(x: Any, *, axes: Sequence[int]) -> Any:
    return x.squeeze(axes[0]) if isinstance(x, Tensor) else x


def _concat(*parts: Any, axis: int) -> Any:
    if isinstance(parts[0], Tensor):
        return torch.cat(parts, axis)
    return [number for part in parts for number in part]


def _reshape(x: Any, sizes: list[Any]) -> Any:
    if not isinstance(x, Tensor):
        return x
    return x.reshape(
        [x.shape[n] if isinstance(size, int) and size == 0 else size for n, size in enumerate(sizes)]
    )


OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
    "Pow": lambda a, b: a**b,
    "Sqrt": torch.sqrt,
    "Erf": torch.erf,
    "Relu": F.relu,
    "Sigmoid": torch.sigmoid,
    "HardSigmoid": lambda x, alpha=0.2, beta=0.5: (x * alpha + beta).clamp(0.0, 1.0),
    "MatMul": torch.matmul,
    "Softmax": lambda x, axis: x.softmax(axis),
    "Transpose": lambda x, perm: x.permute(*perm),
    "ConvTranspose": _conv_transpose,
    "BatchNormalization": _normal,
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "GlobalAveragePool": lambda x: x.mean((2, 3), keepdim=True),
    "ReduceMean": _mean,
    "Resize": _resize,
    "Concat": _concat,
    "Identity": lambda x: x,
    "Constant": lambda **_: None,
    "Shape": lambda x: list(x.shape),
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Unsqueeze": lambda x, axes: x,
    "Reshape": _reshape,
}
