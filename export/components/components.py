"""Builds a recipe's components as torch modules, their tokenizers and their reference outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gamer.runtime.bundle.manifest import Channel, Language, Preprocessing, TensorSpec
from gamer.runtime.models import tokenizers

from ..checkpoints import catalogue, decoder_config, pocket, sentence_config, tower_config
from ..checkpoints.checkpoint import Checkpoint, open_checkpoint, random_seed
from ..errors import ExportError
from ..networks.decoder import DecoderStep
from ..networks.efficientnet_lite import FEATURES, ConseTower
from ..recipe import FACE_ROLES, OCR_ROLES, PICTURE_ROLES, ROLES, TARGETS, VISION
from ..settings import Settings
from . import experts, faces, graphs, printed, query_adapter, sentence
from .export_module import ExportModule

IMAGE_SIZE, RESIZE, MEAN, STD = 224, 256, 127.0, 128.0
PATCHES = 49
MAX_ID = 1 << 22  # of a token; the largest vocabularies have a sixteenth of that
# The image model with ConSE: its embedding combines the sentence encoder's vectors of the labels.
CONSE = "efficientnet-lite0"


@lru_cache(maxsize=4)
def checkpoint(settings: Settings, part: str) -> Checkpoint:
    """The opened checkpoint of a part; of "dpe" only if a source was given. Raises ExportError."""
    return open_checkpoint(settings.model(part), settings.source(part), trust_pickle=settings.trust_pickle)


def roles(settings: Settings) -> tuple[str, ...]:
    """The roles of the components that these settings export, in canonical order.

    Raises ExportError for a source that cannot be opened.
    """
    parts = settings.chosen.parts()
    if "dpe" in parts:
        _experts(settings)  # a source that cannot be used is refused before anything is exported
    have = {
        "image_tower": "image" in parts,
        "text_tower": "text" in parts,
        "llm_embed": "llm" in parts,
        "llm_decoder": "llm" in parts,
        **dict.fromkeys(FACE_ROLES, "faces" in parts),
        **dict.fromkeys(OCR_ROLES, "ocr" in parts),
        experts.HEAD: "dpe" in parts and query_side(settings).width > 0,
    }
    have["llm_encoder"] = "llm" in parts and checkpoint(settings, "llm").config.get("model_type") == "t5"
    have[VISION] = "llm" in parts and decoder_config.sees(checkpoint(settings, "llm").config)
    return tuple(role for role in ROLES if have.get(role, "dpe" in parts))


def targets(settings: Settings, role: str) -> tuple[str, ...]:
    """The targets that a component can have: a graph of optimum's has ONNX alone."""
    part = {"image_tower": "image", "text_tower": "text"}.get(role)
    if part is None or (part == "image" and settings.model(part) == CONSE):
        return TARGETS
    return TARGETS if graphs.of(checkpoint(settings, part)) is None else ("onnx",)


def has_encoder(settings: Settings) -> bool:
    """Whether the language model is an encoder-decoder."""
    return "llm_encoder" in roles(settings)


def label_vectors(settings: Settings, template: str = "a photo of a {}") -> Tensor:
    """float32 [1000, D]: for each ImageNet class the normalised mean of its lemmas' text vectors.

    These are the label vectors of ConSE. Other image models use the first lemma of a class only.
    """
    encode = text_encoder(settings)
    names = [[template.format(lemma.strip()) for lemma in name.split(",")] for name in pocket.class_names()]
    if settings.model("image") != CONSE:
        names = [lemmas[:1] for lemmas in names]
    texts = [text for lemmas in names for text in lemmas]
    rows: list[Tensor] = []
    with torch.no_grad():
        for start in range(0, len(texts), 128):
            rows.append(encode(texts[start : start + 128]))
    vectors, begin, out = torch.cat(rows), 0, []
    for lemmas in names:
        out.append(vectors[begin : begin + len(lemmas)].mean(0))
        begin += len(lemmas)
    return nn.functional.normalize(torch.stack(out), dim=-1)


