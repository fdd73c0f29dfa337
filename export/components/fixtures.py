"""Fixtures: real photographs and sentences for int8 calibration, parity and the golden files of a bundle.

The photographs are files of the scikit-image and scikit-learn packages; they are not copied into the project.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.index import load_pixels
from gamer.runtime.bundle.manifest import Preprocessing
from gamer.runtime.models.image import prepare

from ..errors import ExportError
from ..recipe import FACE_ROLES, PICTURE_ROLES, VISION
from ..settings import Settings
from . import components, faces, printed, query_adapter, states
from .components import reference
from .export_module import ExportModule
from .photographs import PHOTOS, photo_path

TEXTS = (
    "the coffee I photographed last spring",
    "my cat asleep on the sofa",
    "A rocket leaves the launch pad at night, and everyone on the beach cheers.",
    "photo of my son at the airport last time",
    "IKEA chair, 119 euros",
    "где моя собака на пляже",
    "sunset",
    "We walked from the old temple down to the lake, had noodles in a small shop next to the station, and "
    "took the last train back home.",
)
PROSE = (
    "The photograph was taken early in the morning, before the market opened. My brother stood beside the "
    "fountain with a cup of coffee in his hand, and behind him you can see the red roof of the old railway "
    "station where our grandfather worked for thirty years. It had rained during the night, so the stones "
    "were still wet, and two children were jumping over the puddles while their mother looked for the "
    "keys. We stayed until noon, bought bread and cherries, and walked back along the river, past the "
    "yellow house with the broken window."
)


@lru_cache(maxsize=2)
def images(spec: Preprocessing) -> tuple[NDArray[np.float32], ...]:
    """The photographs after preprocessing: float32 [1, side, side, 3] each."""
    return tuple(prepare(load_pixels(path), spec) for path in paths())


@lru_cache(maxsize=1)
def photographs() -> tuple[NDArray[np.uint8], ...]:
    """The photographs before preprocessing: uint8 [H, W, 3], of different sizes."""
    return tuple(load_pixels(path) for path in paths())


def paths() -> list[Path]:
    """The paths of all packaged photographs."""
    return [photo_path(package, name) for package, (_, names) in PHOTOS.items() for name in names]


def image_spec(settings: Settings, role: str = "image_tower") -> Preprocessing:
    """The preprocessing of what reads pictures. Raises ExportError for a recipe without an image tower."""
    spec = (
        components.picture_preprocessing(settings) if role == VISION else components.preprocessing(settings)
    )
    if spec is None:
        raise ExportError(f"recipe {settings.recipe} has no image tower")
    return spec


def patches(settings: Settings, names: Sequence[str] = ()) -> list[tuple[NDArray[Any], ...]]:
    """Patch features, the DPE's input, of the photographs called `names`, or of the first six."""
    tower = components.build(settings, "image_tower", "fp32").module
    photo_numbers = [n for n, path in enumerate(paths()) if path.name in names] or range(6)
    prepared = images(image_spec(settings))
    return [(reference(tower, (prepared[n],))[1],) for n in photo_numbers]


def tokens(
    settings: Settings, width: int | None, texts: Sequence[str] = TEXTS
) -> list[tuple[NDArray[Any], ...]]:
    """(ids, mask) of each text, int64 [1, tokens], cut and padded to `width` tokens if given."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(components.text_tokenizer(settings))
    out: list[tuple[NDArray[Any], ...]] = []
    for text in texts:
        ids = tokenizer.encode(text).ids[:width]
        row = np.zeros((2, width or len(ids)), np.int64)
        row[0, : len(ids)], row[1, : len(ids)] = ids, 1
        out.append((row[:1], row[1:]))
    return out


def prose_ids(settings: Settings) -> list[int]:
    """PROSE as token ids of the language model."""
    from tokenizers import Tokenizer

    return list(Tokenizer.from_str(components.llm_tokenizer(settings)[0]).encode(PROSE).ids)


def samples(settings: Settings, item: ExportModule, fixed: bool) -> list[tuple[NDArray[Any], ...]]:
    """Real inputs of a component, in the order of its arguments; `fixed`: with the shapes of the example.

    Language models have none here: parity/measure.py uses PROSE. A text is read as a memory and, with the
    adapter of its text tower, as a query.
    """
    match item.role:
        case "image_tower" | "llm_vision":
            return [(x,) for x in images(image_spec(settings, item.role))]
        case "text_tower":
            return texts(settings, item, TEXTS, fixed)
        case "llm_embed":
            return [(np.array([i], np.int64),) for i in prose_ids(settings)]
        case "llm_encoder" | "llm_decoder":
            return []
        case "dpe_query":
            return query_states(settings)
        case role if role in PICTURE_ROLES:
            return [(x[None].astype(np.float32),) for x in pictures(role, photographs()[:4])]
    return patches(settings)


def pictures(role: str, of: tuple[NDArray[np.uint8], ...]) -> NDArray[np.uint8]:
    """uint8 [n, height, width, 3] of the size of a component's example, for one of PICTURE_ROLES."""
    return faces.pictures(role, of) if role in FACE_ROLES else printed.pictures(role)


def texts(
    settings: Settings, item: ExportModule, given: Sequence[str], fixed: bool
) -> list[tuple[NDArray[Any], ...]]:
    """The text tower's inputs for each of `given`, as a memory and as a query; `fixed` as in samples."""
    axis = item.inputs[0].shape[1]
    width = int(item.example[0].shape[1]) if fixed or isinstance(axis, int) else None
    rows, adapter = tokens(settings, width, given), query_adapter.of(settings)
    if adapter is None:
        return rows
    return [(*row, change) for row in rows for change in (np.zeros_like(adapter), adapter)]


def query_states(settings: Settings) -> list[tuple[NDArray[Any], ...]]:
    """The states of TEXTS, float32 [1, W] each, that the query head gets."""
    rows = states.of_queries(settings, components.query_side(settings).query, TEXTS)
    return [(row[None],) for row in rows]


def write_texts(settings: Settings, folder: Path) -> None:
    """Writes text.json and llm.json: texts with their token ids and, for the text tower, fp32 embeddings.

    `aligned` is the embedding of the text as a query, by the query adapter, where there is one.
    Ports test their tokenizers with them; parity/golden.py writes the inputs and outputs of components.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = settings.chosen.parts()
    if "text" in parts:
        _write_json(folder / "text.json", _golden_text(settings))
    if "llm" in parts:
        _write_json(folder / "llm.json", {"text": PROSE, "ids": prose_ids(settings)})


def _golden_text(settings: Settings) -> list[dict[str, Any]]:
    item = components.build(settings, "text_tower", "fp32")
    axis, adapter = item.inputs[0].shape[1], query_adapter.of(settings)
    rows = []
    for text, (ids, mask) in zip(
        TEXTS, tokens(settings, axis if isinstance(axis, int) else None), strict=True
    ):
        row = {
            "text": text,
            "ids": ids[0, : int(mask.sum())].tolist(),
            "embedding": _rounded(reference(item.module, (ids, mask))[0][0]),
        }
        if adapter is not None:
            row["aligned"] = _rounded(reference(item.module, (ids, mask, adapter))[0][0])
        rows.append(row)
    return rows


def _rounded(vector: NDArray[np.float32]) -> list[float]:
    return [round(float(x), 6) for x in vector]


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
