"""Converts a config.json of CLIP, SigLIP or MobileCLIP's text tower to the shapes of the modules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from gamer.index.json_checked import Between

from ..checked import read_as, whole
from ..errors import ExportError
from ..networks.clip_text import TextShape
from ..networks.encoder import ACTIVATIONS, EncoderShape
from ..networks.vit import PictureShape, VitShape
from .catalogue import SENTENCE_TYPES
from .decoder_config import decoder_shape

Config = dict[str, Any]
MODEL_TYPES = ("clip", "siglip", "mobileclip")
_MAX_SIDE = 2048  # of a model's pictures: what the manifest admits
_MAX_PATCHES = 1 << 14  # 128 a side; attention has a score for each two of them
# Vocabulary of SigLIP 2's Gemma tokenizer, which pads with 0 instead of SigLIP's 1; its configs do not say
# so.
GEMMA_VOCAB = 256_000


@dataclass(frozen=True)
class _Defaults:
    """The defaults of transformers' config classes for fields that config.json lacks.

    `image`, `text`: of vision_config and text_config. `activation`, `eps`: of both.
    """

    image: tuple[tuple[str, int], ...]
    text: tuple[tuple[str, int], ...]
    activation: str
    eps: float


_ENCODER = (
    ("hidden_size", 768),
    ("intermediate_size", 3072),
    ("num_hidden_layers", 12),
    ("num_attention_heads", 12),
)
_DEFAULTS = {
    "clip": _Defaults(
        (*_ENCODER, ("image_size", 224), ("patch_size", 32)),
        (
            *(
                ("hidden_size", 512),
                ("intermediate_size", 2048),
                ("num_hidden_layers", 12),
                ("num_attention_heads", 8),
            ),
            *(
                ("vocab_size", 49408),
                ("max_position_embeddings", 77),
                ("pad_token_id", 1),
                ("eos_token_id", 49407),
            ),
        ),
        "quick_gelu",
        1e-5,
    ),
    "siglip": _Defaults(
        (*_ENCODER, ("image_size", 224), ("patch_size", 16)),
        (
            *_ENCODER,
            ("vocab_size", 32000),
            ("max_position_embeddings", 64),
            ("pad_token_id", 1),
            ("eos_token_id", 49407),
        ),
        "gelu_pytorch_tanh",
        1e-6,
    ),
    "idefics3": _Defaults(
        (
            ("hidden_size", 1152),
            ("intermediate_size", 3072),
            ("num_hidden_layers", 12),
            ("num_attention_heads", 16),
            ("image_size", 224),
            ("patch_size", 32),
        ),
        (),
        "gelu_pytorch_tanh",
        1e-6,
    ),
}
# MobileCLIP's text tower has CLIP's defaults except for the activation. Its image tower is not a vision
# transformer (see mobileclip_config.py).
_DEFAULTS["mobileclip"] = replace(_DEFAULTS["clip"], activation="gelu")


def model_type(config: Config) -> str:
    """ "clip", "siglip" or "mobileclip". Raises ExportError naming any other."""
    name = config.get("model_type")
    if name not in MODEL_TYPES:
        raise ExportError(
            f"config.json: model_type {str(name)[:60]!r} must be one of: "
            f"{', '.join(MODEL_TYPES)}; as text tower alone: {', '.join(SENTENCE_TYPES)}"
        )
    return str(name)


def image_shape(config: Config) -> VitShape:
    """The image tower's sizes. Raises ExportError naming the invalid field."""
    kind = model_type(config)
    half = section(config, "vision_config")
    if kind == "siglip" and half.get("vision_use_head", True) is not True:
        raise ExportError(
            "config.json: vision_config.vision_use_head is off: such a tower has no embedding to search by"
        )
    shape = _vit(half, kind)
    return replace(shape, embedding=_projection(config, kind) or shape.encoder.width)


def picture_shape(config: Config) -> PictureShape:
    """The sizes of what reads pictures in Idefics3 and SmolVLM. Raises ExportError naming the field."""
    vit = _vit(section(config, "vision_config"), "idefics3")
    scale = whole(config.get("scale_factor", 2), "config.json: scale_factor", 64)
    if vit.grid % scale:
        raise ExportError(
            f"config.json: {vit.grid} patches of a side do not divide by scale_factor {scale}: is it the "
            "model's own config.json?"
        )
    if vit.patches > _MAX_PATCHES or vit.image > _MAX_SIDE:
        raise ExportError(
            f"config.json: pictures of {vit.image} pixels and {vit.patches} patches; at most {_MAX_SIDE} and "
            f"{_MAX_PATCHES} are read"
        )
    return PictureShape(vit, scale, decoder_shape(config, 1).hidden)


