"""Builds MobileCLIP's towers as modules ready to lower, from a checkpoint in either published layout.

Tensors are requested by open_clip's names (`visual.trunk.*` as timm names FastViT, `text.*`). Apple's layout
(`image_encoder.model.*`, `text_encoder.*`) is read through `AppleNames`. open_clip has no names for the
convolutional blocks of S0's text tower: they are called `text.mixers.0` and `text.mixers.1` here, with timm's
names below.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import torch
from torch import Tensor

from gamer.runtime.bundle.manifest import Preprocessing

from ..checkpoints.fastvit_weights import fill_image, fill_mixer
from ..checkpoints.mobileclip_config import image_shape
from ..checkpoints.tower_config import Config, section, text_shape
from ..checkpoints.weights import Weights, constant, fill
from ..errors import ExportError
from ..networks.fastvit import FastVit
from ..networks.mobileclip_text import MobileClipText, MobileClipTextShape
from . import export_module
from .export_module import ExportModule

Rule = tuple[str, str | Callable[[re.Match[str]], str]]
# Submodule of a layer → open_clip's name.
_LAYER: dict[str, tuple[str, ...]] = {
    "attention_norm": ("ln_1",),
    "out": ("attn.out_proj",),
    "norm": ("ln_2",),
    "mlp.up": ("mlp.c_fc",),
    "mlp.down": ("mlp.c_proj",),
}
# Substitutions that turn timm's and open_clip's names into Apple's, applied in this order.
_APPLE_IMAGE: tuple[Rule, ...] = (
    (r"^visual\.trunk\.", "image_encoder.model."),
    (r"\.stem\.", ".patch_embed."),
    (r"\.final_conv\.se\.fc1\.", ".conv_exp.se.reduce."),
    (r"\.final_conv\.se\.fc2\.", ".conv_exp.se.expand."),
    (r"\.final_conv\.", ".conv_exp."),
    (
        r"\.stages\.([123])\.downsample\.proj\.0\.reparam_conv\.",
        lambda m: f".network.{2 * int(m[1]) - 1}.proj.0.lkb_reparam.",
    ),
    (r"\.stages\.([123])\.downsample\.", lambda m: f".network.{2 * int(m[1]) - 1}."),
    (r"\.stages\.3\.pos_emb\.pos_enc\.", ".network.6.pe."),
    (r"\.stages\.3\.pos_emb\.", ".network.6."),
    (r"\.stages\.3\.blocks\.", ".network.7."),
    (r"\.stages\.([012])\.blocks\.", lambda m: f".network.{2 * int(m[1])}."),
    (r"\.large_conv\.", ".lkb_origin."),
)
_APPLE_BLOCKS: tuple[Rule, ...] = (
    (r"\.mlp\.", ".convffn."),
    (r"\.conv_kxk\.", ".rbr_conv."),
    (r"\.conv_scale\.", ".rbr_scale."),
    (r"\.identity\.", ".rbr_skip."),
    (r"\.(layer_scale(?:_\d)?)\.gamma$", r".\1"),
)
_APPLE_TEXT: tuple[Rule, ...] = (
    (r"^text\.token_embedding\.", "text_encoder.embedding_layer."),
    (r"^text\.positional_embedding$", "text_encoder.positional_embedding.pos_embed.pos_embed"),
    (r"^text\.ln_final\.", "text_encoder.final_layer_norm."),
    (r"^text\.text_projection$", "text_encoder.projection_layer"),
    (r"\.ln_1\.", ".pre_norm_mha.0."),
    (r"\.attn\.in_proj_(weight|bias)$", r".pre_norm_mha.1.qkv_proj.\1"),
    (r"\.attn\.", ".pre_norm_mha.1."),
    (r"\.ln_2\.", ".pre_norm_ffn.0."),
    (r"\.mlp\.c_fc\.", ".pre_norm_ffn.1."),
    (r"\.mlp\.c_proj\.", ".pre_norm_ffn.4."),
)


class AppleNames:
    """Weights in Apple's layout, accessed by open_clip's names.

    `layers`: attention layers of the text tower. `mixers`: see MobileClipTextShape.
    """

    def __init__(self, weights: Weights, layers: int, mixers: bool) -> None:
        self._weights, self._layers, self._first = weights, layers, int(mixers)
        self.source, self.trained = weights.source, weights.trained

    def has(self, name: str) -> bool:
        return self._weights.has(self.named(name))

    def get(self, name: str, *shape: int) -> Tensor:
        apple_name = self.named(name)
        match name:
            case "text.positional_embedding":
                return self._weights.get(apple_name, 1, 1, *shape).reshape(shape)
            case "visual.trunk.head.fc.weight":
                return self._weights.get("image_encoder.model.head.proj", *reversed(shape)).T
            case "visual.trunk.head.fc.bias":
                return torch.zeros(shape)
        return self._weights.get(apple_name, *shape)

    def named(self, name: str) -> str:
        """Apple's name of a tensor."""
        if name.startswith("visual."):
            return _renamed(name, *_APPLE_IMAGE, *_APPLE_BLOCKS)
        if name.startswith("text.mixers."):
            block = 0 if name.startswith("text.mixers.0.") else self._layers + 1
            return _renamed(name, (r"^text\.mixers\.\d", f"text_encoder.transformer.{block}"), *_APPLE_BLOCKS)
        layer: Rule = (
            r"^text\.transformer\.resblocks\.(\d+)",
            lambda m: f"text_encoder.transformer.{int(m[1]) + self._first}",
        )
        return _renamed(name, layer, *_APPLE_TEXT)


