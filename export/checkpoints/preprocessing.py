"""Converts a Hugging Face preprocessor_config.json to the bundle's preprocessing spec."""

from __future__ import annotations

from typing import Annotated, Any

from gamer.index.json_checked import Between, Items
from gamer.runtime.bundle.manifest import Preprocessing

from ..checked import read_as, whole
from ..errors import ExportError
from . import mobileclip_config
from .tower_config import Config, image_shape, model_type, picture_shape

# PIL's filter numbers, which the file uses.
_FILTERS = {2: "bilinear", 3: "bicubic"}
_VIEW_FILTERS = {1: "lanczos", **_FILTERS}
_RESAMPLE = {"clip": 3, "siglip": 3, "blip-2": 3, "mobileclip": 2, "idefics3": 1}
_MEANS = {
    "mobileclip": (0.0, 0.0, 0.0),
    "clip": (0.48145466, 0.4578275, 0.40821073),
    "siglip": (0.5, 0.5, 0.5),
    "blip-2": (0.48145466, 0.4578275, 0.40821073),
    "idefics3": (0.5, 0.5, 0.5),
}
_STDS = {
    "mobileclip": (1.0, 1.0, 1.0),
    "clip": (0.26862954, 0.26130258, 0.27577711),
    "siglip": (0.5, 0.5, 0.5),
    "blip-2": (0.26862954, 0.26130258, 0.27577711),
    "idefics3": (0.5, 0.5, 0.5),
}
_Number = Annotated[float, Between(-1e6, 1e6)]
_Three = Annotated[tuple[_Number, ...], Items(least=3, most=3)]
_Factor = Annotated[_Number, Between(0, ends="(]")]
_SQUASHED = ("siglip", "blip-2")
WHERE = "preprocessor_config.json"


def preprocessing(config: Config, processor: Config | None = None) -> Preprocessing:
    """How pixels become the image tower's input.

    Raises ExportError as `of_architecture` does.
    """
    kind = model_type(config)
    side = mobileclip_config.image_shape(config).image if kind == "mobileclip" else image_shape(config).image
    return of_architecture(kind, side, processor)


def of_architecture(kind: str, side: int, processor: Config | None = None) -> Preprocessing:
    """The same for a tower of `kind` (a model type) that takes `side` × `side` pixels.

    Fields that `processor` lacks (all, if it is None) get the architecture's defaults at the tower's size.
    CLIP and MobileCLIP resize the shorter side and crop the centre; SigLIP and BLIP-2 resize to a square
    regardless of the aspect ratio. Raises ExportError for other steps.
    """
    fields = processor or {}
    _check_steps(fields)
    size = fields.get(
        "size", {"height": side, "width": side} if kind in _SQUASHED else {"shortest_edge": side}
    )
    crop = fields.get("do_center_crop", kind not in _SQUASHED)
    resize, squash = _size(size, bool(crop))
    cut = _side(fields.get("crop_size", side), "crop_size") if crop else resize
    if not squash and not crop:
        raise ExportError(
            f"{WHERE}: the shorter side is resized and nothing cropped: the tower takes squares only"
        )
    if cut != side or (squash and resize != side) or resize < cut:
        raise ExportError(
            f"{WHERE}: gives {cut} × {cut} pixels after a resize to {resize}, the tower takes {side} × {side}"
        )
    return _spec(kind, fields, resize, cut, "squash" if squash else "crop", _FILTERS)


def picture_preprocessing(config: Config, processor: Config | None) -> Preprocessing:
    """How pixels become the one view of a picture that a vision-language model's tower gets.

    The longer side is resized to `size`, then both to the tower's, as transformers does without tiles: each
    tile is a view of its own, and all of them cost a phone up to seventeen times the tokens. Raises
    ExportError as `of_architecture` does.
    """
    side, fields = picture_shape(config).vit.image, processor or {}
    _check_steps(fields)
    sizes = {"size": 4 * side, "max_image_size": side}
    for name, default in sizes.items():
        given = read_as(Config, fields.get(name) or {"longest_edge": default}, f"{WHERE}: {name}")
        sizes[name] = whole(given.get("longest_edge"), f"{WHERE}: {name}.longest_edge", 4096)
    if sizes["max_image_size"] != side or sizes["size"] < side:
        raise ExportError(
            f"{WHERE}: size {sizes['size']} and max_image_size {sizes['max_image_size']}; the tower takes "
            f"{side} × {side}"
        )
    return _spec("idefics3", fields, sizes["size"], side, "longest", _VIEW_FILTERS)


def _check_steps(fields: Config) -> None:
    for step in ("do_resize", "do_rescale", "do_normalize"):
        if fields.get(step, True) is not True:
            raise ExportError(
                f"{WHERE}: {step} is off: a tower that takes raw pixels of any size is not supported"
            )


def _spec(
    kind: str, fields: Config, resize: int, cut: int, fit: str, filters: dict[int, str]
) -> Preprocessing:
    means, stds = (
        _channels(fields.get(n, d[kind]), n, fields)
        for n, d in (("image_mean", _MEANS), ("image_std", _STDS))
    )
    if min(stds) <= 0:
        raise ExportError(f"{WHERE}: image_std must be positive numbers, not {min(stds)}")
    return Preprocessing(
        resize=resize,
        crop=cut,
        interpolation=_filter(fields.get("resample", _RESAMPLE[kind]), filters),
        mean=sum(means) / 3,
        std=sum(stds) / 3,
        channel_mean=means,
        channel_std=stds,
        fit=fit,
    )


def _size(size: Any, crop: bool) -> tuple[int, bool]:
    """(size in pixels, whether both sides are resized to it).

    Old configurations have a single number: the shorter side if a crop follows, else both sides.
    """
    if isinstance(size, dict) and "shortest_edge" in size and "longest_edge" not in size:
        return _side(size["shortest_edge"], "size.shortest_edge"), False
    if isinstance(size, dict):
        return _side(size, "size"), True
    return _side(size, "size"), not crop


def _side(size: Any, name: str) -> int:
    value = size.get("height") if isinstance(size, dict) else size
    if isinstance(size, dict) and size.get("width") != value:
        raise ExportError(f"{WHERE}: {name} is {str(size)[:80]}: only squares are supported")
    return whole(value, f"{WHERE}: {name}", 4096)


def _filter(number: Any, filters: dict[int, str]) -> str:
    if not isinstance(number, int) or number not in filters:
        raise ExportError(
            f"{WHERE}: resample must be one of the following, not {str(number)[:40]}: "
            f"{', '.join(f'{n} ({f})' for n, f in filters.items())}"
        )
    return filters[number]


def _channels(values: Any, name: str, given: Config) -> tuple[float, ...]:
    """Three values of the file, divided by rescale_factor: in units of pixel values 0..255."""
    factor = given.get("rescale_factor", 1 / 255)
    scale = read_as(_Factor, factor, f"{WHERE}: rescale_factor")
    return tuple(number / scale for number in read_as(_Three, values, f"{WHERE}: {name}"))
