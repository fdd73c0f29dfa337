"""Checkpoints whose matrices are stored in 4-bit groups: GPTQ, AWQ, and compressed-tensors' packed form.

Eight codes lie in an int32, the first in its lowest bits. A weight is scale · (code - zero); a group is some
neighbouring columns of one row, unless GPTQ took the columns in another order (`g_idx`, "desc_act"). Layouts
as AutoGPTQ, AutoAWQ ("gemm") and compressed-tensors ("pack-quantized") write them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gamer.index.records import FloatArray

from ..errors import ExportError
from .catalogue import Config
from .weights import SafetensorsWeights, fit

Codes = NDArray[np.uint8]
Read = Callable[[str], Tensor | None]
_READ = "read are gptq, awq (gemm) and compressed-tensors (pack-quantized) in 4 bits"
# The columns that AWQ's eight codes of a word belong to are 0, 2, 4, 6, 1, 3, 5, 7: this undoes it.
_AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)
_ONES = 0x11111111  # of a word of eight: GPTQModel takes it off the whole word, which may borrow
_MIDDLE = 8  # the zero point of symmetric codes


class Groups(NamedTuple):
    """A matrix [N, K] in groups of neighbouring columns.

    codes uint8 [N, groups, size] and zeros uint8 [N, groups], both in 0..15; scales float32 [N, groups].
    """

    codes: Codes
    scales: FloatArray
    zeros: Codes


class _Stored(NamedTuple):
    """A matrix as its tensors say: codes [N, K], scales and zeros [N, G]; `order` [K]: a column's group."""

    codes: Codes
    scales: FloatArray
    zeros: Codes
    order: Tensor | None


def open_packed(config: Config, files: list[Path], source: str) -> PackedWeights | None:
    """The weights of a checkpoint whose config.json has a `quantization_config`; None without one.

    Raises ExportError for a quantization that is not read.
    """
    if (given := config.get("quantization_config")) is None:
        return None
    settings: dict[str, Any] = given if isinstance(given, dict) else {}
    method = str(settings.get("quant_method"))
    if method not in _LAYOUTS or _bits(method, settings) != 4:
        raise ExportError(
            f"{source}: weights quantized by {method[:40]!r} in this form: {_READ}; export the checkpoint "
            "that they were made from"
        )
    return PackedWeights(files, source, _LAYOUTS[method], settings.get("checkpoint_format") == "gptq_v2")


def _bits(method: str, settings: dict[str, Any]) -> object:
    """The bits of a code; None for a form that is not read."""
    if method == "compressed-tensors":
        groups = settings.get("config_groups")
        schemes = list(groups.values()) if isinstance(groups, dict) else []
        weights = schemes[0].get("weights") if len(schemes) == 1 and isinstance(schemes[0], dict) else None
        packed = settings.get("format") == "pack-quantized" and isinstance(weights, dict)
        return weights.get("num_bits") if packed and weights else None
    if method == "awq" and str(settings.get("version", "gemm")).lower() != "gemm":
        return None
    return settings.get("bits", settings.get("w_bit"))


