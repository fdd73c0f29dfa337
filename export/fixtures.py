"""Fixtures: the real photographs and sentences that calibrate int8, prove parity and are shipped as golden files for every port.

The photographs are those that scikit-image and scikit-learn package; they are read from there, never copied into the project.
"""

from __future__ import annotations

import importlib.util
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from gamer.index import load_pixels
from gamer.runtime.image import prepare
from gamer.runtime.manifest import Preprocessing
from numpy.typing import NDArray

from .components import IMAGE_SIZE, MEAN, RESIZE, STD, build, reference
from .errors import ExportError
from .recipe import Recipe
from .sources import image_network, llm_tokenizer, sentence_tokenizer

PHOTOS = {
    "skimage": ("data", ("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "motorcycle_left.png", "brick.png", "grass.png",
                         "coins.png", "hubble_deep_field.jpg", "camera.png", "moon.png", "retina.jpg", "motorcycle_right.png", "gravel.png")),
    "sklearn": ("datasets/images", ("china.jpg", "flower.jpg")),
}  # fmt: skip
TEXTS = (
    "the coffee I photographed last spring",
    "my cat asleep on the sofa",
    "A rocket leaves the launch pad at night, and everyone on the beach cheers.",
    "photo of my son at the airport last time",
    "IKEA chair, 119 euros",
    "где моя собака на пляже",
    "sunset",
    "We walked from the old temple down to the lake, had noodles in a small shop next to the station, and took the last train back home.",
)
PROSE = (
    "The photograph was taken early in the morning, before the market opened. My brother stood beside the fountain with a cup of coffee in "
    "his hand, and behind him you can see the red roof of the old railway station where our grandfather worked for thirty years. It had rained "
    "during the night, so the stones were still wet, and two children were jumping over the puddles while their mother looked for the keys. "
    "We stayed until noon, bought bread and cherries, and walked back along the river, past the yellow house with the broken window."
)
PREPROCESSING = Preprocessing(resize=RESIZE, crop=IMAGE_SIZE, interpolation="bicubic", mean=MEAN, std=STD)


def photo_path(package: str, name: str) -> Path:
    """Path of a packaged photograph. Raises ExportError with what to install."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ExportError(f"the fixtures' photographs come with {package}: pip install 'gamer-on-device[export]'")
    return Path(spec.origin).parent / PHOTOS[package][0] / name


@lru_cache(maxsize=1)
def images() -> tuple[NDArray[np.float32], ...]:
    """The photographs, prepared: float32 [1, 224, 224, 3] each."""
    paths = [photo_path(package, name) for package, (_, names) in PHOTOS.items() for name in names]
    return tuple(prepare(load_pixels(path), PREPROCESSING) for path in paths)


def patches(recipe: Recipe) -> list[tuple[NDArray[Any], ...]]:
    """Patch features of the first photographs, as the DPE sees them."""
    network = image_network(recipe.image_source)
    out: list[tuple[NDArray[Any], ...]] = []
    for pixels in images()[:6]:
        normalised = (pixels.transpose(0, 3, 1, 2) - MEAN) / STD
        features = reference(network, (normalised.astype(np.float32),))[1]
        out.append((np.ascontiguousarray(features.reshape(1, features.shape[1], -1).transpose(0, 2, 1)),))
    return out


def tokens(recipe: Recipe, fixed: bool) -> list[tuple[NDArray[Any], ...]]:
    """ids and mask of TEXTS, one text a row, padded to the recipe's length if `fixed`."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(sentence_tokenizer(recipe.text_source, recipe.max_text))
    out: list[tuple[NDArray[Any], ...]] = []
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        row = np.zeros((2, recipe.max_text if fixed else len(ids)), np.int64)
        row[0, : len(ids)], row[1, : len(ids)] = ids, 1
        out.append((row[:1], row[1:]))
    return out


def prose_ids(recipe: Recipe) -> list[int]:
    """PROSE as the LLM's token ids."""
    from tokenizers import Tokenizer

    return list(Tokenizer.from_str(llm_tokenizer(recipe.llm_source)[0]).encode(PROSE).ids)


def samples(recipe: Recipe, role: str, fixed: bool) -> list[tuple[NDArray[Any], ...]]:
    """Real inputs of a component, in the order of its arguments. The decoder has none: it is proven on PROSE (parity.py)."""
    match role:
        case "image_tower":
            return [(x,) for x in images()]
        case "text_tower":
            return tokens(recipe, fixed)
        case "llm_embed":
            return [(np.array([i], np.int64),) for i in prose_ids(recipe)]
        case "llm_decoder":
            return []
    return patches(recipe)


def write_golden(recipe: Recipe, folder: Path) -> None:
    """Golden inputs and fp32 outputs for every port: JSON for text, .npy (no pickle) for arrays."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder = build(recipe, "text_tower", "fp32").module
    rows = []
    for text, (ids, mask) in zip(TEXTS, tokens(recipe, fixed=False), strict=True):
        vector = reference(encoder, (ids, mask))[0][0]
        rows.append({"text": text, "ids": ids[0].tolist(), "embedding": [round(float(x), 6) for x in vector]})
    (folder / "text.json").write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    tower = build(recipe, "image_tower", "fp32").module
    chosen = images()[:4]
    np.save(folder / "image_pixels.npy", np.rint(np.concatenate(chosen)).clip(0, 255).astype(np.uint8), allow_pickle=False)
    rounded = [np.rint(x).clip(0, 255).astype(np.float32) for x in chosen]
    np.save(folder / "image_embeddings.npy", np.concatenate([reference(tower, (x,))[0] for x in rounded]), allow_pickle=False)
    (folder / "llm.json").write_text(json.dumps({"text": PROSE, "ids": prose_ids(recipe)}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