def text_encoder(settings: Settings) -> Callable[[list[str]], Tensor]:
    """The fp32 text tower with its tokenizer: texts, encoded as one batch → float32 [n, D]."""
    from tokenizers import Tokenizer

    item = build(settings, "text_tower", "fp32")
    width = item.inputs[0].shape[1]
    tokenizer = Tokenizer.from_str(text_tokenizer(settings))
    tokenizer.enable_padding(length=width if isinstance(width, int) else None)

    def encode(texts: list[str]) -> Tensor:
        batch = tokenizer.encode_batch(texts)
        ids = torch.tensor([e.ids for e in batch])
        output = item.module(ids, torch.tensor([e.attention_mask for e in batch]))
        return torch.as_tensor(output[0] if isinstance(output, tuple) else output)

    return encode


def text_reader(settings: Settings) -> tuple[nn.Module, Any, str]:
    """The fp32 text tower, its tokenizer, and the words that it gets before a query."""
    from tokenizers import Tokenizer

    module = build(settings, "text_tower", "fp32").module
    return (
        module,
        Tokenizer.from_str(text_tokenizer(settings)),
        checkpoint(settings, "text").sentence.before_query,
    )


def text_tokenizer(settings: Settings) -> str:
    """The text tower's tokenizer.json, with truncation to its longest text and no padding."""
    from tokenizers.normalizers import Lowercase, Sequence

    opened = checkpoint(settings, "text")
    longest = settings.chosen.max_text or int(text_half(opened).get("max_position_embeddings", 77))
    if catalogue.is_sentence_encoder(opened.config):
        longest = sentence_config.longest(opened.config, opened.sentence, settings.chosen.max_text)
    if opened.tokenizer is None:
        return pocket.byte_tokenizer(longest, ends=opened.config.get("text_config", {}).get("eos_token_id"))
    tokenizer = _tokenizer(opened)
    if opened.sentence.lower:
        steps = [Lowercase(), *([tokenizer.normalizer] if tokenizer.normalizer else [])]
        tokenizer.normalizer = Sequence(steps)
    tokenizer.enable_truncation(longest)
    return str(tokenizer.to_str())


def text_half(opened: Checkpoint) -> dict[str, Any]:
    """The configuration of a text tower: a part of it, or all where there is no other. Raises ExportError."""
    where = f"{opened.weights.source}: config.json"
    return tower_config.section(opened.config, "text_config", where) or opened.config


def _tokenizer(opened: Checkpoint) -> Any:
    """A checkpoint's, which does not pad. Raises ExportError for one that no bundle may have."""
    assert opened.tokenizer is not None
    try:
        tokenizer = tokenizers.from_text(opened.tokenizer())
        # Writing it down lists every number that no token has: 8 GB for an id of 2³¹.
        if (greatest := max(tokenizer.get_vocab().values(), default=0)) > MAX_ID:
            raise ValueError(f"the id {greatest} is above {MAX_ID}")
        return tokenizer
    except ValueError as error:
        raise ExportError(
            f"{opened.weights.source}: a bundle may not have its tokenizer: {str(error)[:100]}; copy the "
            "tokenizer.json that belongs to the weights beside them"
        ) from None


@lru_cache(maxsize=2)
def llm_tokenizer(settings: Settings) -> tuple[str, tuple[int, ...]]:
    """(tokenizer.json text, ids that end an answer) of the language model."""
    opened = checkpoint(settings, "llm")
    if opened.tokenizer is None:
        return pocket.byte_tokenizer(None, ends=None), pocket.end_ids(opened.config, None)
    tokenizer = _tokenizer(opened)
    tokenizer.no_truncation()
    return str(tokenizer.to_str()), pocket.end_ids(opened.config, tokenizer)


def language(settings: Settings) -> Language | None:
    """The manifest's entry for the decoder; None without a language model.

    Its `eos_ids` are only the configuration's; llm_tokenizer returns all ids that end an answer.
    """
    if "llm" not in settings.chosen.parts():
        return None
    from . import decoders

    return decoders.language(checkpoint(settings, "llm").config, settings.slots)


