"""Adapters of an ONNX decoder in ONNX Runtime's format, which any of its programs activates for a run.

A decoder that takes them has two more inputs for each map of a layer, named as in `layers.0.qkv.lora_a`
float32 [I, rank] and `lora_b` [rank, O]. Without them it has matrices of rank 0, which change nothing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from torch import nn

from gamer.runtime.bundle import manifest as mf
from gamer.runtime.telemetry import load_onnxruntime

from ..components import components
from ..networks.lora import SCALE
from ..settings import Settings
from .graph import A, B


def write(settings: Settings, stage: Path) -> dict[str, Path]:
    """Writes the adapters of `settings` into the unfinished bundle `stage`: their files, by name.

    Raises ExportError for one that does not fit the language model.
    """
    ort, files = load_onnxruntime(), dict[str, Path]()
    for name, changes in components.adapters(settings).items():
        files[name] = stage / f"{mf.ADAPTERS}{name}{mf.ADAPTER_SUFFIX}"
        files[name].parent.mkdir(exist_ok=True)
        written = ort.AdapterFormat()
        written.set_adapter_version(1)
        written.set_model_version(1)
        arrays = _arrays(changes)
        written.set_parameters({n: ort.OrtValue.ortvalue_from_numpy(value) for n, value in arrays.items()})
        written.export_adapter(str(files[name]))
    return files


def _arrays(changes: nn.ModuleList) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """The decoder's inputs, by name."""
    arrays = {}
    for n, layer in enumerate(changes):
        for name, low in layer.items():
            arrays[f"layers.{n}.{name}{A}"] = np.ascontiguousarray(low.a.numpy().T)
            arrays[f"layers.{n}.{name}{B}"] = np.ascontiguousarray(SCALE * low.b.numpy().T)
    return arrays
