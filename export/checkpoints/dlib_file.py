"""Reads dlib's serialised files (.dat): a network's layers with tensors, and a shape predictor's forest.

A file has no names of tensors and no topology: layers follow one another from the input outwards, and what
leads from which to which is the architecture's to know (networks/faces.py). No code of a file is run, and no
count in it is believed before the bytes that it announces are known to be there.

Integers are packed: a byte with the number of bytes (and 0x80 if negative), then these, little-endian.
A float is two packed integers, mantissa and exponent of 2; the floats of a tensor are plain float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray
from gamer.runtime.models.landmarks import Forest

from ..errors import ExportError

MAX_BYTES = 128 << 20  # of a file; the greatest that exists, with 68 landmarks, has 100 MB
MAX_LAYERS = 1_000
MAX_NAME = 64
# Exponents from here on stand for infinities and NaN.
_SPECIAL = 32_000
_VERSIONS = (b"\x01\x01", b"\x01\x02", b"\x01\x03")
Result = TypeVar("Result")
Unsigned = TypeVar("Unsigned", np.uint8, np.uint16)


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer. `kind`: con, affine, relu, max_pool, avg_pool, fc, add_prev.

    `params`: float32, all of its parameters in one row; empty if it has none. `sizes`: of a con its filters,
    rows, columns, strides (y, x) and paddings (y, x); of a pool the same without filters; of an fc its
    outputs and inputs.
    """

    kind: str
    params: FloatArray = field(default_factory=lambda: np.zeros(0, np.float32))
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Network:
    """A network's file. `means`: of red, green and blue, which its input layer subtracts.

    `windows`: (width, height) of the windows that a detector slides over the picture, in pixels; `overlaps`:
    the intersection over union, and the share of a box, above which it is the same detection as another.
    """

    means: tuple[float, float, float]
    layers: tuple[Layer, ...]
    windows: tuple[tuple[int, int], ...] = ()
    overlaps: tuple[float, float] = (0.0, 0.0)


def read_network(path: Path) -> Network:
    """The network of a file. Raises ExportError for a file that is damaged or of another kind."""
    return _read(path, _network)


def read_forest(path: Path) -> Forest:
    """The shape predictor of a file. Raises ExportError for a file that is damaged or of another kind."""
    return _read(path, _forest)


def _read(path: Path, read: Callable[[_Bytes], Result]) -> Result:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"more than {MAX_BYTES >> 20} MB")
        source = _Bytes(path.read_bytes())
        result = read(source)
        if source.at != len(source.data):
            raise ValueError(f"{len(source.data) - source.at} bytes follow the end")
    except (OSError, ValueError, OverflowError) as error:
        told = " ".join(str(error).split())[:160]
        raise ExportError(
            f"{path.name}: no such file of dlib's ({told}): install its package again"
        ) from None
    return result


class _Bytes:
    """The bytes of a file, read from the beginning on. Raises ValueError for what cannot be."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        if not 0 <= count <= len(self.data) - self.at:
            raise ValueError(f"it ends at byte {len(self.data)}, in the middle of a value")
        self.at += count
        return self.data[self.at - count : self.at]

    def integer(self) -> int:
        head = self.take(1)[0]
        size = head & 0x7F
        if not 1 <= size <= 8:
            raise ValueError(f"no integer at byte {self.at - 1}")
        value = int.from_bytes(self.take(size), "little")
        return -value if head & 0x80 else value

    def count(self, most: int) -> int:
        """A number of things that follow, of a byte or more each."""
        value = self.integer()
        if not 0 <= value <= min(most, len(self.data) - self.at):
            raise ValueError(f"a count of {value} at byte {self.at}")
        return value

    def real(self) -> float:
        mantissa, exponent = self.integer(), self.integer()
        if abs(exponent) >= _SPECIAL or abs(mantissa) >= 1 << 62:
            raise ValueError(f"no finite number at byte {self.at}")
        return float(np.ldexp(float(mantissa), exponent))

    def flag(self) -> None:
        if self.take(1) not in (b"0", b"1"):
            raise ValueError(f"neither yes nor no at byte {self.at - 1}")

    def name(self) -> str:
        return self.take(self.count(MAX_NAME)).decode("ascii", "replace")

    def version(self, known: tuple[int, ...]) -> int:
        value = self.integer()
        if value not in known:
            raise ValueError(f"version {value} at byte {self.at}, known are {known}")
        return value

    def tensor(self) -> FloatArray:
        """float32 [n], of a tensor of any shape."""
        self.version((2,))
        size = 1
        for _ in range(4):
            size *= self.count(len(self.data))
        return self._finite(np.frombuffer(self.take(4 * size), "<f4").astype(np.float32))

    def aliases(self) -> None:
        """Skips the shapes of two parts of a tensor: they follow from the layer's sizes."""
        for _ in range(2):
            self.version((1,))
            for _ in range(4):
                self.integer()

    def matrix(self) -> FloatArray:
        """float32 [n], of a column."""
        rows, columns = -self.integer(), -self.integer()
        if columns != 1 or not 0 < rows <= len(self.data) - self.at:
            raise ValueError(f"a matrix of {rows} × {columns} at byte {self.at}")
        return self._finite(np.array([self.real() for _ in range(rows)], np.float32))

    def _finite(self, values: FloatArray) -> FloatArray:
        if not np.isfinite(values).all():
            raise ValueError(f"a value that is not finite before byte {self.at}")
        return values


