"""A recipe's components as torch modules with example inputs and fixtures: what every target lowers and what parity is held against.

Knows modules and their sources; knows no target and no quantization beyond the int8 token table, which is a module of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from gamer.runtime.manifest import Component, TensorSpec
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from . import sources
from .errors import ExportError
from .modules.decoder import DecoderStep, Embedding, Int8Embedding
from .modules.dpe import Expert, Router
from .modules.efficientnet_lite import FEATURES, ConseTower
from .recipe import Recipe, recipe

IMAGE_SIZE, RESIZE, MEAN, STD = 224, 256, 127.0, 128.0
PATCHES = 49


@dataclass(frozen=True)
class ExportModule:
    """A component ready to lower. `example`: inputs of the shapes that fixed-shape targets keep. `dynamic`: input index → {axis: name}."""

    role: str
    module: nn.Module
    example: tuple[Tensor, ...]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    dynamic: dict[int, dict[int, str]]
    architecture: str
    source: str
    trained: bool
    macs_per: str

    def describe(self) -> Component:
        """Parameters and multiply-adds (torch's counter on the fp32 module; a fused multiply-add is one) for the manifest."""
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            self.module(*self.example)
        parameters = sum(p.numel() for p in self.module.parameters())
        if self.role == "llm_embed":
            parameters = self.module.get_buffer("rows").numel()
        return Component(self.role, self.architecture, self.source, self.trained, parameters, counter.get_total_flops() // 2, self.macs_per)


def label_vectors(recipe: Recipe, template: str = "a photo of a {}") -> Tensor:
    """float32 [1000, D]: each class as the normalised mean of its lemmas' sentence vectors, the label side of ConSE."""
    from tokenizers import Tokenizer

    encoder = sources.sentence_encoder(recipe.text_source)
    tokenizer = Tokenizer.from_str(sources.sentence_tokenizer(recipe.text_source, recipe.max_text))
    tokenizer.enable_padding()
    names = [[template.format(lemma.strip()) for lemma in name.split(",")] for name in sources.class_names()]
    flat = [text for lemmas in names for text in lemmas]
    rows: list[Tensor] = []
    with torch.no_grad():
        for start in range(0, len(flat), 128):
            batch = tokenizer.encode_batch(flat[start : start + 128])
            ids = torch.tensor([e.ids for e in batch])
            rows.append(encoder(ids, torch.tensor([e.attention_mask for e in batch])))
    vectors, at, out = torch.cat(rows), 0, []
    for lemmas in names:
        out.append(vectors[at : at + len(lemmas)].mean(0))
        at += len(lemmas)
    return nn.functional.normalize(torch.stack(out), dim=-1)


@lru_cache(maxsize=1)
def _conse(name: str) -> ConseTower:
    chosen = recipe(name)
    tower = ConseTower(sources.image_network(chosen.image_source), label_vectors(chosen), MEAN, STD)
    tower.eval()
    return tower


def _image(recipe: Recipe) -> ExportModule:
    tower = _conse(recipe.name)
    dim = tower.get_buffer("label_vectors").shape[1]
    return ExportModule(
        "image_tower",
        tower,
        (torch.zeros(1, IMAGE_SIZE, IMAGE_SIZE, 3),),
        (TensorSpec("pixels", ("batch", IMAGE_SIZE, IMAGE_SIZE, 3), "float32"),),
        (
            TensorSpec("embedding", ("batch", dim), "float32"),
            TensorSpec("patches", ("batch", PATCHES, FEATURES), "float32"),
            TensorSpec("label_probs", ("batch", 1000), "float32"),
        ),
        {0: {0: "batch"}},
        "EfficientNet-Lite0 + ConSE",
        recipe.image_source,
        True,
        "image",
    )


def _text(recipe: Recipe) -> ExportModule:
    encoder = sources.sentence_encoder(recipe.text_source)
    ids = torch.zeros(1, recipe.max_text, dtype=torch.int64)
    shape: tuple[int | str, ...] = ("batch", "tokens")
    return ExportModule(
        "text_tower",
        encoder,
        (ids, torch.ones_like(ids)),
        (TensorSpec("input_ids", shape, "int64"), TensorSpec("attention_mask", shape, "int64")),
        (TensorSpec("embedding", ("batch", encoder.words.embedding_dim), "float32"),),
        {0: {0: "batch", 1: "tokens"}, 1: {0: "batch", 1: "tokens"}},
        "MiniLM-L6 (BERT, mean pooling)",
        recipe.text_source,
        True,
        f"text of {recipe.max_text} tokens",
    )


def _dpe(recipe: Recipe, role: str) -> ExportModule:
    shape, hidden = recipe.dpe, sources.decoder_shape(recipe.llm_source).hidden
    expert = None if role == "dpe_router" else int(role.rsplit("_", 1)[1])
    torch.manual_seed(shape.seed + (0 if expert is None else 1 + expert))
    module: nn.Module
    if expert is None:
        module, out = Router(FEATURES, shape.width, shape.experts), TensorSpec("weights", (1, shape.experts), "float32")
    else:
        module = Expert(FEATURES, shape.width, shape.heads, shape.blocks, hidden)
        out = TensorSpec("prompts", (1, PATCHES, hidden), "float32")
    return ExportModule(
        role,
        module.eval(),
        (torch.zeros(1, PATCHES, FEATURES),),
        (TensorSpec("patches", (1, PATCHES, FEATURES), "float32"),),
        (out,),
        {},
        "MLP router" if expert is None else f"DPE expert, {shape.blocks} blocks × {shape.width}",
        f"random:{shape.seed}",
        False,
        "image",
    )


def _embed(recipe: Recipe, quant: str) -> ExportModule:
    llm = sources.language_model(recipe.llm_source)
    module = Int8Embedding(llm.table) if quant == "int8" else Embedding(llm.table)
    return ExportModule(
        "llm_embed",
        module.eval(),
        (torch.zeros(1, dtype=torch.int64),),
        (TensorSpec("ids", ("tokens",), "int64"),),
        (TensorSpec("embeds", ("tokens", llm.table.shape[1]), "float32"),),
        {0: {0: "tokens"}},
        "token table",
        recipe.llm_source,
        True,
        "token",
    )


def decoder_specs(step: DecoderStep, slots: int) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Tensor specs of DecoderStep with `slots` cache slots, in the order of its arguments and results."""
    s = step.shape
    half, cache = s.head_dim // 2, (s.kv_heads, slots, s.head_dim)
    inputs = [
        TensorSpec("embeds", (1, s.hidden), "float32"),
        TensorSpec("cos", (1, 1, half), "float32"),
        TensorSpec("sin", (1, 1, half), "float32"),
        TensorSpec("place", (slots, 1), "float32"),
        TensorSpec("mask", (1, 1, slots), "float32"),
    ]
    outputs = [TensorSpec("logits", (1, s.vocab), "float32"), TensorSpec("hidden", (1, s.hidden), "float32")]
    for n in range(s.layers):
        inputs += [TensorSpec(f"past_k.{n}", cache, "float32"), TensorSpec(f"past_v.{n}", cache, "float32")]
        outputs += [TensorSpec(f"{x}.{n}", (s.kv_heads, 1, s.head_dim), "float32") for x in ("k", "v")]
    return tuple(inputs), tuple(outputs)


def _decoder(recipe: Recipe) -> ExportModule:
    step = sources.language_model(recipe.llm_source).step
    inputs, outputs = decoder_specs(step, recipe.max_seq)
    example = tuple(torch.zeros([int(d) for d in spec.shape]) for spec in inputs)
    example[3][0] = 1.0
    example[4][..., 1:] = -1e4
    return ExportModule(
        "llm_decoder",
        step,
        example,
        inputs,
        outputs,
        {},
        "Llama decoder",
        recipe.llm_source,
        True,
        f"token at {recipe.max_seq} cache slots",
    )


def build(recipe: Recipe, role: str, quant: str) -> ExportModule:
    """The component `role` of a recipe in fp32 torch (the token table already in `quant`). Raises ExportError."""
    match role:
        case "image_tower":
            return _image(recipe)
        case "text_tower":
            return _text(recipe)
        case "llm_embed":
            return _embed(recipe, quant)
        case "llm_decoder":
            return _decoder(recipe)
        case _ if role.startswith("dpe_"):
            return _dpe(recipe, role)
    raise ExportError(f"unknown component {role!r}")


def reference(module: nn.Module, inputs: tuple[NDArray[np.generic], ...]) -> tuple[NDArray[np.float32], ...]:
    """The module's outputs in fp32 torch, as numpy: what parity compares with."""
    with torch.no_grad():
        out = module(*(torch.from_numpy(np.ascontiguousarray(x)) for x in inputs))
    return tuple(o.numpy() for o in (out if isinstance(out, tuple) else (out,)))
