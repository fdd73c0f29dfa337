"""Golden inputs and fp32 torch outputs of every component, for runtime/models/selfcheck.py and the ports.

They are few, because they run when a phone first starts. Each array is a file `fixtures/ROLE.NAME.npy`; the
expected output is called `want`. It is computed by the code that replays the inputs (selfcheck.replay).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.index import load_pixels
from gamer.index.replacing import replacing
from gamer.runtime.bundle.manifest import Preprocessing
from gamer.runtime.models import selfcheck
from gamer.runtime.models.image import prepare

from ..components import components, fixtures
from ..components.export_module import ExportModule
from ..recipe import PICTURE_ROLES, VISION
from ..settings import Settings
from . import reference

# The two photographs on which kernels differ most: the saturating products of processors without VNNI give
# cosines of 0.907 and 0.950 on them, and up to 1.0 on others.
PHOTOS = ("retina.jpg", "brick.png")
# Tokens of PROSE that a language model gets; SOURCE: encoded tokens that an encoder-decoder attends to.
TOKENS, SOURCE = 12, 4
Arrays = dict[str, NDArray[Any]]


def write(settings: Settings, item: ExportModule, folder: Path) -> None:
    """Writes the golden arrays of the fp32 component `item`, unless they exist: all targets share them."""
    if (folder / f"{item.role}.want.npy").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    golden_inputs = inputs(settings, item)
    session, language = reference.TorchSession(item), components.language(settings)
    spec = fixtures.image_spec(settings, item.role) if item.role in ("image_tower", VISION) else None
    want = np.concatenate(list(selfcheck.replay(session, item.role, golden_inputs, spec, language)))
    for name, array in {**golden_inputs, "want": want.astype(np.float32)}.items():
        path = folder / f"{'dpe' if name == 'patches' else item.role}.{name}.npy"
        with replacing(path, shared=True) as aside, aside.open("wb") as file:
            np.save(file, array, allow_pickle=False)


def inputs(settings: Settings, item: ExportModule) -> Arrays:
    """The golden inputs of a component by name, each [cases, …]; for a decoder, the tokens of one text."""
    match item.role:
        case "image_tower" | "llm_vision":
            return {"pixels": pixels(fixtures.image_spec(settings, item.role))}
        case "text_tower":
            rows = fixtures.tokens(settings, None)
            width = max(ids.shape[1] for ids, _ in rows)
            padded = [[np.pad(row[0], (0, width - row.shape[1])) for row in pair] for pair in rows]
            return {
                "ids": np.stack([ids for ids, _ in padded]),
                "mask": np.stack([mask for _, mask in padded]),
            }
        case role if role in PICTURE_ROLES:
            return {"pixels": fixtures.pictures(role, fixtures.photographs()[:1])}
        case "dpe_query":
            return {"states": np.concatenate([row for (row,) in fixtures.query_states(settings)])}
        case "llm_embed":
            return {"ids": np.array(fixtures.prose_ids(settings)[:TOKENS], np.int64)}
        case "llm_encoder":
            return {"embeds": reference.prose(settings, TOKENS)}
        case "llm_decoder":
            cross = (
                {}
                if not components.has_encoder(settings)
                else {"cross": reference.crosses(settings, reference.prose(settings, SOURCE))}
            )
            return {"embeds": reference.prose(settings, TOKENS), **cross}
    return {"patches": fixtures.patches(settings, PHOTOS[1:])[0][0]}


def side_of(spec: Preprocessing) -> int:
    """Of the golden photographs, which are resized as far as a search resizes them before it crops."""
    return spec.resize if spec.fit in ("cut", "crop") else spec.crop


def pixels(spec: Preprocessing) -> NDArray[np.uint8]:
    """Photographs uint8 [n, side, side, 3], already resized, so that a port's own resize changes nothing."""
    side = side_of(spec)
    square = replace(spec, resize=side, crop=side)
    squares = [prepare(load_pixels(path), square) for path in fixtures.paths() if path.name in PHOTOS]
    return np.concatenate([np.rint(x).clip(0, 255) for x in squares]).astype(np.uint8)
