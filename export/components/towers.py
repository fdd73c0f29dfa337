"""Builds the image and text towers of CLIP and SigLIP, and the towers of vision-language models.

MobileCLIP, another architecture, has its towers in mobileclip.py.

Each module is created on the meta device and filled tensor by tensor, so that a checkpoint is never held in
memory beside the module.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from ..checkpoints.preprocessing import picture_preprocessing, preprocessing
from ..checkpoints.tower_config import Config, image_shape, model_type, picture_shape, text_shape
from ..checkpoints.weights import NoWeights, Weights, constant, fill
from ..networks.clip_text import ClipText, SiglipText
from ..networks.encoder import Encoder
from ..networks.vit import ClipImage, Patches, PicturePrompts, SiglipImage, SiglipPatches, VitShape
from ..recipe import VISION
from . import export_module, mobileclip
from .export_module import ExportModule

__all__ = ["TowerSize", "features", "image_tower", "picture_reader", "preprocessing", "shapes", "text_tower"]

# Submodule of a layer → Hugging Face's names, whose tensors are concatenated.
_LAYER: dict[str, tuple[str, ...]] = {
    "attention_norm": ("layer_norm1",),
    "qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "out": ("self_attn.out_proj",),
    "norm": ("layer_norm2",),
    "mlp.up": ("mlp.fc1",),
    "mlp.down": ("mlp.fc2",),
}


@dataclass(frozen=True)
class TowerSize:
    """The numbers of a tower's parameters.

    `matrices`: in matrices and convolutions. `tables`: in embedding tables. `rest`: biases, norms, positions.
    """

    role: str
    architecture: str
    matrices: int
    tables: int
    rest: int

    @property
    def parameters(self) -> int:
        return self.matrices + self.tables + self.rest


def image_tower(config: Config, weights: Weights, processor: Config | None = None) -> ExportModule:
    """The image tower: prepared pixels → (embedding, patches).

    `processor`: the contents of preprocessor_config.json, whose mean and deviation become part of the graph.
    Raises ExportError for an unknown architecture, an invalid config, and weights that do not fit.
    """
    kind, spec = model_type(config), preprocessing(config, processor)
    if kind == "mobileclip":
        return mobileclip.image_tower(config, weights, spec)
    shape = image_shape(config)
    module = _clip_image(shape, weights) if kind == "clip" else _siglip_image(shape, weights)
    export_module.normalises(module.patch, spec)
    return export_module.image_tower(
        module,
        shape.image,
        {"embedding": (shape.embedding,), "patches": (shape.patches, shape.encoder.width)},
        _image_name(shape, kind),
        weights,
    )


def text_tower(config: Config, weights: Weights, pad: int | None = None) -> ExportModule:
    """The text tower: input_ids, attention_mask → embedding.

    CLIP takes any number of tokens up to its positions, SigLIP always as many as its positions. `pad`: the
    tokenizer's padding id (SigLIP attends to padding). Raises ExportError as image_tower does.
    """
    shape, kind = text_shape(config, pad), model_type(config)
    if kind == "mobileclip":
        return mobileclip.text_tower(config, weights)
    with torch.device("meta"):
        module: ClipText | SiglipText = ClipText(shape) if kind == "clip" else SiglipText(shape)
    fill(
        module,
        weights,
        "text_model",
        {"embed": ("embeddings.token_embedding",), "norm": ("final_layer_norm",)},
    )
    module.positions = constant(
        weights.get("text_model.embeddings.position_embedding.weight", shape.positions, shape.encoder.width)
    )
    fill(module, weights, "", {"project": ("text_projection" if kind == "clip" else "text_model.head",)})
    _fill_encoder(module.encoder, weights, "text_model")
    return export_module.text_tower(
        module,
        shape.positions,
        kind != "clip",
        shape.embedding,
        f"{_FAMILY[kind]} text, {shape.encoder.layers} layers × {shape.encoder.width}",
        weights,
    )


def picture_reader(config: Config, weights: Weights, processor: Config | None = None) -> ExportModule:
    """What a vision-language model's decoder gets of a picture: prepared pixels → soft prompts.

    `processor`: as in image_tower. Raises ExportError as image_tower does.
    """
    shape, spec = picture_shape(config), picture_preprocessing(config, processor)
    with torch.device("meta"):
        module = PicturePrompts(shape)
    _fill_siglip(module, weights, "model.vision_model", shape.vit)
    module.positions = constant(_bucketed(module.positions, shape.vit.grid))
    fill(module, weights, "model.connector.modality_projection", {"project": ("proj",)})
    export_module.normalises(module.patch, spec)
    item = export_module.image_tower(
        module,
        shape.vit.image,
        {"prompts": (shape.prompts, shape.hidden)},
        f"{_image_name(shape.vit, 'siglip')}, {shape.scale} × {shape.scale} patches a prompt; one view of a "
        "picture, no tiles",
        weights,
    )
    return replace(item, role=VISION)


def features(config: Config) -> tuple[int, int]:
    """(number of patches, width) of the image tower's second output, which the DPE takes."""
    if model_type(config) == "mobileclip":
        return mobileclip.features(config)
    shape = image_shape(config)
    return shape.patches, shape.encoder.width


