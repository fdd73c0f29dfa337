"""Every operation that the MIL interpreter knows, compared with torch: one program of all cases is built,
saved, read back and run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
ct = pytest.importorskip("coremltools", reason="needs the export extra")
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import Function, Program, types
from torch.nn import functional as F

from gamer.export.coreml.mil.interpreter import OPS, Interpreter

RNG = np.random.default_rng(11)
STEPS = np.array([0.5, 0.125, 0.01], np.float32)
KINDS = {"float32": types.fp32, "int32": types.int32}


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def integers(low: int, high: int, *shape: int) -> Any:
    return RNG.integers(low, high, shape).astype(np.int32)


@dataclass(frozen=True)
class Case:
    """`build` from MIL variables, `want` from torch tensors, of `inputs`."""

    op: str
    build: Callable[..., Any]
    want: Callable[..., Any]
    inputs: tuple[Any, ...]
    more: str = ""


def binary(op: str, want: Callable[..., Any], *inputs: Any) -> Case:
    return Case(op, lambda x, y: getattr(mb, op)(x=x, y=y), want, inputs or (normal(2, 3, 4), normal(3, 1)))


def compare(op: str, want: Callable[..., Any]) -> Case:
    x = integers(0, 3, 4, 5)
    return Case(
        op,
        lambda x, y: mb.cast(x=getattr(mb, op)(x=x, y=y), dtype="int32"),
        lambda x, y: want(x, y).int(),
        (x, integers(0, 3, 4, 5)),
    )


def logic(op: str, want: Callable[..., Any]) -> Case:
    def build(x: Any, y: Any) -> Any:
        return mb.cast(
            x=getattr(mb, op)(x=mb.cast(x=x, dtype="bool"), y=mb.cast(x=y, dtype="bool")), dtype="int32"
        )

    return Case(op, build, lambda x, y: want(x != 0, y != 0).int(), (integers(0, 2, 9), integers(0, 2, 9)))


def unary(op: str, want: Callable[..., Any], x: Any = None, **given: Any) -> Case:
    return Case(op, lambda x: getattr(mb, op)(x=x, **given), want, (normal(3, 5) * 2 if x is None else x,))


def positive() -> Any:
    return np.abs(normal(3, 5)) + np.float32(0.1)


def reduce(op: str, want: Callable[..., Any]) -> list[Case]:
    x = normal(2, 3, 4)
    return [
        Case(
            op, lambda x: getattr(mb, op)(x=x, axes=[1], keep_dims=True), lambda x: want(x, [1], True), (x,)
        ),
        Case(
            op,
            lambda x: getattr(mb, op)(x=x, axes=[-1, 0], keep_dims=False),
            lambda x: want(x, [0, 2], False),
            (x,),
            "two axes",
        ),
        Case(
            op, lambda x: getattr(mb, op)(x=x), lambda x: want(x, [0, 1, 2], False).reshape(()), (x,), "all"
        ),
    ]


def conv(rank: int, more: str, groups: int = 1, bias: bool = True, **given: Any) -> Case:
    weight, b = normal(6, 4 // groups, *([3, 2, 3][:rank])), normal(6)
    strides, dilations = given.get("strides", [1] * rank), given.get("dilations", [1] * rank)
    pads = given.get("pad", [0] * (2 * rank))

    def want(x: Any) -> Any:
        padded = F.pad(x, [p for n in reversed(range(rank)) for p in pads[2 * n : 2 * n + 2]])
        kernel = [F.conv1d, F.conv2d, F.conv3d][rank - 1]
        return kernel(
            padded,
            torch.from_numpy(weight),
            torch.from_numpy(b) if bias else None,
            strides,
            0,
            dilations,
            groups,
        )

    extra = {"bias": b} if bias else {}
    return Case(
        "conv",
        lambda x: mb.conv(x=x, weight=weight, groups=groups, **extra, **given),
        want,
        (normal(2, 4, *([9, 8, 7][:rank])),),
        more,
    )


def same(kind: str) -> Case:
    """With even kernels and strides the odd row of padding lies behind (same) or before (same_lower)."""
    weight = normal(3, 2, 4, 4)

    def want(x: Any) -> Any:
        # 7 → 4 at stride 2 with kernel 4 needs 3 rows of padding
        less, more = (1, 2) if kind == "same" else (2, 1)
        return F.conv2d(F.pad(x, (less, more, less, more)), torch.from_numpy(weight), stride=2)

    return Case(
        "conv",
        lambda x: mb.conv(x=x, weight=weight, strides=[2, 2], pad_type=kind),
        want,
        (normal(1, 2, 7, 7),),
        kind,
    )


GAMMA, BETA = normal(5), normal(5)
CHANNELS = [np.abs(normal(4)) + np.float32(0.5) for _ in range(4)]
CHANNEL = [torch.from_numpy(c) for c in CHANNELS]
WEIGHT, BIAS = normal(7, 5), normal(7)
TRANSPOSED = normal(4, 3, 3, 2)
INDICES = np.array([[0, 2, 1], [2, 2, 0]], np.int32)


def attention(mask: Any) -> Case:
    q, k, v = normal(2, 3, 4, 8), normal(2, 3, 6, 8), normal(2, 3, 6, 5)
    extra = {} if mask is None else {"attn_mask": mask}
    given = None if mask is None else torch.from_numpy(mask)
    return Case(
        "scaled_dot_product_attention",
        lambda q, k, v: mb.scaled_dot_product_attention(query=q, key=k, value=v, **extra),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=given),
        (q, k, v),
        "none" if mask is None else str(mask.dtype),
    )


def masked(x: Any, **axes: Any) -> Any:
    return mb.slice_by_index(x=x, **axes)


CASES: list[Case] = [
    binary("add", torch.add),
    binary("add", torch.add, integers(-9, 9, 3), integers(-9, 9, 3)),
    binary("sub", torch.sub),
    binary("mul", torch.mul),
    binary("real_div", torch.div),
    binary("floor_div", lambda x, y: torch.floor(x / y)),
    binary(
        "floor_div",
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        integers(-9, 9, 8),
        integers(1, 4, 8),
    ),
    binary("mod", torch.remainder),
    binary("mod", torch.remainder, integers(-9, 9, 8), integers(1, 4, 8)),
    binary("pow", torch.pow, positive(), normal(3, 5)),
    binary("maximum", torch.maximum),
    binary("minimum", torch.minimum),
    compare("equal", torch.eq),
    compare("not_equal", torch.ne),
    compare("greater", torch.gt),
    compare("greater_equal", torch.ge),
    compare("less", torch.lt),
    compare("less_equal", torch.le),
    logic("logical_and", torch.logical_and),
    logic("logical_or", torch.logical_or),
    logic("logical_xor", torch.logical_xor),
    Case(
        "logical_not",
        lambda x: mb.cast(x=mb.logical_not(x=mb.cast(x=x, dtype="bool")), dtype="int32"),
        lambda x: (x == 0).int(),
        (integers(0, 2, 9),),
    ),
    unary("identity", lambda x: x),
    unary("abs", torch.abs),
    unary("sign", torch.sign),
    unary("square", torch.square),
    unary("ceil", torch.ceil),
    unary("floor", torch.floor),
    unary("round", torch.round, np.array([-1.5, -0.5, 0.5, 1.5, 2.5, 2.51], np.float32)),
    unary("sqrt", torch.sqrt, positive()),
    unary("rsqrt", lambda x: torch.rsqrt(x + 0.01), positive(), epsilon=0.01),
    unary("inverse", lambda x: 1 / (x + 0.01), positive(), epsilon=0.01),
    unary("log", lambda x: torch.log(x + 0.01), positive(), epsilon=0.01),
    unary("exp", torch.exp),
    unary("exp2", torch.exp2),
    unary("sin", torch.sin),
    unary("cos", torch.cos),
    unary("tanh", torch.tanh),
    unary("atan", torch.atan),
    unary("erf", torch.erf),
    unary("sigmoid", torch.sigmoid),
    unary("silu", F.silu),
    unary("relu", F.relu),
    unary("relu6", F.relu6, normal(3, 5) * 8),
    unary("softplus", F.softplus),
    unary("softsign", F.softsign),
    unary("leaky_relu", lambda x: F.leaky_relu(x, 0.2), alpha=0.2),
    unary("elu", lambda x: F.elu(x, 1.5), alpha=1.5),
    unary("threshold", lambda x: torch.clamp(x, min=0.3), alpha=0.3),
    unary("sigmoid_hard", F.hardsigmoid, normal(3, 5) * 4, alpha=1 / 6, beta=0.5),
    unary(
        "clamped_relu", lambda x: torch.where(x < 0, x * 0.1, torch.clamp(x, max=1.0)), alpha=0.1, beta=1.0
    ),
    unary("linear_activation", lambda x: 2 * x - 1, alpha=2.0, beta=-1.0),
    unary("clip", lambda x: torch.clamp(x, -0.5, 0.7), alpha=-0.5, beta=0.7),
    unary("gelu", F.gelu, mode="EXACT"),
    unary("gelu", lambda x: F.gelu(x, approximate="tanh"), mode="TANH_APPROXIMATION"),
    unary("gelu", lambda x: x * torch.sigmoid(1.702 * x), mode="SIGMOID_APPROXIMATION"),
    unary(
        "prelu", lambda x: F.prelu(x, torch.from_numpy(CHANNELS[0])), normal(2, 4, 3, 2), alpha=CHANNELS[0]
    ),
    Case(
        "cast",
        lambda x: mb.cast(x=x, dtype="int32"),
        lambda x: x.trunc().int(),
        (normal(9) * 5,),
        "truncates",
    ),
    Case("cast", lambda x: mb.cast(x=x, dtype="fp32"), lambda x: x.float(), (integers(-9, 9, 5),)),
    Case(
        "quantize",
        lambda x: mb.cast(
            x=mb.quantize(input=x, scale=np.float32(0.25), zero_point=np.uint8(7), output_dtype="uint8"),
            dtype="int32",
        ),
        lambda x: (torch.round(x / 0.25) + 7).clamp(0, 255).int(),
        (np.array([-3, -1.7, -0.375, 0, 0.125, 0.375, 9.1, 61.9, 62, 70], np.float32),),
    ),
    Case(
        "dequantize",
        lambda x: mb.dequantize(
            input=mb.quantize(input=x, scale=STEPS, output_dtype="int8", axis=-1), scale=STEPS, axis=-1
        ),
        lambda x: torch.round(x / torch.from_numpy(STEPS)).clamp(-128, 127) * torch.from_numpy(STEPS),
        (normal(2, 4, 3) * 9,),
        "by channel",
    ),
    Case(
        "select",
        lambda c, a, b: mb.select(cond=mb.cast(x=c, dtype="bool"), a=a, b=b),
        lambda c, a, b: torch.where(c != 0, a, b),
        (integers(0, 2, 3, 4), normal(3, 4), normal(3, 4)),
    ),
    Case("reshape", lambda x: mb.reshape(x=x, shape=[4, -1]), lambda x: x.reshape(4, -1), (normal(2, 3, 4),)),
    Case(
        "reshape",
        lambda x: mb.reshape(x=x, shape=[0, -1]),
        lambda x: x.reshape(3, 8),
        (normal(2, 3, 4),),
        "0 counts from the end",
    ),
    Case(
        "transpose",
        lambda x: mb.transpose(x=x, perm=[2, 0, -2]),
        lambda x: x.permute(2, 0, 1),
        (normal(2, 3, 4),),
    ),
    Case(
        "expand_dims",
        lambda x: mb.expand_dims(x=x, axes=[0, -1]),
        lambda x: x[None, ..., None],
        (normal(2, 3),),
    ),
    Case("squeeze", lambda x: mb.squeeze(x=x, axes=[0, -1]), lambda x: x[0, ..., 0], (normal(1, 2, 1, 1),)),
    Case("squeeze", lambda x: mb.squeeze(x=x), lambda x: x.squeeze(), (normal(1, 2, 1, 3),), "all"),
    Case("flatten2d", lambda x: mb.flatten2d(x=x, axis=2), lambda x: x.reshape(6, 4), (normal(2, 3, 4),)),
    Case(
        "concat",
        lambda x, y: mb.concat(values=[x, y, x], axis=-1),
        lambda x, y: torch.cat([x, y, x], -1),
        (normal(2, 3), normal(2, 5)),
    ),
    Case(
        "stack",
        lambda x, y: mb.stack(values=[x, y], axis=1),
        lambda x, y: torch.stack([x, y], 1),
        (normal(2, 3), normal(2, 3)),
    ),
    Case("split", lambda x: mb.split(x=x, num_splits=3, axis=1), lambda x: x.split(2, 1), (normal(2, 6),)),
    Case(
        "split",
        lambda x: mb.split(x=x, split_sizes=[1, 3, 2], axis=-1),
        lambda x: x.split([1, 3, 2], 1),
        (normal(2, 6),),
        "sizes",
    ),
    Case(
        "slice_by_index",
        lambda x: masked(x, begin=[1, 0], end=[3, -1], stride=[1, 2]),
        lambda x: x[1:3, 0:-1:2],
        (normal(4, 6),),
    ),
    Case(
        "slice_by_index",
        lambda x: masked(
            x,
            begin=[-2, 5, 0],
            end=[0, 0, 2],
            begin_mask=[False, False, True],
            end_mask=[True, False, False],
            stride=[1, -2, 1],
        ),
        lambda x: x[-2:][:, [5, 3, 1]][:, :, :2],
        (normal(4, 6, 3),),
        "masks and backwards",
    ),
    Case(
        "slice_by_index",
        lambda x: masked(
            x,
            begin=[-1, 0, 1],
            end=[0, 0, 0],
            squeeze_mask=[True, False, True],
            end_mask=[False, True, False],
        ),
        lambda x: x[-1, :, 1],
        (normal(4, 6, 3),),
        "squeeze",
    ),
    Case(
        "slice_by_size",
        lambda x: mb.slice_by_size(x=x, begin=[1, 2], size=[2, -1]),
        lambda x: x[1:3, 2:],
        (normal(4, 6),),
    ),
    Case(
        "slice_update",
        lambda x, u: mb.slice_update(x=x, update=u, begin=[1, 0], end=[4, 6], stride=[2, 3]),
        lambda x, u: torch.from_numpy(updated(x.numpy(), u.numpy())),
        (normal(4, 6), normal(2, 2)),
    ),
    Case("tile", lambda x: mb.tile(x=x, reps=[2, 1, 3]), lambda x: x.repeat(2, 1, 3), (normal(2, 3, 1),)),
    Case(
        "fill", lambda x: mb.add(x=x, y=mb.fill(shape=[2, 3], value=1.5)), lambda x: x + 1.5, (normal(2, 3),)
    ),
    Case(
        "fill_like",
        lambda x: mb.fill_like(ref_tensor=x, value=2.5),
        lambda x: torch.full((2, 3), 2.5),
        (normal(2, 3),),
    ),
    Case(
        "range_1d",
        lambda x: mb.add(x=x, y=mb.range_1d(start=1.0, end=4.5, step=1.0)),
        lambda x: x + torch.arange(1, 5),
        (normal(4),),
    ),
    Case(
        "pad",
        lambda x: mb.pad(x=x, pad=[1, 0, 2, 3], mode="constant", constant_val=0.5),
        lambda x: F.pad(x, (2, 3, 1, 0), value=0.5),
        (normal(2, 3, 4),),
    ),
    Case(
        "pad",
        lambda x: mb.pad(x=x, pad=[2, 1], mode="reflect"),
        lambda x: F.pad(x, (2, 1), mode="reflect"),
        (normal(2, 3, 4),),
        "reflect",
    ),
    Case(
        "pad",
        lambda x: mb.pad(x=x, pad=[2, 1], mode="replicate"),
        lambda x: F.pad(x, (2, 1), mode="replicate"),
        (normal(2, 3, 4),),
        "edge",
    ),
    Case("band_part", lambda x: mb.band_part(x=x, lower=-1, upper=0), torch.tril, (normal(2, 4, 5),)),
    Case(
        "band_part",
        lambda x: mb.band_part(x=x, lower=1, upper=2),
        lambda x: x.tril(2).triu(-1),
        (normal(4, 5),),
        "band",
    ),
    Case("reverse", lambda x: mb.reverse(x=x, axes=[1]), lambda x: x.flip(1), (normal(2, 3),)),
    Case(
        "one_hot",
        lambda x: mb.one_hot(indices=x, one_hot_vector_size=4, axis=1, on_value=2, off_value=-1),
        lambda x: F.one_hot(x.long(), 4).permute(0, 2, 1).int() * 3 - 1,
        (INDICES,),
    ),
    Case("shape", lambda x: mb.add(x=x, y=mb.shape(x=x)), lambda x: x + 3, (integers(0, 5, 3),)),
    *reduce("reduce_sum", lambda x, axes, keep: x.sum(axes, keep)),
    *reduce("reduce_mean", lambda x, axes, keep: x.mean(axes, keep)),
    *reduce("reduce_max", lambda x, axes, keep: x.amax(axes, keep)),
    *reduce("reduce_min", lambda x, axes, keep: x.amin(axes, keep)),
    *reduce(
        "reduce_prod",
        lambda x, axes, keep: torch.from_numpy(np.asarray(np.prod(x.numpy(), tuple(axes), keepdims=keep))),
    ),
    *reduce("reduce_l1_norm", lambda x, axes, keep: x.norm(1, axes, keep)),
    *reduce("reduce_l2_norm", lambda x, axes, keep: x.norm(2, axes, keep)),
    *reduce("reduce_sum_square", lambda x, axes, keep: (x**2).sum(axes, keep)),
    *reduce("reduce_log_sum_exp", lambda x, axes, keep: x.logsumexp(axes, keep)),
    Case(
        "reduce_argmax", lambda x: mb.reduce_argmax(x=x, axis=1), lambda x: x.argmax(1).int(), (normal(3, 5),)
    ),
    Case(
        "reduce_argmin",
        lambda x: mb.reduce_argmin(x=x, axis=0, keep_dims=True),
        lambda x: x.argmin(0, True).int(),
        (normal(3, 5),),
    ),
    Case(
        "topk",
        lambda x: mb.topk(x=x, k=3, axis=-1),
        lambda x: (x.topk(3).values, x.topk(3).indices.int()),
        (normal(3, 7),),
    ),
    Case(
        "topk",
        lambda x: mb.topk(x=x, k=2, axis=0, ascending=True, output_indices_dtype="int32"),
        lambda x: (x.topk(2, 0, largest=False).values, x.topk(2, 0, largest=False).indices.int()),
        (normal(5, 3),),
        "smallest",
    ),
    Case(
        "argsort",
        lambda x: mb.argsort(x=x, axis=0, ascending=True),
        lambda x: x.argsort(0).int(),
        (normal(5, 3),),
    ),
    Case("cumsum", lambda x: mb.cumsum(x=x, axis=1), lambda x: x.cumsum(1), (normal(2, 4),)),
    Case(
        "cumsum",
        lambda x: mb.cumsum(x=x, axis=1, exclusive=True, reverse=True),
        lambda x: x.flip(1).cumsum(1).flip(1) - x,
        (normal(2, 4),),
        "exclusive, backwards",
    ),
    Case(
        "gather",
        lambda x, i: mb.gather(x=x, indices=i, axis=1),
        lambda x, i: x[:, i.long()],
        (normal(4, 3, 2), INDICES),
    ),
    Case(
        "gather",
        lambda x, i: mb.gather(x=x, indices=i, axis=1, batch_dims=1),
        lambda x, i: torch.stack([r[j] for r, j in zip(x, i.long(), strict=True)]),
        (normal(2, 3, 2), INDICES),
        "batched",
    ),
    Case(
        "gather_along_axis",
        lambda x, i: mb.gather_along_axis(x=x, indices=i, axis=0),
        lambda x, i: torch.gather(x, 0, i.long()),
        (normal(3, 3), INDICES),
    ),
    Case(
        "gather_nd",
        lambda x, i: mb.gather_nd(x=x, indices=i),
        lambda x, i: x[i[:, 0].long(), i[:, 1].long()],
        (normal(3, 3, 2), INDICES[:, :2]),
    ),
    *[
        Case(
            "scatter_along_axis",
            lambda d, i, u, mode=mode: mb.scatter_along_axis(data=d, indices=i, updates=u, axis=0, mode=mode),
            lambda d, i, u, how=how: d.scatter_reduce(0, i.long(), u, how),
            (normal(3, 3), np.array([[0, 2, 1], [2, 1, 0]], np.int32), normal(2, 3)),
            mode,
        )
        for mode, how in (("add", "sum"), ("mul", "prod"), ("min", "amin"), ("max", "amax"))
    ],
    Case(
        "scatter_along_axis",
        lambda d, i, u: mb.scatter_along_axis(data=d, indices=i, updates=u, axis=0, mode="update"),
        lambda d, i, u: d.scatter(0, i.long(), u),
        (normal(3, 3), np.array([[0, 2, 1], [2, 1, 0]], np.int32), normal(2, 3)),
        "update",
    ),
    *[
        Case(
            "scatter_nd",
            lambda d, i, u, mode=mode: mb.scatter_nd(data=d, indices=i, updates=u, mode=mode),
            lambda d, i, u, add=mode == "add": d.index_put(
                (i[:, 0].long(), i[:, 1].long()), u, accumulate=add
            ),
            (normal(3, 3, 2), np.array([[0, 2], [2, 1]], np.int32), normal(2, 2)),
            mode,
        )
        for mode in ("add", "update")
    ],
    Case(
        "linear",
        lambda x: mb.linear(x=x, weight=WEIGHT, bias=BIAS),
        lambda x: F.linear(x, torch.from_numpy(WEIGHT), torch.from_numpy(BIAS)),
        (normal(2, 3, 5),),
    ),
    Case(
        "linear",
        lambda x: mb.linear(x=x, weight=WEIGHT),
        lambda x: F.linear(x, torch.from_numpy(WEIGHT)),
        (normal(3, 5),),
        "no bias",
    ),
    Case("matmul", lambda x, y: mb.matmul(x=x, y=y), torch.matmul, (normal(2, 1, 3, 4), normal(5, 4, 6))),
    Case(
        "matmul",
        lambda x, y: mb.matmul(x=x, y=y, transpose_x=True, transpose_y=True),
        lambda x, y: x.transpose(-1, -2) @ y.transpose(-1, -2),
        (normal(2, 4, 3), normal(2, 6, 4)),
        "transposed",
    ),
    Case(
        "einsum",
        lambda x, y: mb.einsum(values=[x, y], equation="nchw,nwhu->nchu"),
        lambda x, y: torch.einsum("nchw,nwhu->nchu", x, y),
        (normal(2, 3, 4, 5), normal(2, 5, 4, 6)),
    ),
    conv(1, "1d", pad_type="valid"),
    conv(2, "valid", pad_type="valid"),
    conv(2, "custom padding, strides", pad_type="custom", pad=[1, 2, 0, 1], strides=[2, 3]),
    conv(2, "dilated, no bias", bias=False, pad_type="valid", dilations=[2, 3]),
    conv(2, "groups", groups=2, pad_type="custom", pad=[1, 1, 1, 1]),
    conv(3, "3d", pad_type="valid", strides=[1, 2, 1]),
    same("same"),
    same("same_lower"),
    Case(
        "conv_transpose",
        lambda x: mb.conv_transpose(
            x=x, weight=TRANSPOSED, strides=[2, 2], pad_type="custom", pad=[1, 1, 0, 0]
        ),
        lambda x: F.conv_transpose2d(x, torch.from_numpy(TRANSPOSED), None, 2, (1, 0)),
        (normal(1, 4, 5, 6),),
    ),
    unary(
        "max_pool",
        lambda x: F.max_pool2d(x, 3, 2, 1),
        normal(1, 2, 8, 9),
        kernel_sizes=[3, 3],
        strides=[2, 2],
        pad_type="custom",
        pad=[1] * 4,
    ),
    unary(
        "upsample_nearest_neighbor",
        lambda x: F.interpolate(x, scale_factor=(2.0, 3.0)),
        normal(1, 2, 3, 4),
        scale_factor_height=2.0,
        scale_factor_width=3.0,
    ),
    unary(
        "avg_pool",
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        normal(1, 2, 8, 9),
        kernel_sizes=[3, 3],
        strides=[2, 2],
        pad_type="custom",
        pad=[1] * 4,
    ),
    unary(
        "avg_pool",
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        normal(1, 2, 8, 9),
        kernel_sizes=[3, 3],
        strides=[2, 2],
        pad_type="custom",
        pad=[1] * 4,
        exclude_padding_from_average=True,
    ),
    unary(
        "layer_norm",
        lambda x: F.layer_norm(x, (5,), torch.from_numpy(GAMMA), torch.from_numpy(BETA), 1e-3),
        axes=[-1],
        gamma=GAMMA,
        beta=BETA,
        epsilon=1e-3,
    ),
    unary("layer_norm", lambda x: F.layer_norm(x, (4, 5)), normal(2, 4, 5), axes=[1, 2], epsilon=1e-5),
    unary(
        "batch_norm",
        lambda x: F.batch_norm(x, CHANNEL[0], CHANNEL[1], CHANNEL[2], CHANNEL[3], eps=1e-3),
        normal(2, 4, 3, 3),
        mean=CHANNELS[0],
        variance=CHANNELS[1],
        gamma=CHANNELS[2],
        beta=CHANNELS[3],
        epsilon=1e-3,
    ),
    unary(
        "instance_norm",
        lambda x: F.instance_norm(
            x, None, None, torch.from_numpy(CHANNELS[2]), torch.from_numpy(CHANNELS[3]), eps=1e-3
        ),
        normal(2, 4, 3, 3),
        gamma=CHANNELS[2],
        beta=CHANNELS[3],
        epsilon=1e-3,
    ),
    unary(
        "l2_norm",
        lambda x: x / (x.square().sum((1, 2, 3), keepdim=True) + 1e-4).sqrt(),
        normal(2, 3, 4, 2),
        epsilon=1e-4,
    ),
    unary("softmax", lambda x: torch.softmax(x, 1), normal(2, 3, 4), axis=1),
    attention(None),
    attention(normal(4, 6)),
    attention(np.tril(np.ones((4, 6), bool))),
]
STATE_OPS = {"read_state", "write_state"}  # in test_mil_state.py, with more than one call


def updated(x: Any, update: Any) -> Any:
    out = x.copy()
    out[1:4:2, 0:6:3] = update
    return out


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[list[Any]]:
    """The outputs of each case: one program of all cases, built without any pass, saved, and interpreted from
    the file.
    """
    names = [[f"in_{n}_{i}" for i in range(len(c.inputs))] for n, c in enumerate(CASES)]
    arrays = {
        name: x for many, c in zip(names, CASES, strict=True) for name, x in zip(many, c.inputs, strict=True)
    }
    specs = {name: mb.placeholder(shape=x.shape, dtype=KINDS[str(x.dtype)]) for name, x in arrays.items()}
    with Function(specs, opset_version=ct.target.iOS18) as main:
        built = [c.build(*[main.inputs[name] for name in many]) for many, c in zip(names, CASES, strict=True)]
        groups = [list(m) if isinstance(m, tuple | list) else [m] for m in built]
        main.set_outputs([v for group in groups for v in group])
    program = Program()
    program.add_function("main", main)
    model = ct.convert(
        program,
        minimum_deployment_target=ct.target.iOS18,
        compute_precision=ct.precision.FLOAT32,
        pass_pipeline=ct.PassPipeline.EMPTY,
        skip_model_load=True,
    )
    package = tmp_path_factory.mktemp("mil") / "all.mlpackage"
    model.save(str(package))
    interpreter = Interpreter(package)
    out = interpreter.run({name: torch.from_numpy(x) for name, x in arrays.items()})
    outputs = iter([out[name].numpy() for name in interpreter.program.outputs])
    return [[next(outputs) for _ in group] for group in groups]


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", range(len(CASES)), ids=[f"{n}-{c.op}-{c.more}".rstrip("-") for n, c in enumerate(CASES)]
)
def test_an_operation_computes_what_torch_computes(number: int, results: list[list[Any]]) -> None:
    case = CASES[number]
    want = case.want(*[torch.from_numpy(x) for x in case.inputs])
    for got, w in zip(results[number], want if isinstance(want, tuple | list) else [want], strict=True):
        assert got.shape == tuple(w.shape)
        np.testing.assert_allclose(got, w.numpy(), rtol=2e-5, atol=2e-6)
        assert got.dtype == w.numpy().dtype


def test_every_operation_of_the_interpreter_has_a_case() -> None:
    assert {c.op for c in CASES} | STATE_OPS == set(OPS)
