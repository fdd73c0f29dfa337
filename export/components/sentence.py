"""Builds a sentence encoder as a text tower, ready to lower; a directory's own files say how it is pooled."""

from __future__ import annotations

import torch
from torch import nn

from gamer.runtime.models.language.decoder import relative_buckets

from ..checkpoints.catalogue import Config
from ..checkpoints.checkpoint import Checkpoint
from ..checkpoints.sentence_config import (
    BUCKETS,
    DISTANCE,
    bert_shape,
    first_position,
    longest,
    modernbert_shape,
)
from ..checkpoints.sentence_modules import SentenceModules
from ..checkpoints.weights import Weights, constant, fill
from ..networks.bert import SentenceEncoder
from ..networks.modernbert import ModernBert
from . import export_module
from .export_module import ExportModule

Names = dict[str, tuple[str, ...]]
# model_type → the name in the manifest.
_NAMES = {
    "bert": "BERT",
    "roberta": "RoBERTa",
    "xlm-roberta": "XLM-RoBERTa",
    "mpnet": "MPNet",
    "modernbert": "ModernBERT",
}
# Submodule of a layer → Hugging Face's names.
_REST: Names = {"up": ("intermediate.dense",), "down": ("output.dense",), "norm": ("output.LayerNorm",)}
_BERT: Names = _REST | {
    "attention.query": ("attention.self.query",),
    "attention.key": ("attention.self.key",),
    "attention.value": ("attention.self.value",),
    "attention_out": ("attention.output.dense",),
    "attention_norm": ("attention.output.LayerNorm",),
}
_MPNET: Names = _REST | {
    "attention.query": ("attention.attn.q",),
    "attention.key": ("attention.attn.k",),
    "attention.value": ("attention.attn.v",),
    "attention_out": ("attention.attn.o",),
    "attention_norm": ("attention.LayerNorm",),
}
_MODERNBERT: Names = {
    "attention_norm": ("attn_norm",),
    "qkv": ("attn.Wqkv",),
    "out": ("attn.Wo",),
    "norm": ("mlp_norm",),
    "gate_up": ("mlp.Wi",),
    "down": ("mlp.Wo",),
}


def text_tower(opened: Checkpoint, most: int = 0, adapter: tuple[int, ...] = ()) -> ExportModule:
    """The text tower: input_ids, attention_mask → embedding.

    `most`: tokens of the longest text, 0 for the checkpoint's own limit. `adapter`: shape of the adapters of
    queries that it takes, empty for none. Raises ExportError for an invalid or
    unsupported config, and for weights that do not fit.
    """
    config, tokens = opened.config, longest(opened.config, opened.sentence, most)
    module = network(config, opened.weights, opened.sentence, most)
    return export_module.text_tower(
        module,
        tokens,
        False,
        int(config["hidden_size"]),
        f"{_NAMES[config['model_type']]}, {opened.sentence.pooling} pooling",
        opened.weights,
        adapter,
    )


def network(config: Config, weights: Weights, modules: SentenceModules, most: int = 0) -> nn.Module:
    """The encoder in eval mode, filled from `weights`. Raises ExportError as text_tower does."""
    build = _modernbert if config["model_type"] == "modernbert" else _bert
    return build(config, weights, modules, most).eval()


def _bert(config: Config, weights: Weights, modules: SentenceModules, most: int) -> nn.Module:
    shape = bert_shape(config, modules, most)
    with torch.device("meta"):
        module = SentenceEncoder(shape)
    first, mpnet = first_position(config), config["model_type"] == "mpnet"
    names: Names = {"words": ("word_embeddings",), "norm": ("LayerNorm",)}
    fill(module, weights, "embeddings", names | ({} if mpnet else {"types": ("token_type_embeddings",)}))
    table = weights.get("embeddings.position_embeddings.weight", first + shape.positions, shape.hidden)
    module.positions.weight = constant(table[first:].contiguous())
    if mpnet:
        bias = weights.get("encoder.relative_attention_bias.weight", BUCKETS, shape.heads)
        at = torch.arange(shape.relative).numpy()
        buckets = relative_buckets(at[None] - at[:, None], BUCKETS, DISTANCE, both_ways=True)
        reach = bias[torch.from_numpy(buckets).to(bias.device)]
        module.register_buffer("relative", reach.permute(2, 0, 1)[None].contiguous())
    for n, layer in enumerate(module.layers):
        fill(layer, weights, f"encoder.layer.{n}", _MPNET if mpnet else _BERT)
    return module


def _modernbert(config: Config, weights: Weights, modules: SentenceModules, most: int) -> nn.Module:
    with torch.device("meta"):
        module = ModernBert(modernbert_shape(config, modules, most))
    names = {"words": "embeddings.tok_embeddings", "embeddings_norm": "embeddings.norm", "norm": "final_norm"}
    fill(module, weights, "", {ours: (theirs,) for ours, theirs in names.items()})
    for n, layer in enumerate(module.layers):
        fill(layer, weights, f"layers.{n}", _MODERNBERT)
    return module
