"""Which quantization each tensor of a component gets, on every target: what --keep says, else a rule of its
own, else the component's.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ExportError

# Raw contrast goes into the first product, and a four-hundredth of the weights is in it.
FIRST = "patch"
# of a tower: what it rounds away is in the embedding as it stands; in 4 bits it cost a third of the whole
# error
LAST = "project."


def kept(keep: tuple[tuple[str, str], ...], name: str) -> str | None:
    """The quantization of the first pair of `keep` whose part stands in a tensor's `name`."""
    return next((quant for part, quant in keep if part in name), None)


@dataclass(frozen=True)
class QuantizationPolicy:
    """The first of `keep` whose name stands in a tensor's tells its quantization, else `quant`. `group`:
    weights that share a scale in 4 bits. `has`: the quantizations of the `target`."""

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
        if found := kept(self.keep, name):
            return found
        if FIRST in name:
            return self.quant if self.quant == "fp16" else "fp32"
        return "int8" if name.startswith(LAST) and self.quant in ("int4", "pal4") else self.quant
