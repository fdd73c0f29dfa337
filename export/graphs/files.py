"""Directories that optimum wrote: ONNX graphs beside a config.json and a tokenizer, and no other weights.

The layout is also that of model hubs, where the graphs lie in a folder `onnx`, with quantized variants beside
them (`model_quantized.onnx`, `text_model_fp16.onnx`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ExportError

if TYPE_CHECKING:
    from torch import Tensor

# Part → the names of its graph, the part's own before the one of the whole model.
_NAMES = {"image": ("vision_model", "model"), "text": ("text_model", "model")}
# Quantization → the endings of variants, as optimum and the scripts made of it write them.
_ENDINGS = {"fp16": ("fp16",), "int8": ("quantized", "int8"), "int4": ("q4",)}
WHY = "ONNX, by optimum"
ALONE = "they are lowered from torch modules, which a graph does not hold"


@dataclass(eq=False)  # not frozen, as the protocol Weights is not
class Graphs:
    """The graphs of a directory, in the place of a checkpoint's weights, of which it gives none by name.

    `folder`: where the graphs lie.
    """

    folder: Path
    source: str
    trained: bool = True

    def has(self, name: str) -> bool:
        return False

    def get(self, name: str, *shape: int) -> Tensor:
        raise ExportError(f"{self.source}: holds ONNX graphs, by optimum: no tensor {name} by its name")

    def plain(self, part: str) -> Path:
        """The fp32 graph of a part, which all others are compared with. Raises ExportError without one."""
        found = self._first(_NAMES[part])
        if found is None:
            names = " or ".join(f"{name}.onnx" for name in _NAMES[part])
            raise ExportError(f"{self.folder}: no {names} in fp32 to compare with: copy it to the others")
        return found

    def variant(self, part: str, quant: str) -> Path | None:
        """The graph of a part that the directory has in `quant`; None if it is to be quantized here."""
        name = self.plain(part).stem
        return self._first(tuple(f"{name}_{ending}" for ending in _ENDINGS.get(quant, ())))

    def _first(self, names: tuple[str, ...]) -> Path | None:
        paths = (self.folder / f"{name}.onnx" for name in names)
        return next((path for path in paths if path.is_file()), None)


def find(folder: Path, source: str) -> Graphs | None:
    """The graphs of a directory without other weights; None if it has none."""
    for inner in (folder, folder / "onnx"):
        if any(inner.glob("*.onnx")):
            return Graphs(inner, source)
    return None