class PackedWeights(SafetensorsWeights):
    """The tensors of safetensors files, some of which are matrices in 4-bit groups.

    `layout`: reads one of these; `is_v2`: of GPTQ's second version, whose zero points are stored as they are.
    """

    def __init__(self, files: list[Path], source: str, layout: _Layout, is_v2: bool) -> None:
        super().__init__(files, source)
        self._layout, self._is_v2 = layout, is_v2

    def has(self, name: str) -> bool:
        return super().has(name) or self._is_packed(name)

    def get(self, name: str, *shape: int) -> Tensor:
        """As of all weights; a packed matrix is dequantized. Raises ExportError where its parts disagree."""
        if not self._is_packed(name):
            return super().get(name, *shape)
        codes, scales, zeros, order = self._matrix(name)
        matrix = scales[:, order] * (codes.astype(np.float32) - zeros[:, order])
        return fit(torch.from_numpy(matrix), name, shape, self.source)

    def groups(self, name: str, size: int) -> Groups | None:
        """A packed matrix as it is stored, its groups cut into some of `size` columns.

        None for one that is not packed, or whose groups are not made of such.
        """
        if not self._is_packed(name):
            return None
        codes, scales, zeros, order = self._matrix(name)
        (rows, columns), stored = codes.shape, scales.shape[1]
        if columns % (stored * size) or not np.array_equal(order, _neighbours(columns, stored)):
            return None
        cut = columns // stored // size
        return Groups(codes.reshape(rows, -1, size), np.repeat(scales, cut, 1), np.repeat(zeros, cut, 1))

    def _is_packed(self, name: str) -> bool:
        stem = name.removesuffix(".weight")
        return stem != name and any(self._stored(stem + end) for end in (".qweight", ".weight_packed"))

    def _matrix(self, name: str) -> tuple[Codes, FloatArray, Codes, NDArray[np.int64]]:
        """The codes [N, K], scales and zeros [N, G] of a matrix, and the group of each column."""
        codes, scales, zeros, given = self._layout(self._part, name.removesuffix(".weight"), self._is_v2)
        groups, columns = scales.shape[1], codes.shape[1]
        fits = scales.shape == zeros.shape and len(scales) == len(codes) and 0 < groups <= columns
        if fits and given is None and columns % groups == 0:
            return codes, scales, zeros, _neighbours(columns, groups)
        order = None if given is None else given.reshape(-1).to(torch.int64).numpy()
        if not fits or order is None or len(order) != columns or order.min() < 0 or order.max() >= groups:
            raise ExportError(
                f"{self.source}: the codes, scales and zero points of {name} do not fit each other: fetch "
                "the checkpoint again"
            )
        return codes, scales, zeros, order

    def _part(self, name: str) -> Tensor | None:
        """A tensor of any shape; None where there is none."""
        stored = self._stored(name)
        return None if stored is None else self._where[stored].get_tensor(stored)


_Layout = Callable[[Read, str, bool], _Stored]


def _gptq(read: Read, stem: str, is_v2: bool) -> _Stored:
    """qweight int32 [K/8, N]; qzeros int32 [G, N/8], less one in version 1; scales [G, N]; g_idx [K]."""
    zeros = _words(read, f"{stem}.qzeros")
    return _Stored(
        _nibbles(_words(read, f"{stem}.qweight").T),
        _scales(read, f"{stem}.scales").T,
        _nibbles(zeros if is_v2 else zeros + _ONES).T,
        read(f"{stem}.g_idx"),
    )


def _awq(read: Read, stem: str, _: bool) -> _Stored:
    """qweight int32 [K, N/8]; qzeros int32 [G, N/8]; scales [G, N]."""

    def columns(name: str) -> Codes:
        codes = _nibbles(_words(read, name))
        return codes.reshape(len(codes), -1, 8)[:, :, _AWQ_ORDER].reshape(codes.shape).T

    return _Stored(
        columns(f"{stem}.qweight"), _scales(read, f"{stem}.scales").T, columns(f"{stem}.qzeros"), None
    )


def _compressed(read: Read, stem: str, _: bool) -> _Stored:
    """weight_packed int32 [N, K/8]; weight_scale [N, G]; weight_zero_point int32 [N/8, G]."""
    scales = _scales(read, f"{stem}.weight_scale")
    zeros = np.full(scales.shape, _MIDDLE, np.uint8)
    if read(f"{stem}.weight_zero_point") is not None:
        zeros = _nibbles(_words(read, f"{stem}.weight_zero_point").T).T[: len(scales)]
    return _Stored(
        _nibbles(_words(read, f"{stem}.weight_packed")), scales, zeros, read(f"{stem}.weight_g_idx")
    )


_LAYOUTS: dict[str, _Layout] = {"gptq": _gptq, "awq": _awq, "compressed-tensors": _compressed}


def _neighbours(columns: int, groups: int) -> NDArray[np.int64]:
    """The group of each column, where a group's columns are neighbours."""
    return np.arange(columns) // (columns // groups)


def _words(read: Read, name: str) -> Tensor:
    found = read(name)
    if found is None or found.dtype != torch.int32 or found.ndim != 2:
        raise ExportError(
            f"{name}: must be a matrix of int32, eight codes in each: fetch the checkpoint again"
        )
    return found


def _scales(read: Read, name: str) -> FloatArray:
    found = read(name)
    if found is None or not found.is_floating_point() or found.ndim != 2:
        raise ExportError(f"{name}: must be a matrix of scales: fetch the checkpoint again")
    return np.asarray(found.to(torch.float32).numpy())


def _nibbles(words: Tensor) -> Codes:
    """int32 [R, n] → uint8 [R, 8 n] in 0..15, the lowest bits first."""
    halves = words.contiguous().numpy().astype("<i4", copy=False).view(np.uint8)
    return np.stack([halves & 15, halves >> 4], axis=-1).reshape(len(halves), -1)
