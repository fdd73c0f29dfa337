"""Tiny random language models of every supported family: the model of the transformers library, its
configuration, and its weights in the form that the exporter reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor

from gamer.export.checkpoints.weights import fit
from gamer.export.components.export_module import ExportModule
from gamer.export.parity.measure import TorchSession
from gamer.export.quantize.block_codes import affine_blocks
from gamer.index.records import FloatArray
from gamer.runtime.backends import Array
from gamer.runtime.bundle.manifest import Artifact, Language, Parity, TensorSpec
from gamer.runtime.models.language.decoder import StepDecoder

SLOTS, VOCAB = 32, 80
torch.set_num_threads(1)  # with matrices this small, starting more threads costs more time than it saves
_LLAMA = {
    "vocab_size": VOCAB,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "attn_implementation": "eager",
    "max_position_embeddings": 64,
}
_T5 = {
    "vocab_size": VOCAB,
    "d_model": 64,
    "d_kv": 16,
    "d_ff": 96,
    "num_heads": 2,
    "relative_attention_max_distance": 12,
}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", _LLAMA | {"rope_theta": 5e4}),
    "llama-biased": ("Llama", _LLAMA | {"attention_bias": True, "tie_word_embeddings": True}),
    "qwen2": ("Qwen2", _LLAMA | {"tie_word_embeddings": True, "rms_norm_eps": 1e-5}),
    "qwen3": ("Qwen3", _LLAMA | {"head_dim": 32}),
    "gemma3": (
        "Gemma3",
        _LLAMA
        | {"head_dim": 32, "sliding_window": 6, "sliding_window_pattern": 2, "query_pre_attn_scalar": 24},
    ),
    "gpt2": (
        "GPT2",
        {
            "vocab_size": VOCAB,
            "n_embd": 64,
            "n_layer": 3,
            "n_head": 4,
            "n_positions": 48,
            "attn_implementation": "eager",
        },
    ),
    "t5": (
        "T5",
        _T5
        | {
            "num_layers": 2,
            "num_decoder_layers": 3,
            "feed_forward_proj": "relu",
            "relative_attention_num_buckets": 8,
        },
    ),
    "flan-t5": (
        "T5",
        _T5 | {"num_layers": 3, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    ),
}


class DictWeights:
    """A state dict with the interface of export/checkpoints/weights.py."""

    source, trained = "tiny", True

    def __init__(self, state: dict[str, Tensor]) -> None:
        self.state = state

    def has(self, name: str) -> bool:
        return name in self.state

    def get(self, name: str, *shape: int) -> Tensor:
        return fit(self.state[name], name, shape, self.source)


def tiny(family: str, layers: int | None = None) -> tuple[Any, dict[str, Any], DictWeights]:
    """(model of the transformers library, contents of its config.json, weights).

    All parameters, also norms and biases, are random; every call gives the same numbers. `layers` replaces
    the family's number of layers.
    """
    kind, sizes = FAMILIES[family]
    if layers is not None:
        sizes = sizes | {
            "n_layer" if kind == "GPT2" else "num_layers" if kind == "T5" else "num_hidden_layers": layers
        }
    config = getattr(transformers, "Gemma3TextConfig" if kind == "Gemma3" else f"{kind}Config")(**sizes)
    class_suffixes = {"GPT2": "LMHeadModel", "T5": "ForConditionalGeneration"}
    torch.manual_seed(7)
    model = getattr(transformers, f"{kind}{class_suffixes.get(kind, 'ForCausalLM')}")(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # The noise is large enough that every part of the model affects the output. With the default
            # initialisation, most layers do almost nothing.
            parameter.add_(
                torch.randn_like(parameter) * (0.3 if parameter.dim() < 2 else 0.05 if kind == "T5" else 0.1)
            )
    return model, config.to_dict(), DictWeights(model.state_dict())


def torch_session(item: ExportModule) -> TorchSession:
    return TorchSession(item)


def torch_decoder(item: ExportModule, language: Language) -> StepDecoder:
    return StepDecoder(TorchSession(item), language)


def artifact(role: str, inputs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...]) -> Artifact:
    """An fp32 ONNX artifact of the manifest, without a file."""
    return Artifact(role, "onnx", "fp32", "", 0, "", inputs, outputs, Parity("", "", 0.0), 0.0)


class Table:
    """A table of token embeddings with the interface of a runtime session."""

    def __init__(self, rows: FloatArray) -> None:
        self.rows = rows
        self.artifact = artifact("llm_embed", (TensorSpec("ids", ("tokens",), "int64"),), ())

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        return {"embeds": self.rows[inputs["ids"].astype(int)]}


def ids(count: int) -> list[int]:
    """Random token ids, always the same for the same count."""
    return [int(i) for i in np.random.default_rng(count).integers(2, VOCAB, count)]


def on_the_grid(module: torch.nn.Module, group: int) -> None:
    """Rounds the layers' matrices to values that 4-bit blocks of `group` weights represent exactly.

    The weights of a file that was quantized before are such values. The output matrix "head" is not changed.
    """
    for name, linear in module.named_modules():
        if isinstance(linear, torch.nn.Linear) and name != "head":
            rounded = affine_blocks(linear.weight.detach().numpy(), group).dequantize()
            linear.weight = torch.nn.Parameter(torch.from_numpy(rounded), requires_grad=False)
