"""Traces a component by torch's TorchScript exporter (why: to_onnx.py)."""

from __future__ import annotations

import warnings
from pathlib import Path

import torch

from ..components.export_module import ExportModule
from .graph import OPSET


def trace(item: ExportModule, path: Path, weights: bool) -> None:
    """Writes the graph of `item`, its weights as constants or as further inputs."""
    axes = {item.inputs[i].name: names for i, names in item.dynamic.items()}
    axes |= {out.name: {d: n for d, n in enumerate(out.shape) if isinstance(n, str)} for out in item.outputs}
    # Where the batch is dynamic, the example has two rows: a batch of one would be traced as a constant.
    example = tuple(
        x.repeat(2, *[1] * (x.dim() - 1)) if "batch" in item.dynamic.get(i, {}).values() else x
        for i, x in enumerate(item.example)
    )
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            item.module,
            example,
            str(path),
            dynamo=False,
            opset_version=OPSET,
            export_params=weights,
            do_constant_folding=weights,
            input_names=[t.name for t in item.inputs],
            output_names=[t.name for t in item.outputs],
            dynamic_axes={k: v for k, v in axes.items() if v},
        )
