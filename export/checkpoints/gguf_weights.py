"""Reads a GGUF file as a Hugging Face configuration and weights under Hugging Face's names.

Tensors are dequantized to float32 one at a time. The gguf package maps the names. Two of llama.cpp's changes
are undone here: it interleaves Llama's rotary pairs, and adds one to Gemma's norm scales.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import ExportError
from . import gguf_header
from .catalogue import Config
from .chat_template import of_gguf
from .decoder_config import MAX_LAYERS
from .weights import fit

# architecture → (model_type, whether query and key rows are interleaved)
_ARCHITECTURES = {"llama": ("llama", True), "qwen2": ("qwen2", False), "gemma3": ("gemma3_text", False)}


class GgufWeights:
    """The tensors of one GGUF file."""

    trained = True

    def __init__(self, path: Path, reader: Any, architecture: str, config: Config, source: str) -> None:
        from gguf import MODEL_ARCH, get_tensor_name_map

        self.source, self.path, self._architecture, self._config = source, path, architecture, config
        self.template = of_gguf(reader)
        self._raw = {t.name: t for t in reader.tensors}
        self._names = get_tensor_name_map(MODEL_ARCH[architecture.upper()], config["num_hidden_layers"])

    def has(self, name: str) -> bool:
        return self._stored(name) in self._raw

    def get(self, name: str, *shape: int) -> Tensor:
        from gguf.quants import dequantize

        stored = self._stored(name)
        if stored not in self._raw:
            raise ExportError(
                f"{self.path.name}: tensor {name} ({stored}) is missing: the file is cut short or of "
                "another architecture"
            )
        raw = self._raw[stored]
        tensor = fit(
            torch.from_numpy(np.array(dequantize(raw.data, raw.tensor_type), dtype=np.float32)),
            name,
            shape,
            self.source,
        )
        if _ARCHITECTURES[self._architecture][1] and name.endswith(("q_proj.weight", "k_proj.weight")):
            heads = self._config["num_attention_heads" if "q_proj" in name else "num_key_value_heads"]
            tensor = unpermute(tensor, heads)
        return tensor - 1.0 if self._architecture == "gemma3" and name.endswith("norm.weight") else tensor

    def _stored(self, name: str) -> str:
        stem, dot, kind = name.rpartition(".")
        stored_stem = self._names.get_name(stem)
        return f"{stored_stem}{dot}{kind}" if stored_stem else name


def unpermute(weight: Tensor, heads: int) -> Tensor:
    """Undoes llama.cpp's order of the rows of a query or key matrix.

    llama.cpp interleaves the rotary pairs; rotate-half needs the first halves of a head's pairs, then the
    second halves.
    """
    rows, columns = weight.shape
    return weight.view(heads, rows // heads // 2, 2, columns).transpose(1, 2).reshape(rows, columns)


def open_gguf(path: Path, source: str) -> tuple[Config, GgufWeights]:
    """(configuration, weights) of a GGUF file; `source`: how the manifest names it.

    Raises ExportError for a file that is not GGUF or is truncated, and for an unsupported architecture.
    """
    from gguf import GGUFReader

    class Reader(GGUFReader):
        """Over a plain array: it slices a million times, and a slice of a memory map costs thrice as much."""

        data = property(
            lambda self: self._plain, lambda self, mapped: setattr(self, "_plain", np.asarray(mapped))
        )

    try:
        gguf_header.check(path)
        reader = Reader(path)
        architecture = str(reader.get_field("general.architecture").contents())
    except Exception as error:  # the reader raises ValueError, IndexError, AttributeError and others
        raise ExportError(
            f"{path}: not a whole GGUF file "
            f"({str(error).splitlines()[0][:100] if str(error) else 'no header'})"
        ) from None
    if architecture not in _ARCHITECTURES:
        raise ExportError(
            f"{path.name}: a GGUF of architecture {architecture!r}; read are: {', '.join(_ARCHITECTURES)}"
        )
    config = _config(path, reader, architecture)
    return config, GgufWeights(path, reader, architecture, config, source)


def _config(path: Path, reader: Any, architecture: str) -> Config:
    def number(key: str, otherwise: Any = None) -> Any:
        field = reader.get_field(f"{architecture}.{key}")
        if field is None and otherwise is None:
            raise ExportError(
                f"{path.name}: no {architecture}.{key} in its header: the file is of another architecture"
            )
        value = otherwise if field is None else field.contents()
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ExportError(f"{path.name}: {architecture}.{key} must be a number: the file is damaged")
        return value

    def count(key: str, otherwise: Any = None) -> int:
        value = number(key, otherwise)
        if not 1 <= value < 1 << 31 or value != value // 1:
            raise ExportError(f"{path.name}: {architecture}.{key} is {value}: the file is damaged")
        return int(value)

    tensors = {t.name: t for t in reader.tensors}
    if "token_embd.weight" not in tensors:
        raise ExportError(f"{path.name}: tensor token_embd.weight is missing: the file is cut short")
    if len(tensors["token_embd.weight"].shape) != 2:
        raise ExportError(f"{path.name}: token_embd.weight must be a matrix: the file is damaged")
    hidden, heads, layers = (
        count(key) for key in ("embedding_length", "attention.head_count", "block_count")
    )
    # Checked here because the table of names is built layer by layer.
    if layers > MAX_LAYERS or heads > hidden:
        raise ExportError(
            f"{path.name}: {architecture} of {layers} layers with {heads} heads: the file is damaged"
        )
    eos = reader.get_field("tokenizer.ggml.eos_token_id")
    config: Config = {
        "model_type": _ARCHITECTURES[architecture][0],
        "hidden_size": hidden,
        "intermediate_size": count("feed_forward_length"),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": count("attention.head_count_kv", heads),
        "head_dim": count("attention.key_length", hidden // heads),
        "vocab_size": int(tensors["token_embd.weight"].shape[1]),
        "rms_norm_eps": float(number("attention.layer_norm_rms_epsilon")),
        "rope_theta": float(number("rope.freq_base", 10_000.0)),
        "max_position_embeddings": count("context_length"),
        "tie_word_embeddings": "output.weight" not in tensors,
        "hidden_act": "silu",
        "eos_token_id": None if eos is None else int(eos.contents()),
    }
    return config | (_gemma3(config, count) if architecture == "gemma3" else {})


def _gemma3(config: Config, count: Callable[[str, int], int]) -> Config:
    """Gemma 3's constants that llama.cpp hard-codes, and that a GGUF header lacks.

    Every sixth layer attends to all tokens, and the local rotary base is 10,000.
    """
    return {
        "hidden_activation": "gelu_pytorch_tanh",
        "sliding_window": count("attention.sliding_window", 512),
        "sliding_window_pattern": 6,
        "rope_local_base_freq": 10_000.0,
        "query_pre_attn_scalar": config["head_dim"],
    }
