"""The quantization of each tensor of a component: by --keep, else by a rule here, else the component's."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ExportError

# The first product of a tower is not quantized: its input is raw pixel contrast, and it has 1/400 of the
# weights.
FIRST = "patch"
# The last product of a tower is at least int8: its rounding error goes directly into the embedding. In 4 bits
# it caused a third of the total error.
LAST = "project."


def override_for(keep: tuple[tuple[str, str], ...], name: str) -> str | None:
    """The quantization of the first pair of `keep` whose part occurs in the tensor's `name`, or None."""
    return next((quant for part, quant in keep if part in name), None)


@dataclass(frozen=True)
class QuantizationPolicy:
    """Chooses the quantization of tensors on one target.

    `has`: the quantizations that the target supports. `quant`: the component's. `keep`: (part of a tensor's
    name, quantization) pairs that override it. `group`: weights that share a scale in 4 bits.
    """

    target: str
    has: tuple[str, ...]
    quant: str
    keep: tuple[tuple[str, str], ...] = ()
    group: int = 32

    def __post_init__(self) -> None:
        for quant in (self.quant, *(q for _, q in self.keep)):
            if quant not in self.has:
                raise ExportError(
                    f"{self.target} has no quantization {quant!r}; choose one of: {', '.join(self.has)}"
                )

    def of(self, name: str) -> str:
        """The quantization of the matrix or table called `name`, its path in the module."""
        if override := override_for(self.keep, name):
            return override
        if FIRST in name:
            return self.quant if self.quant == "fp16" else "fp32"
        return "int8" if name.startswith(LAST) and self.quant in ("int4", "pal4") else self.quant
