"""Operations that work element by element: arithmetic, comparison, logic, rounding, activations, casts."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from .arguments import Arguments, Function, axis_of, floats, same_kind
from .dtypes import cast_dtype

Binary = Callable[[Tensor, Tensor], Tensor]
Unary = Callable[[Tensor], Tensor]


def _binary(compute: Binary) -> Function:
    def run(a: Arguments) -> Tensor:
        x, y = a.wide("x"), a.wide("y")
        same_kind(x, y)
        if x.shape != y.shape:
            a.expect(torch.broadcast_shapes(x.shape, y.shape))
        return compute(x, y)

    return run


def _float_binary(compute: Binary) -> Function:
    return _binary(lambda x, y: compute(floats(x), floats(y)))


def _logical(compute: Binary) -> Function:
    def both(x: Tensor, y: Tensor) -> Tensor:
        if x.dtype != torch.bool:
            raise ValueError(f"the operands must be booleans, not {x.dtype}")
        return compute(x, y)

    return _binary(both)


def _unary(compute: Unary) -> Function:
    return lambda a: compute(floats(a.wide("x")))


def _unary_any(compute: Unary) -> Function:
    """An operation that takes any element type."""
    return lambda a: compute(a.wide("x"))


def _floor_div(x: Tensor, y: Tensor) -> Tensor:
    return torch.div(x, y, rounding_mode="floor")


def _clip(a: Arguments) -> Tensor:
    return a.wide("x").clamp(a.number("alpha"), a.number("beta"))


def _gelu(a: Arguments) -> Tensor:
    x, mode = floats(a.wide("x")), a.text("mode", "EXACT")
    match mode:
        case "EXACT":
            return F.gelu(x)
        case "TANH_APPROXIMATION":
            return F.gelu(x, approximate="tanh")
        case "SIGMOID_APPROXIMATION":
            return x * torch.sigmoid(1.702 * x)
    raise ValueError(f"mode {mode!r} is not known")


def _prelu(a: Arguments) -> Tensor:
    """`alpha` [C] applies to axis 1 of x [N, C, ...]."""
    return F.prelu(floats(a.wide("x")), a.wide("alpha"))


def _cast(a: Arguments) -> Tensor:
    x, to = a.wide("x"), cast_dtype(a.text("dtype"))
    if to.name == "BOOL":
        return x != 0
    if to.floating or not x.is_floating_point():
        return x.to(torch.float32) if to.floating else x.to(to.held)
    info = torch.iinfo(to.held)
    # Rounds towards zero. float64, because it represents the limits of int32 exactly.
    return x.double().trunc().clamp(info.min, info.max).to(to.held)


def _along(a: Arguments, name: str) -> Tensor:
    """A scale or zero point: a number, or one for each index of the axis."""
    value, rank = a.wide(name).float(), a.tensor("input").dim()
    if not value.dim():
        return value
    axis = axis_of(a.int_("axis"), rank)
    return value.reshape([-1 if n == axis else 1 for n in range(rank)])


def _quantize(a: Arguments) -> Tensor:
    """clip(round(input / scale) + zero point) in uint8 or int8."""
    kind = cast_dtype(a.text("output_dtype"))
    codes = (floats(a.wide("input")) / _along(a, "scale")).round()
    codes = codes + _along(a, "zero_point") if a.has("zero_point") else codes
    low = -(1 << kind.bits - 1) if kind.signed else 0
    return codes.clamp(low, low + (1 << kind.bits) - 1).to(kind.held)


def _dequantize(a: Arguments) -> Tensor:
    codes = a.tensor("input").float()
    codes = codes - _along(a, "zero_point") if a.has("zero_point") else codes
    return codes * _along(a, "scale")


def _select(a: Arguments) -> Tensor:
    x, y, cond = a.wide("a"), a.wide("b"), a.tensor("cond")
    same_kind(x, y)
    if cond.dtype != torch.bool:
        raise ValueError(f"cond must be booleans, not {cond.dtype}")
    a.expect(torch.broadcast_shapes(x.shape, y.shape, cond.shape))
    return torch.where(cond, x, y)


# name → (function, its parameters, separated by spaces)
OPS: dict[str, tuple[Function, str]] = {
    "add": (_binary(torch.add), "x y"),
    "sub": (_binary(torch.sub), "x y"),
    "mul": (_binary(torch.mul), "x y"),
    "real_div": (_float_binary(torch.div), "x y"),
    "floor_div": (_binary(_floor_div), "x y"),
    "mod": (_binary(torch.remainder), "x y"),
    "pow": (_float_binary(torch.pow), "x y"),
    "maximum": (_binary(torch.maximum), "x y"),
    "minimum": (_binary(torch.minimum), "x y"),
    "equal": (_binary(torch.eq), "x y"),
    "not_equal": (_binary(torch.ne), "x y"),
    "greater": (_binary(torch.gt), "x y"),
    "greater_equal": (_binary(torch.ge), "x y"),
    "less": (_binary(torch.lt), "x y"),
    "less_equal": (_binary(torch.le), "x y"),
    "logical_and": (_logical(torch.logical_and), "x y"),
    "logical_or": (_logical(torch.logical_or), "x y"),
    "logical_xor": (_logical(torch.logical_xor), "x y"),
    "logical_not": (lambda a: torch.logical_not(a.tensor("x")), "x"),
    "identity": (_unary_any(lambda x: x), "x"),
    "abs": (_unary_any(torch.abs), "x"),
    "sign": (_unary_any(torch.sign), "x"),
    "square": (_unary_any(torch.square), "x"),
    "ceil": (_unary(torch.ceil), "x"),
    "floor": (_unary(torch.floor), "x"),
    "round": (_unary(torch.round), "x"),
    "sqrt": (_unary(torch.sqrt), "x"),
    "rsqrt": (lambda a: torch.rsqrt(floats(a.wide("x")) + a.number("epsilon", 1e-12)), "x epsilon"),
    "inverse": (lambda a: torch.reciprocal(floats(a.wide("x")) + a.number("epsilon", 1e-4)), "x epsilon"),
    "log": (lambda a: torch.log(floats(a.wide("x")) + a.number("epsilon", 1e-45)), "x epsilon"),
    "exp": (_unary(torch.exp), "x"),
    "exp2": (_unary(torch.exp2), "x"),
    "sin": (_unary(torch.sin), "x"),
    "cos": (_unary(torch.cos), "x"),
    "tanh": (_unary(torch.tanh), "x"),
    "atan": (_unary(torch.atan), "x"),
    "erf": (_unary(torch.erf), "x"),
    "sigmoid": (_unary(torch.sigmoid), "x"),
    "silu": (_unary(F.silu), "x"),
    "relu": (_unary(torch.relu), "x"),
    "relu6": (_unary(F.relu6), "x"),
    "softplus": (_unary(F.softplus), "x"),
    "softsign": (_unary(F.softsign), "x"),
    "leaky_relu": (lambda a: F.leaky_relu(floats(a.wide("x")), a.number("alpha")), "x alpha"),
    "elu": (lambda a: F.elu(floats(a.wide("x")), a.number("alpha")), "x alpha"),
    "threshold": (lambda a: floats(a.wide("x")).clamp(min=a.number("alpha")), "x alpha"),
    "sigmoid_hard": (
        lambda a: (floats(a.wide("x")) * a.number("alpha") + a.number("beta")).clamp(0, 1),
        "x alpha beta",
    ),
    "clamped_relu": (
        lambda a: F.leaky_relu(floats(a.wide("x")), a.number("alpha")).clamp(max=a.number("beta")),
        "x alpha beta",
    ),
    "linear_activation": (
        lambda a: floats(a.wide("x")) * a.number("alpha") + a.number("beta"),
        "x alpha beta",
    ),
    "clip": (_clip, "x alpha beta"),
    "gelu": (_gelu, "x mode"),
    "prelu": (_prelu, "x alpha"),
    "cast": (_cast, "x dtype"),
    "quantize": (_quantize, "input scale zero_point axis output_dtype"),
    "dequantize": (_dequantize, "input scale zero_point axis"),
    "select": (_select, "cond a b"),
}
