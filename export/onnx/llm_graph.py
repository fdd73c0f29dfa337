"""Language models to ONNX: selects the graph writer by the type of the module."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from gamer.runtime.bundle.manifest import Language

from ..components.export_module import Specs
from ..errors import ExportError
from ..networks.decoder import DecoderStep
from ..networks.t5 import T5Encoder, T5Step
from . import decoder_graph, t5_graph
from .graph import Scheme


def write(module: nn.Module, language: Language, scheme: Scheme, path: Path) -> Specs:
    """Writes a decoder or encoder to `path`: one file, or a directory with model.onnx and its weights.

    Returns the artifact's tensor specs. Raises ExportError.
    """
    if isinstance(module, DecoderStep):
        decoder_graph.write(module, language, scheme, path)
        return decoder_graph.specs(module, language.max_seq)
    if isinstance(module, T5Step):
        t5_graph.write_decoder(module, language, scheme, path)
        return t5_graph.decoder_specs(module, language.max_seq)
    if isinstance(module, T5Encoder):
        t5_graph.write_encoder(module, scheme, path)
        return t5_graph.encoder_specs(module)
    raise ExportError(f"{type(module).__name__} must be a language model that can be written node by node")
