"""Operations of networks: products, convolutions, pooling, normalisation, softmax, attention, state.

Each operation computes in fp32 and is rounded once, at its end. Hardware may round inside an operation too,
which is not modelled.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from .arguments import Arguments, Function, axis_of, floats, same_kind

MOST_PAD = 1 << 12
CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
AVERAGES = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
MAXIMA = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}


def _linear(a: Arguments) -> Tensor:
    x, weight = floats(a.wide("x")), a.wide("weight")
    a.expect([*x.shape[:-1], weight.shape[0]])
    return F.linear(x, weight, a.wide_or_none("bias"))


def _matmul(a: Arguments) -> Tensor:
    x, y = a.wide("x"), a.wide("y")
    same_kind(x, y)
    x = x.transpose(-1, -2) if a.flag("transpose_x", False) else x
    y = y.transpose(-1, -2) if a.flag("transpose_y", False) else y
    if x.dim() > 1 and y.dim() > 1:
        a.expect([*torch.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1]])
    return torch.matmul(x, y)


def _einsum(a: Arguments) -> Tensor:
    return torch.einsum(a.text("equation"), *[floats(v) for v in a.wides("values")])


def _paddings(
    a: Arguments, kernel: list[int], strides: list[int], dilations: list[int], sizes: list[int]
) -> list[tuple[int, int]]:
    """The (before, after) paddings of each spatial axis, in elements."""
    kind, n = a.text("pad_type", "valid"), len(sizes)
    if kind == "valid":
        return [(0, 0)] * n
    if kind == "custom":
        pad = a.ints("pad", [0] * (2 * n))
        if len(pad) != 2 * n or any(not 0 <= p <= MOST_PAD for p in pad):
            raise ValueError(f"padding {pad[:8]} of {n} axes")
        return list(zip(pad[::2], pad[1::2], strict=True))
    if kind not in ("same", "same_lower"):
        raise ValueError(f"pad_type {kind!r} is not known")
    out = []
    for k, s, d, size in zip(kernel, strides, dilations, sizes, strict=True):
        total = max(0, (math.ceil(size / s) - 1) * s + (k - 1) * d + 1 - size)
        less, more = total // 2, total - total // 2
        out.append((less, more) if kind == "same" else (more, less))
    return out


def _padded(x: Tensor, pads: list[tuple[int, int]], value: float) -> Tensor:
    if all(p == (0, 0) for p in pads):
        return x
    return F.pad(x, [p for pair in reversed(pads) for p in pair], value=value)


def _strides_dilations(a: Arguments, rank: int) -> tuple[list[int], list[int]]:
    strides, dilations = a.ints("strides", [1] * rank), a.ints("dilations", [1] * rank)
    if len(strides) != rank or len(dilations) != rank or min(*strides, *dilations, 1) < 1:
        raise ValueError(f"strides {strides[:8]} and dilations {dilations[:8]} of {rank} axes")
    return strides, dilations


def _conv(a: Arguments) -> Tensor:
    x, weight = floats(a.wide("x")), a.wide("weight")
    rank = x.dim() - 2
    strides, dilations = _strides_dilations(a, rank)
    pads = _paddings(a, list(weight.shape[2:]), strides, dilations, list(x.shape[2:]))
    spans = zip(x.shape[2:], pads, weight.shape[2:], dilations, strides, strict=True)
    a.expect(
        [
            x.shape[0],
            weight.shape[0],
            *((n + p + q - (k - 1) * d - 1) // s + 1 for n, (p, q), k, d, s in spans),
        ]
    )
    return CONVOLUTIONS[rank](
        _padded(x, pads, 0.0), weight, a.wide_or_none("bias"), strides, 0, dilations, a.int_("groups", 1)
    )


def _conv_transpose(a: Arguments) -> Tensor:
    """The full transposed convolution, then cut by the paddings, or to `output_shape` if that is given."""
    x, weight = floats(a.wide("x")), a.wide("weight")
    rank = x.dim() - 2
    strides, dilations = _strides_dilations(a, rank)
    kind = a.text("pad_type", "valid")
    if kind not in ("valid", "custom"):
        raise ValueError(f"pad_type {kind!r} is not known")
    pads = _paddings(a, list(weight.shape[2:]), strides, dilations, list(x.shape[2:]))
    sizes = [
        (n - 1) * s + (k - 1) * d + 1
        for n, s, k, d in zip(x.shape[2:], strides, weight.shape[2:], dilations, strict=True)
    ]
    declared = list(a.outputs[0].type.shape)
    if len(declared) != x.dim() or any(w > n for w, n in zip(declared[2:], sizes, strict=True)):
        raise ValueError(f"gives at most {sizes}, but declares {declared[2:]}")
    full = TRANSPOSED[rank](x, weight, a.wide_or_none("bias"), strides, 0, 0, a.int_("groups", 1), dilations)
    for axis, (before, after) in enumerate(pads, start=2):
        # PyTorch's output_padding is converted to a smaller padding at the end, or to output_shape.
        size = a.ints("output_shape")[axis] if a.has("output_shape") else full.shape[axis] - before - after
        full = full.narrow(axis, before, size)
    return full


def _pool(a: Arguments, kind: str) -> Tensor:
    x, kernel = floats(a.wide("x")), a.ints("kernel_sizes")
    strides, ones = a.ints("strides", [1] * len(kernel)), [1] * len(kernel)
    if a.flag("ceil_mode", False) or len(kernel) != x.dim() - 2 or min(*strides, *kernel) < 1:
        raise ValueError("ceil_mode or kernel is not known")
    pads = _paddings(a, kernel, strides, ones, list(x.shape[2:]))
    if kind == "max":
        return MAXIMA[len(kernel)](_padded(x, pads, -math.inf), kernel, strides)
    average = AVERAGES[len(kernel)]
    total = average(_padded(x, pads, 0.0), kernel, strides)
    if not a.flag("exclude_padding_from_average", False):
        return total
    return total / average(_padded(torch.ones_like(x), pads, 0.0), kernel, strides)


def _upsample_nearest(a: Arguments) -> Tensor:
    """Each pixel repeated; other factors than whole ones are not known. Raises ValueError."""
    x = floats(a.wide("x"))
    high, wide = (a.number(f"scale_factor_{side}", 1.0) for side in ("height", "width"))
    if x.dim() != 4 or high != int(high) or wide != int(wide) or min(high, wide) < 1:
        raise ValueError(f"factors {high} and {wide} are not known")
    a.expect([*x.shape[:2], x.shape[2] * int(high), x.shape[3] * int(wide)])
    return x.repeat_interleave(int(high), 2).repeat_interleave(int(wide), 3)


def _layer_norm(a: Arguments) -> Tensor:
    x = floats(a.wide("x"))
    axes = sorted({axis_of(axis, x.dim()) for axis in a.ints("axes", range(x.dim()))})
    shape = [n if i in axes else 1 for i, n in enumerate(x.shape)]
    centred = x - x.mean(axes, keepdim=True)
    out = centred * torch.rsqrt((centred * centred).mean(axes, keepdim=True) + a.number("epsilon", 1e-5))
    gamma, beta = a.wide_or_none("gamma"), a.wide_or_none("beta")
    out = out if gamma is None else out * gamma.reshape(shape)
    return out if beta is None else out + beta.reshape(shape)


def _batch_norm(a: Arguments) -> Tensor:
    x = floats(a.wide("x"))
    return F.batch_norm(
        x,
        a.wide("mean"),
        a.wide("variance"),
        a.wide_or_none("gamma"),
        a.wide_or_none("beta"),
        eps=a.number("epsilon", 1e-5),
    )


def _instance_norm(a: Arguments) -> Tensor:
    return F.instance_norm(
        floats(a.wide("x")),
        None,
        None,
        a.wide_or_none("gamma"),
        a.wide_or_none("beta"),
        eps=a.number("epsilon", 1e-5),
    )


def _l2_norm(a: Arguments) -> Tensor:
    """Divides by the L2 norm over the last three axes; axes before them are batch axes."""
    x = floats(a.wide("x"))
    axes = list(range(max(x.dim() - 3, 0), x.dim()))
    return x * torch.rsqrt((x * x).sum(axes, keepdim=True) + a.number("epsilon", 1e-6))


def _softmax(a: Arguments) -> Tensor:
    return torch.softmax(floats(a.wide("x")), a.int_("axis", -1))


def _attention(a: Arguments) -> Tensor:
    """softmax(Q Kᵀ / √E + mask) V; a boolean mask is true where attention is allowed."""
    q, k, v = a.wide("query"), a.wide("key"), a.wide("value")
    a.expect([*q.shape[:-1], v.shape[-1]])
    mask = a.wide_or_none("attn_mask")
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    return torch.softmax(floats(scores), -1) @ v


def _read_state(a: Arguments) -> Tensor:
    return a.values.states()[a.state_name("input")].clone()


def _write_state(a: Arguments) -> tuple[Tensor, ...]:
    name, data = a.state_name("input"), a.tensor("data")
    state = a.values.states()[name]
    if data.shape != state.shape or data.dtype != state.dtype:
        raise ValueError(f"{list(data.shape)} {data.dtype} does not fit the state {name}")
    state.copy_(data)
    return ()


OPS: dict[str, tuple[Function, str]] = {
    "linear": (_linear, "x weight bias"),
    "matmul": (_matmul, "x y transpose_x transpose_y"),
    "einsum": (_einsum, "values equation"),
    "conv": (_conv, "x weight bias strides pad_type pad dilations groups"),
    "conv_transpose": (_conv_transpose, "x weight bias strides pad_type pad dilations groups output_shape"),
    "max_pool": (lambda a: _pool(a, "max"), "x kernel_sizes strides pad_type pad ceil_mode"),
    "avg_pool": (
        lambda a: _pool(a, "avg"),
        "x kernel_sizes strides pad_type pad ceil_mode exclude_padding_from_average",
    ),
    "upsample_nearest_neighbor": (_upsample_nearest, "x scale_factor_height scale_factor_width"),
    "layer_norm": (_layer_norm, "x axes gamma beta epsilon"),
    "batch_norm": (_batch_norm, "x mean variance gamma beta epsilon"),
    "instance_norm": (_instance_norm, "x gamma beta epsilon"),
    "l2_norm": (_l2_norm, "x epsilon"),
    "softmax": (_softmax, "x axis"),
    "scaled_dot_product_attention": (_attention, "query key value attn_mask"),
    "read_state": (_read_state, "input"),
    "write_state": (_write_state, "input data"),
}