def _network(source: _Bytes) -> Network:
    source.version((1,))
    windows, overlaps = _loss(source)
    # Outermost first: 2 for a layer (3 for the innermost of newer files), 1 for a tag or a skip, of which
    # nothing else is stored.
    versions = [source.version((1, 2, 3))]
    while source.data[source.at : source.at + 2] in _VERSIONS:
        versions.append(source.integer())
        if len(versions) > MAX_LAYERS:
            raise ValueError(f"more than {MAX_LAYERS} layers")
    means = _input(source)
    layers = [_layer(source, n == 0, v) for n, v in enumerate(reversed(versions)) if n == 0 or v == 2]
    return Network(means, tuple(layers), windows, overlaps)


def _loss(source: _Bytes) -> tuple[tuple[tuple[int, int], ...], tuple[float, float]]:
    name = source.name()
    if name == "loss_metric_2":
        source.real(), source.real()  # margin and distance, of training only
        return (), (0.0, 0.0)
    if name != "loss_mmod_":
        raise ValueError(f"a network that ends in {name!r}")
    version = source.version((1, 2, 3))
    windows = [_window(source, version) for _ in range(1 if version == 1 else source.count(16))]
    for _ in range(3):
        source.real()  # of training
    overlaps = [(source.real(), source.real()) for _ in range(2)]
    if version == 3:
        source.integer()
    return tuple(windows), overlaps[0]


def _window(source: _Bytes, version: int) -> tuple[int, int]:
    if version > 1:
        source.version((1, 2))
    return source.integer(), source.integer()


def _input(source: _Bytes) -> tuple[float, float, float]:
    name = source.name()
    if not name.startswith("input_rgb_image_"):
        raise ValueError(f"a network that begins with {name!r}")
    means = source.real(), source.real(), source.real()
    for _ in range({"input_rgb_image_sized": 2, "input_rgb_image_pyramid2": 2}.get(name, 0)):
        source.integer()
    return means


def _layer(source: _Bytes, innermost: bool, version: int) -> Layer:
    layer = _details(source)
    for _ in range(3):
        source.flag()
    for _ in range(3):
        source.tensor()  # gradients and outputs of the training
    if innermost and version == 3:
        source.integer()
    return layer


def _details(source: _Bytes) -> Layer:
    name = source.name()
    kind, _, version = name.rpartition("_")
    match kind, version:
        case "con", "4":
            params = source.tensor()
            sizes = tuple(source.integer() for _ in range(7))
            _skip_rates(source)
        case "fc", "2":
            sizes = (source.integer(), source.integer())
            params = source.tensor()
            source.aliases()
            source.integer()
            _skip_rates(source, aliases=False)
        case "affine", "":
            params, sizes = source.tensor(), ()
            source.aliases()
            source.integer()
        case "bn", "con2":
            kind, params, sizes = "affine", _normalisation(source), ()
        case (("max_pool" | "avg_pool"), "2"):
            params, sizes = np.zeros(0, np.float32), tuple(source.integer() for _ in range(6))
        case (("relu" | "add_prev"), ""):
            params, sizes = np.zeros(0, np.float32), ()
        case _:
            raise ValueError(f"a layer {name!r}, which this program does not know")
    return Layer(kind, params, sizes)


def _normalisation(source: _Bytes) -> FloatArray:
    """float32 [2 n]: scales and offsets that do what a batch norm does once its training is over."""
    params = source.tensor()
    source.aliases()
    _, _, means, variances = (source.tensor() for _ in range(4))
    source.integer(), source.integer()
    for _ in range(4):
        source.real()
    epsilon = source.real()
    if not len(params) == 2 * len(means) == 2 * len(variances) or (variances + epsilon <= 0).any():
        raise ValueError(f"a batch norm whose parts do not fit together before byte {source.at}")
    scales, offsets = np.split(params, 2)
    scales = scales / np.sqrt(variances + np.float32(epsilon))
    return np.concatenate((scales, offsets - scales * means)).astype(np.float32)


def _skip_rates(source: _Bytes, aliases: bool = True) -> None:
    """Skips the shapes of weights and biases, and the rates of learning."""
    if aliases:
        source.aliases()
    for _ in range(4):
        source.real()


def _forest(source: _Bytes) -> Forest:
    source.version((1,))
    shape = source.matrix()
    if len(shape) % 2 or len(shape) > 512:
        raise ValueError(f"{len(shape)} coordinates")
    trees = [[_tree(source) for _ in range(source.count(10_000))] for _ in range(source.count(100))]
    anchors = [[source.integer() for _ in range(source.count(10_000))] for _ in range(source.count(100))]
    deltas = [
        [(source.real(), source.real()) for _ in range(source.count(10_000))]
        for _ in range(source.count(100))
    ]
    # numpy refuses what is not rectangular with a ValueError.
    splits = np.array([[nodes for nodes, _, _ in cascade] for cascade in trees], np.int64)
    thresholds = np.array([[limits for _, limits, _ in cascade] for cascade in trees], np.float32)
    leaves = np.array([[ends for _, _, ends in cascade] for cascade in trees], np.float32)
    return Forest(
        shape.reshape(-1, 2),
        _unsigned(np.array(anchors, np.int64), np.uint8),
        np.array(deltas, np.float32),
        _unsigned(splits, np.uint16),
        thresholds,
        leaves.reshape(*leaves.shape[:3], -1, 2),
    )


def _tree(source: _Bytes) -> tuple[list[tuple[int, int]], list[float], list[FloatArray]]:
    nodes = [(source.integer(), source.integer(), source.real()) for _ in range(source.count(1 << 12))]
    leaves = [source.matrix() for _ in range(source.count(1 << 12))]
    return [(first, second) for first, second, _ in nodes], [t for _, _, t in nodes], leaves


def _unsigned(values: NDArray[np.int64], kind: type[Unsigned]) -> NDArray[Unsigned]:
    if values.size and not 0 <= values.min() <= values.max() <= np.iinfo(kind).max:
        raise ValueError("an index that leads nowhere")
    return values.astype(kind)
