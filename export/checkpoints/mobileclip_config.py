"""Converts MobileCLIP's published configurations to the form of configs/mobileclip-s0.json.

Apple's (ml-mobileclip: mobileclip_s0.json) and open_clip's (open_clip_config.json) give only the image
tower's name; TOWERS has its sizes. open_clip has no S0, because its text transformer has no convolutional
blocks.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Any

from gamer.index.json_checked import Between, Items

from ..checked import read_as, whole
from ..errors import ExportError
from ..networks.fastvit import HEAD, STRIDE, FastVitShape
from .tower_config import Config, read_size, section

# Image tower → (blocks, features) of its stages.
TOWERS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "mci0": ((2, 6, 10, 2), (64, 128, 256, 512)),
    "mci1": ((4, 12, 20, 4), (64, 128, 256, 512)),
    "mci2": ((4, 12, 24, 4), (80, 160, 320, 640)),
}
RATIO = 3  # width of an MLP over the width of its block
_Ratio = Annotated[float, Between(0, 64, "(]")]
_RESAMPLE = {"bilinear": 2, "bicubic": 3}
_TEXT = {"context_length", "vocab_size", "width", "heads", "layers", "mlp_ratio", "no_causal_mask"}


def read_apple(raw: Config, where: str) -> Config:
    """Converts Apple's configuration. Raises ExportError for an unknown tower."""
    image, text = section(raw, "image_cfg", where), section(raw, "text_cfg", where)
    if text.get("causal_masking") is not False or text.get("model_name") not in ("mct", "base"):
        raise ExportError(
            f"{where}: text_cfg must be the text tower of MobileCLIP's S0, S1 or S2, which reads both ways"
        )
    sizes = _widths(text.get("dim"), text.get("ffn_multiplier_per_layer"), 16, where) | {
        "num_attention_heads": text.get("n_heads_per_layer"),
        "num_hidden_layers": text.get("n_transformer_layers"),
    }
    return _config(raw, image.get("model_name"), image, sizes, text, text["model_name"] == "mct", where)


def read_open_clip(raw: Config, where: str) -> tuple[Config, Config]:
    """Converts open_clip's configuration to (config.json's form, preprocessor_config.json's form).

    Raises ExportError for an unknown tower.
    """
    model, transforms = section(raw, "model_cfg", where), section(raw, "preprocess_cfg", where)
    image, text = section(model, "vision_cfg", where), section(model, "text_cfg", where)
    name = str(image.get("timm_model_name")).removeprefix("fastvit_")
    known_fields = _TEXT | {key for key in text if "token" in key}
    native_head = image.get("timm_proj") is None and image.get("timm_pool") == "avg"
    if name in TOWERS and (
        text.get("no_causal_mask") is not True
        or not native_head
        or not known_fields.issuperset(text)
        or model.get("quick_gelu")
    ):
        raise ExportError(
            f"{where}: not as MobileCLIP's S0, S1 and S2 have it: a plain text tower that reads both ways, "
            "an image tower's own head"
        )
    sizes = _widths(text.get("width", 512), text.get("mlp_ratio", 4.0), 1, where) | {
        "num_attention_heads": text.get("heads", 8),
        "num_hidden_layers": text.get("layers", 12),
    }
    config = _config(model, name, image, sizes, text, False, where)
    return config, _processor(transforms, config["vision_config"]["image_size"], where)


def _widths(width: Any, ratio: Any, step: int, where: str) -> dict[str, Any]:
    """The width of a text tower and of its MLPs, the latter rounded up to a multiple of `step`."""
    width = whole(width, f"{where}: text_cfg: the width", 1 << 16)
    ratio = read_as(_Ratio, ratio, f"{where}: text_cfg: the width of the mlps over it")
    return {"hidden_size": width, "intermediate_size": math.ceil(width * ratio / step) * step}


def _config(
    raw: Config, name: Any, image: Config, sizes: dict[str, Any], text: Config, mixers: bool, where: str
) -> Config:
    if name not in TOWERS:
        raise ExportError(f"{where}: image tower {str(name)[:60]!r} must be one of: {', '.join(TOWERS)}")
    (depths, widths), vocab = TOWERS[name], text.get("vocab_size", 49408)
    return {
        "model_type": "mobileclip",
        "projection_dim": raw.get("embed_dim"),
        "vision_config": {
            "image_size": image.get("image_size", 256),
            "depths": list(depths),
            "hidden_sizes": list(widths),
            "mlp_ratio": RATIO,
        },
        "text_config": sizes
        | {"vocab_size": vocab, "max_position_embeddings": text.get("context_length", 77), "mixers": mixers}
        # The end-of-text token, where a text is pooled, has the highest id; texts are padded with 0.
        | {"eos_token_id": vocab - 1 if type(vocab) is int else vocab, "pad_token_id": 0},
    }


def _processor(steps: Config, image_size: Any, where: str) -> Config:
    mode, interpolation = steps.get("resize_mode", "shortest"), steps.get("interpolation", "bilinear")
    if mode not in ("shortest", "squash") or interpolation not in _RESAMPLE:
        raise ExportError(
            f"{where}: preprocess_cfg resizes by {str((mode, interpolation))[:60]}: shortest or squash, "
            "bilinear or bicubic are known"
        )
    size = (
        {"shortest_edge": image_size} if mode == "shortest" else {"height": image_size, "width": image_size}
    )
    processor: Config = {
        "size": size,
        "crop_size": image_size,
        "do_center_crop": mode == "shortest",
        "resample": _RESAMPLE[interpolation],
    }
    return processor | {f"image_{name}": steps[name] for name in ("mean", "std") if name in steps}


def image_shape(config: Config) -> FastVitShape:
    """The image tower's sizes. Raises ExportError naming the invalid field."""
    where = "vision_config"
    vision = section(config, where)
    depths, widths = (_four(vision, name, most) for name, most in (("depths", 64), ("hidden_sizes", 1 << 12)))
    if any(wide % narrow for narrow, wide in pairwise(widths)) or widths[-1] % HEAD:
        raise ExportError(
            f"config.json: {where}.hidden_sizes {list(widths)}: each must divide the next, and {HEAD} the "
            "last"
        )
    side = read_size(vision, where, "image_size", 256, 4096)
    if side % STRIDE:
        raise ExportError(f"config.json: {where}.image_size must be a multiple of {STRIDE}, not {side}")
    return FastVitShape(
        side,
        depths,
        widths,
        read_size(vision, where, "mlp_ratio", RATIO, 16),
        read_size(config, "", "projection_dim", 512, 1 << 16),
    )


def _four(vision: Config, name: str, most: int) -> tuple[int, ...]:
    kind = Annotated[tuple[Annotated[int, Between(1, most)], ...], Items(least=4, most=4)]
    four: tuple[int, ...] = read_as(kind, vision.get(name), f"config.json: vision_config.{name}")
    return four
