"""Language models to ONNX: chooses the graph that fits a module. Knows modules and schemes; writes no node itself."""

from __future__ import annotations

from pathlib import Path

from gamer.runtime.manifest import Language, TensorSpec
from torch import nn

from . import onnx_decoder, onnx_t5
from .errors import ExportError
from .modules.decoder import DecoderStep
from .modules.t5 import T5Encoder, T5Step
from .onnx_graph import Scheme

Specs = tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]


def write(module: nn.Module, language: Language, scheme: Scheme, path: Path) -> Specs:
    """Writes a decoder or encoder to `path`: one file, or a directory with model.onnx where the weights are more than one file can hold.

    Returns the artifact's tensor specs. Raises ExportError.
    """
    if isinstance(module, DecoderStep):
        onnx_decoder.write(module, language, scheme, path)
        return onnx_decoder.specs(module, language.max_seq)
    if isinstance(module, T5Step):
        onnx_t5.write_decoder(module, language, scheme, path)
        return onnx_t5.decoder_specs(module, language.max_seq)
    if isinstance(module, T5Encoder):
        onnx_t5.write_encoder(module, scheme, path)
        return onnx_t5.encoder_specs(module)
    raise ExportError(f"{type(module).__name__} is no language model that is written node by node")
