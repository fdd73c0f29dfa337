"""The quantization of each tensor of a component: by --keep, else by a rule here, else the component's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import ExportError
from .block_codes import Blocks4

# The first product of a tower is not quantized: its input is raw pixel contrast, and it has 1/400 of the
# weights.
FIRST = "patch"
# The last product of a tower is at least int8: its rounding error goes directly into the embedding. In 4 bits
# it caused a third of the total error.
LAST = "project."


def override_for(keep: tuple[tuple[str, str], ...], name: str) -> str | None:
    """The quantization of the first pair of `keep` whose part occurs in the tensor's `name`, or None."""
    return next((quant for part, quant in keep if part in name), None)


def split(quant: str, group: int) -> tuple[str, int]:
    """ "int4/64" → ("int4", 64); a quantization that names no size of its blocks has `group`."""
    name, slash, size = quant.partition("/")
    return name, int(size) if slash else group


def group_for(keep: tuple[tuple[str, str], ...], name: str, group: int) -> int:
    """The weights that share a scale in the tensor called `name`: those of its pair of `keep`, or `group`."""
    return split(override_for(keep, name) or "", group)[1]


@dataclass(frozen=True)
class QuantizationPolicy:
    """Chooses the quantization of tensors on one target.

    `has`: the quantizations that the target supports. `quant`: the component's. `keep`: (part of a tensor's
    name, quantization) pairs that override it, such as "int8" or "int4/64". `group`: weights that share a
    scale in 4 bits where the pair says no other number. `given`: codes of matrices that have some already, by
    their names.
    """

    target: str
    has: tuple[str, ...]
    quant: str
    keep: tuple[tuple[str, str], ...] = ()
    group: int = 32
    given: Mapping[str, Blocks4] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for quant in (self.quant, *(split(q, self.group)[0] for _, q in self.keep)):
            if quant not in self.has:
                raise ExportError(
                    f"{self.target} has no quantization {quant!r}; choose one of: {', '.join(self.has)}"
                )

    def of(self, name: str) -> str:
        """The quantization of the matrix or table called `name`, its path in the module."""
        if override := override_for(self.keep, name):
            return split(override, self.group)[0]
        if FIRST in name:
            return self.quant if self.quant == "fp16" else "fp32"
        return "int8" if name.startswith(LAST) and self.quant in ("int4", "pal4") else self.quant

    def group_of(self, name: str) -> int:
        """The number of weights that share a scale in the blocks of the matrix called `name`."""
        return group_for(self.keep, name, self.group)

    def size_of(self, name: str) -> int:
        """The size of blocks that a pair of `keep` says for the matrix called `name`; 0 if none does."""
        return group_for(self.keep, name, 0)