def preprocessing(settings: Settings) -> Preprocessing | None:
    """How photos become the image tower's input; None without an image tower."""
    if "image" not in settings.chosen.parts():
        return None
    if settings.model("image") == CONSE:
        return Preprocessing(
            resize=RESIZE, crop=IMAGE_SIZE, interpolation="bicubic", mean=MEAN, std=STD, fit="crop"
        )
    from ..checkpoints.preprocessing import preprocessing as of_checkpoint

    opened = checkpoint(settings, "image")
    return of_checkpoint(opened.config, opened.processor)


def picture_preprocessing(settings: Settings) -> Preprocessing | None:
    """How a photo becomes what the language model sees of it; None for one that sees nothing."""
    if VISION not in roles(settings):
        return None
    from ..checkpoints.preprocessing import picture_preprocessing as of_checkpoint

    opened = checkpoint(settings, "llm")
    return replace(of_checkpoint(opened.config, opened.processor), normalised_by="graph")


def features(settings: Settings) -> tuple[int, int]:
    """(patches, width) of the image tower's patch features, which the DPE takes."""
    if settings.model("image") == CONSE:
        return PATCHES, FEATURES
    from . import towers

    return towers.features(checkpoint(settings, "image").config)


@lru_cache(maxsize=1)
def _conse(settings: Settings) -> ConseTower:
    network = pocket.image_network(settings.source("image"))
    tower = ConseTower(network, label_vectors(settings), MEAN, STD)
    tower.eval()
    return tower


def _image(settings: Settings) -> ExportModule:
    if settings.model("image") != CONSE:
        from . import towers

        opened = checkpoint(settings, "image")
        if (from_graphs := graphs.of(opened)) is not None:
            return graphs.image_tower(opened, from_graphs)
        return towers.image_tower(opened.config, opened.weights, opened.processor)
    tower = _conse(settings)
    dim = tower.get_buffer("label_vectors").shape[1]
    return ExportModule(
        role="image_tower",
        module=tower,
        example=(torch.zeros(1, IMAGE_SIZE, IMAGE_SIZE, 3),),
        inputs=(TensorSpec("pixels", ("batch", IMAGE_SIZE, IMAGE_SIZE, 3), "float32"),),
        outputs=(
            TensorSpec("embedding", ("batch", dim), "float32"),
            TensorSpec("patches", ("batch", PATCHES, FEATURES), "float32"),
            TensorSpec("label_probs", ("batch", 1000), "float32"),
        ),
        dynamic={0: {0: "batch"}},
        architecture="EfficientNet-Lite0 + ConSE",
        source=pocket.EFFICIENTNET.source,
        trained=not {"image", "text"} & set(settings.random_parts),
        macs_per="image",
    )


def _text(settings: Settings) -> ExportModule:
    opened = checkpoint(settings, "text")
    if (from_graphs := graphs.of(opened)) is not None:
        return graphs.text_tower(opened, from_graphs, settings.chosen.max_text)
    if catalogue.is_sentence_encoder(opened.config):
        adapter = query_adapter.of(settings)
        shape = () if adapter is None else adapter.shape
        return sentence.text_tower(opened, settings.chosen.max_text, shape)
    from . import towers

    return towers.text_tower(opened.config, opened.weights)


def _dpe(settings: Settings, role: str) -> ExportModule:
    sizes, origin = dpe_sizes(settings), _experts(settings)
    if role == experts.HEAD and isinstance(origin, Checkpoint):
        return experts.query_head(experts.query_side(origin), sizes.hidden, origin)
    patches, shape = features(settings)[0], settings.chosen.dpe
    seed = 0 if shape is None else shape.seed
    return experts.component(role, patches, sizes, seed if origin is None else origin)


