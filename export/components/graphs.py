"""Components of graphs that optimum wrote: the architecture's interface, the graph's numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..checkpoints import catalogue
from ..checkpoints.checkpoint import Checkpoint
from ..checkpoints.preprocessing import preprocessing
from ..checkpoints.tower_config import image_shape, model_type, text_shape
from ..checkpoints.weights import NoWeights
from ..errors import ExportError
from ..graphs import files
from ..graphs.interface import Interface
from ..graphs.module import OnnxGraph
from ..recipe import QUANTS
from . import sentence, towers
from .export_module import ExportModule

_ABOUT = f"compared with its own fp32 graph; not for ExecuTorch and Core ML: {files.ALONE}"


def of(opened: Checkpoint) -> files.Graphs | None:
    """The graphs of a checkpoint that is made of them; None for one with tensors."""
    return opened.weights if isinstance(opened.weights, files.Graphs) else None


def text_tower(opened: Checkpoint, graphs: files.Graphs, most: int) -> ExportModule:
    """The text tower. Raises ExportError for a graph that is none."""
    without = replace(opened, weights=NoWeights())
    is_sentence = catalogue.is_sentence_encoder(opened.config)
    item = (
        sentence.text_tower(without, most) if is_sentence else towers.text_tower(opened.config, NoWeights())
    )

    siglip = not is_sentence and model_type(opened.config) == "siglip"
    pad = text_shape(opened.config).pad if siglip else None

    def adapted(path: Path) -> Any:
        return Interface(path).text(opened.sentence.pooling, item.inputs, item.outputs, pad)

    return _behind(item, graphs, "text", adapted)


def image_tower(opened: Checkpoint, graphs: files.Graphs) -> ExportModule:
    """The image tower. Raises ExportError for a graph that is none."""
    kind = model_type(opened.config)
    if kind not in ("clip", "siglip"):
        raise ExportError(f"{graphs.source}: graphs of {kind} are not read: give its safetensors")
    item = towers.image_tower(opened.config, NoWeights(), opened.processor)
    layers, spec = image_shape(opened.config).encoder.layers, preprocessing(opened.config, opened.processor)

    def adapted(path: Path) -> Any:
        return Interface(path).image(kind, layers, spec, item.inputs, item.outputs)

    return _behind(item, graphs, "image", adapted)


def _behind(
    item: ExportModule, graphs: files.Graphs, part: str, adapted: Callable[[Path], Any]
) -> ExportModule:
    """`item` with its numbers from `part`'s graph."""
    paths = {quant: path for quant in QUANTS if (path := graphs.variant(part, quant)) is not None}
    variants = {quant: adapted(path) for quant, path in paths.items()}
    return replace(
        item,
        module=OnnxGraph(item.module, adapted(graphs.plain(part)), variants).eval(),
        architecture=f"{item.architecture}; {files.WHY}, {_ABOUT}",
        source=graphs.source,
        trained=True,
    )