def _renamed(name: str, *rules: Rule) -> str:
    for pattern, to in rules:
        name = re.sub(pattern, to, name)
    return name


def image_tower(config: Config, weights: Weights, spec: Preprocessing) -> ExportModule:
    """As towers.image_tower; `patches` are the features before pooling."""
    shape = image_shape(config)
    with torch.device("meta"):
        module = FastVit(shape)
    fill_image(module, _named(config, weights, "visual.trunk.final_conv.se.fc1.weight"), "visual.trunk")
    export_module.normalises(module, spec)
    depths, widths = ("-".join(map(str, sizes)) for sizes in (shape.depths, shape.widths))
    return export_module.image_tower(
        module,
        shape.image,
        {"embedding": (shape.embedding,), "patches": (shape.patches, shape.features)},
        f"MobileCLIP FastViT at {shape.image}, {depths} blocks × {widths}",
        weights,
    )


def text_tower(config: Config, weights: Weights) -> ExportModule:
    """As towers.text_tower; texts are padded to all positions, as in training."""
    shape = _text_shape(config)
    text, named = shape.text, _named(config, weights, "text.ln_final.weight")
    width = text.encoder.width
    with torch.device("meta"):
        module = MobileClipText(shape)
    fill(module, named, "text", {"embed": ("token_embedding",), "norm": ("ln_final",)})
    module.positions = constant(named.get("text.positional_embedding", text.positions, width))
    module.project.weight = constant(named.get("text.text_projection", width, text.embedding).T.contiguous())
    for n, mixer in enumerate(module.mixers):
        fill_mixer(mixer, named, f"text.mixers.{n}")
    for n, layer in enumerate(module.encoder.layers):
        root = f"text.transformer.resblocks.{n}"
        fill(layer, named, root, _LAYER)
        layer.qkv.weight = constant(named.get(f"{root}.attn.in_proj_weight", 3 * width, width))
        layer.qkv.bias = constant(named.get(f"{root}.attn.in_proj_bias", 3 * width))
    mixers = " between 2 of convolutions" if shape.mixers else ""
    return export_module.text_tower(
        module,
        text.positions,
        True,
        text.embedding,
        f"MobileCLIP text, {text.encoder.layers} layers × {width}{mixers}",
        weights,
    )


def features(config: Config) -> tuple[int, int]:
    """As towers.features."""
    shape = image_shape(config)
    return shape.patches, shape.features


def _text_shape(config: Config) -> MobileClipTextShape:
    mixers = section(config, "text_config").get("mixers", False)
    if type(mixers) is not bool:
        raise ExportError(f"config.json: text_config.mixers must be true or false, not {str(mixers)[:60]}")
    return MobileClipTextShape(text_shape(config), mixers)


def _named(config: Config, weights: Weights, name: str) -> Weights:
    """The weights, accessible by open_clip's names.

    `name`: a tensor that every checkpoint of the tower has, by which the layout is recognised. Raises
    ExportError if neither layout has it.
    """
    shape = _text_shape(config)
    apple = AppleNames(weights, shape.text.encoder.layers, shape.mixers)
    if weights.has(name):
        return weights
    if not apple.has(name):
        raise ExportError(
            f"{weights.source}: neither open_clip's {name} nor Apple's own tensors: no MobileCLIP "
            "checkpoint, or not whole"
        )
    return apple


__all__ = ["AppleNames", "features", "image_tower", "text_tower"]