def dpe_sizes(settings: Settings) -> experts.Sizes:
    """The sizes of the recipe's experts, beside its image tower and language model, or of their checkpoint.

    Raises ExportError for a recipe without experts.
    """
    shape, decoder = settings.chosen.dpe, language(settings)
    if shape is None or decoder is None:
        raise ExportError(f"recipe {settings.recipe} has no experts")
    width, hidden = features(settings)[1], decoder.hidden
    sizes = experts.Sizes(shape.experts, shape.blocks, shape.width, shape.heads, width, hidden, shape.pooled)
    origin = _experts(settings)
    return experts.trained_sizes(sizes, origin) if isinstance(origin, Checkpoint) else sizes


def query_side(settings: Settings) -> experts.QuerySide:
    """How the experts' checkpoint was trained to make v_Q; without a checkpoint, as in the paper."""
    origin = _experts(settings)
    return experts.query_side(origin) if isinstance(origin, Checkpoint) else experts.QuerySide()


def channel(settings: Settings) -> Channel | None:
    """The channel of v_I that an album gets from trained experts; None for untrained ones."""
    if "dpe" not in settings.chosen.parts() or not isinstance(origin := _experts(settings), Checkpoint):
        return None
    sizes, query = dpe_sizes(settings), query_side(settings).query
    return Channel(f"dpe:{query}:{experts.identity(sizes, origin)}", query, sizes.hidden)


def _experts(settings: Settings) -> int | Checkpoint | None:
    """The seed or the checkpoint of the experts; None if no source was given. Raises ExportError."""
    source = settings.source("dpe")
    if source is None:
        return None
    return random_seed(source) if catalogue.is_random(source) else checkpoint(settings, "dpe")


def _llm(settings: Settings, role: str, quant: str) -> ExportModule:
    from . import decoders

    opened = checkpoint(settings, "llm")
    match role:
        case "llm_embed":
            return decoders.embed(opened.config, opened.weights, quant)
        case "llm_encoder":
            return decoders.encoder(opened.config, opened.weights, settings.slots)
        case "llm_vision":
            from . import towers

            return towers.picture_reader(opened.config, opened.weights, opened.processor)
    item = decoders.decoder(opened.config, opened.weights, settings.slots)
    origin = _experts(settings) if "dpe" in settings.chosen.parts() else None
    if not isinstance(origin, Checkpoint) or not experts.rank(origin):
        return item
    experts.adapt(item.module, origin)
    return replace(item, source=f"{item.source} + {origin.weights.source}")


@lru_cache(maxsize=1)
def adapters(settings: Settings) -> dict[str, nn.ModuleList]:
    """The adapters of the language model by name: their changes of its layers, for lora.merge.

    Raises ExportError for one that cannot be kept apart, or is of another model.
    """
    if not settings.adapters:
        return {}
    from . import decoders, peft

    config = checkpoint(settings, "llm").config
    step = decoders.networks(config, settings.slots)["llm_decoder"]
    if not isinstance(step, DecoderStep):
        raise ExportError("--adapter is for decoders; this model is an encoder with a decoder: leave it out")
    return {name: peft.read_adapter(Path(folder), step, config) for name, folder in settings.adapters}


def build(settings: Settings, role: str, quant: str) -> ExportModule:
    """The component `role` in fp32 torch; only the token table depends on `quant`. Raises ExportError."""
    match role:
        case "image_tower":
            return _image(settings)
        case "text_tower":
            return _text(settings)
        case _ if role.startswith("llm_"):
            return _llm(settings, role, quant)
        case _ if role.startswith("dpe_"):
            return _dpe(settings, role)
        case _ if role in PICTURE_ROLES:
            part = "faces" if role in FACE_ROLES else "ocr"
            make = {"faces": faces.component, "ocr": printed.component}[part]
            return make(role, settings.source(part), part not in settings.random_parts)
    raise ExportError(f"unknown component {role!r}")


def reference(module: nn.Module, inputs: tuple[NDArray[np.generic], ...]) -> tuple[NDArray[np.float32], ...]:
    """The outputs of a torch module as numpy arrays, for artifacts to be compared with."""
    with torch.no_grad():
        out = module(*(torch.from_numpy(np.ascontiguousarray(x)) for x in inputs))
    return tuple(o.numpy() for o in (out if isinstance(out, tuple) else (out,)))