def shapes(config: Config) -> tuple[TowerSize, ...]:
    """Both towers' sizes, without reading weights. Raises ExportError."""
    return tuple(
        _size(tower) for tower in (image_tower(config, NoWeights()), text_tower(config, NoWeights()))
    )


_FAMILY = {"clip": "CLIP", "siglip": "SigLIP"}


def _image_name(shape: VitShape, kind: str) -> str:
    return (
        f"{_FAMILY[kind]} ViT/{shape.patch} at {shape.image}, {shape.encoder.layers} layers × "
        f"{shape.encoder.width}"
    )


def _clip_image(shape: VitShape, weights: Weights) -> ClipImage:
    with torch.device("meta"):
        module = ClipImage(shape)
    root, width = "vision_model", shape.encoder.width
    _fill_patches(module.patch, weights, root, shape)
    table = weights.get(f"{root}.embeddings.position_embedding.weight", shape.patches + 1, width)
    module.first = constant((weights.get(f"{root}.embeddings.class_embedding", width) + table[0])[None, None])
    module.positions = constant(table[None, 1:].contiguous())
    # "pre_layrnorm" is how the checkpoints spell it.
    fill(module, weights, root, {"pre_norm": ("pre_layrnorm",), "post_norm": ("post_layernorm",)})
    fill(module, weights, "", {"project": ("visual_projection",)})
    _fill_encoder(module.encoder, weights, root)
    return module


def _siglip_image(shape: VitShape, weights: Weights) -> SiglipImage:
    with torch.device("meta"):
        module = SiglipImage(shape)
    root, width = "vision_model", shape.encoder.width
    _fill_siglip(module, weights, root, shape)
    names = {"out": "head.attention.out_proj", "head_norm": "head.layernorm"}
    names |= {"mlp.up": "head.mlp.fc1", "mlp.down": "head.mlp.fc2"}
    fill(module, weights, root, {ours: (theirs,) for ours, theirs in names.items()})
    matrix = weights.get(f"{root}.head.attention.in_proj_weight", 3 * width, width)
    bias = weights.get(f"{root}.head.attention.in_proj_bias", 3 * width)
    probe = weights.get(f"{root}.head.probe", 1, 1, width)
    module.query = constant(nn.functional.linear(probe, matrix[:width], bias[:width]))
    module.kv.weight, module.kv.bias = constant(matrix[width:].clone()), constant(bias[width:].clone())
    return module


def _fill_siglip(module: SiglipPatches, weights: Weights, root: str, shape: VitShape) -> None:
    _fill_patches(module.patch, weights, root, shape)
    module.positions = constant(
        weights.get(f"{root}.embeddings.position_embedding.weight", shape.patches, shape.encoder.width)[None]
    )
    _fill_encoder(module.encoder, weights, root)
    fill(module, weights, root, {"post_norm": ("post_layernorm",)})


def _bucketed(positions: Tensor, grid: int) -> Tensor:
    """Positions float32 [1, P, W] as Idefics3's embeddings choose them for a whole view.

    They look a patch's place up among the sides' fractions: rounding may give it its neighbour's.
    """
    borders = torch.arange(1 / grid, 1.0, 1 / grid)
    places = torch.clamp(torch.arange(grid, dtype=torch.float32) * (1.0 / torch.tensor(grid)), max=1.0 - 1e-6)
    at = torch.bucketize(places, borders, right=True)
    return positions[:, (at[:, None] * grid + at[None]).reshape(-1)].contiguous()


def _fill_patches(patch: Patches, weights: Weights, root: str, shape: VitShape) -> None:
    width, side = shape.encoder.width, shape.patch
    kernel = weights.get(f"{root}.embeddings.patch_embedding.weight", width, 3, side, side)
    patch.linear.weight = constant(kernel.permute(0, 2, 3, 1).reshape(width, -1).contiguous())
    if patch.linear.bias is not None:
        patch.linear.bias = constant(weights.get(f"{root}.embeddings.patch_embedding.bias", width))


def _fill_encoder(encoder: Encoder, weights: Weights, root: str) -> None:
    for n, layer in enumerate(encoder.layers):
        fill(layer, weights, f"{root}.encoder.layers.{n}", _LAYER)


def _size(tower: ExportModule) -> TowerSize:
    count: dict[Any, int] = {nn.Linear: 0, nn.Conv2d: 0, nn.Embedding: 0}
    for module in tower.module.modules():
        if type(module) in count:
            count[type(module)] += module.weight.numel()
    total = sum(p.numel() for p in tower.module.parameters())
    return TowerSize(
        tower.role,
        tower.architecture,
        count[nn.Linear] + count[nn.Conv2d],
        count[nn.Embedding],
        total - sum(count.values()),
    )