def _vit(half: Config, kind: str) -> VitShape:
    defaults = dict(_DEFAULTS[kind].image)
    if half.get("num_channels", 3) != 3:
        raise ExportError(
            f"config.json: vision_config.num_channels is {half['num_channels']!r}: photographs have 3"
        )
    encoder = _encoder(half, "vision_config", kind, defaults)
    image, patch = (_side(half, name, defaults[name]) for name in ("image_size", "patch_size"))
    if patch > image:
        raise ExportError(f"config.json: vision_config.patch_size {patch} is larger than image_size {image}")
    return VitShape(encoder, image, patch, encoder.width)


def text_shape(config: Config, pad: int | None = None) -> TextShape:
    """The text tower's sizes. Raises ExportError naming the invalid field.

    `pad`: the tokenizer's padding id, which overrides the config's.
    """
    kind = model_type(config)
    half, where = section(config, "text_config"), "text_config"
    defaults = dict(_DEFAULTS[kind].text)
    encoder = _encoder(half, where, kind, defaults)
    vocab = read_size(half, where, "vocab_size", defaults["vocab_size"], 1 << 24)
    positions = read_size(
        half, where, "max_position_embeddings", defaults["max_position_embeddings"], 1 << 14
    )
    eos = (
        read_size(half, where, "eos_token_id", defaults["eos_token_id"], vocab - 1, least=0)
        if kind != "siglip"
        else 0
    )
    if pad is None:
        pad = read_size(
            half,
            where,
            "pad_token_id",
            0 if vocab == GEMMA_VOCAB else defaults["pad_token_id"],
            vocab - 1,
            least=0,
        )
    width = half.get("projection_size") if kind == "siglip" else None
    embedding = encoder.width if width is None else read_size(half, where, "projection_size", 0, 1 << 16)
    return TextShape(encoder, vocab, positions, _projection(config, kind) or embedding, eos, pad)


def section(config: Config, name: str, where: str = "config.json") -> Config:
    """The sub-configuration `name`; {} if there is none. Raises ExportError if it is not an object.

    `NAME_dict`, which old CLIP configs have, takes precedence, as in transformers.
    """
    half = config.get(name + "_dict") or config.get(name) or {}
    section: Config = read_as(Config, half, f"{where}: {name}")
    return section


def _projection(config: Config, kind: str) -> int | None:
    return read_size(config, "", "projection_dim", 512, 1 << 16) if kind != "siglip" else None


def _encoder(half: Config, where: str, kind: str, defaults: dict[str, int]) -> EncoderShape:
    width, inner, layers, heads = (
        read_size(half, where, name, defaults[name], most)
        for name, most in (
            ("hidden_size", 1 << 16),
            ("intermediate_size", 1 << 18),
            ("num_hidden_layers", 512),
            ("num_attention_heads", 512),
        )
    )
    if width % heads:
        raise ExportError(f"config.json: {where}.hidden_size {width} does not divide into {heads} heads")
    activation = half.get("hidden_act", _DEFAULTS[kind].activation)
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise ExportError(
            f"config.json: {where}.hidden_act {str(activation)[:60]!r} must be one of: "
            f"{', '.join(ACTIVATIONS)}"
        )
    eps = half.get("layer_norm_eps", _DEFAULTS[kind].eps)
    eps = read_as(Annotated[float, Between(0, 1, "()")], eps, f"config.json: {where}.layer_norm_eps")
    return EncoderShape(width, heads, layers, inner, str(activation), eps)


def _side(half: Config, name: str, default: int) -> int:
    value = half.get(name, default)
    if isinstance(value, list) and len(value) == 2 and value[0] == value[1]:
        half = {name: value[0]}
    elif isinstance(value, list):
        raise ExportError(
            f"config.json: vision_config.{name} is {str(value)[:60]}: only squares are supported"
        )
    return read_size(half, "vision_config", name, default, 4096)


def read_size(part: Config, where: str, name: str, default: int, most: int, least: int = 1) -> int:
    """The integer field `name`, from `least` to `most`. Raises ExportError naming `where` and the field."""
    return whole(part.get(name, default), f"config.json: {f'{where}.{name}'.lstrip('.')}", most, least)
