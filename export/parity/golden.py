"""Golden inputs and fp32 torch outputs of every component, for whoever opens the bundle elsewhere
(runtime/models/selfcheck.py, and the ports).

They are few, since they run at a phone's first start: `fixtures/ROLE.NAME.npy`, one array a file, `want`
beside the inputs. What torch gives is found by the very code that replays them.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.index import load_pixels
from gamer.runtime.bundle.manifest import Preprocessing
from gamer.runtime.models import selfcheck
from gamer.runtime.models.image import prepare

from ..components import components, fixtures
from ..components.export_module import ExportModule
from ..settings import Settings
from . import measure

# The two photographs that kernels agree on least: without VNNI's sums, saturating products give cosines of
# 0.907 and 0.950 (others up to 1.0).
PHOTOS = ("retina.jpg", "brick.png")
TOKENS, SOURCE = 12, 4  # of a text; SOURCE: those that an encoder-decoder's decoder attends to
Arrays = dict[str, NDArray[Any]]


def write(settings: Settings, item: ExportModule, folder: Path) -> None:
    """The golden arrays of the fp32 component `item`, unless they are there: every target of a component has
    the same.
    """
    if (folder / f"{item.role}.want.npy").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    given = inputs(settings, item)
    session, language = measure.TorchSession(item), components.language(settings)
    spec = components.preprocessing(settings) if item.role == "image_tower" else None
    want = np.concatenate(list(selfcheck.replay(session, item.role, given, spec, language)))
    for name, array in {**given, "want": want.astype(np.float32)}.items():
        path = folder / f"{'dpe' if name == 'patches' else item.role}.{name}.npy"
        aside = path.with_suffix(f".{os.getpid()}")
        with aside.open("wb") as file:
            np.save(file, array, allow_pickle=False)
        aside.replace(path)


def inputs(settings: Settings, item: ExportModule) -> Arrays:
    """The golden inputs of a component by name, each [cases, …]; of decoders the tokens of one text."""
    match item.role:
        case "image_tower":
            return {"pixels": pixels(fixtures.image_spec(settings))}
        case "text_tower":
            rows = fixtures.tokens(settings, None)
            width = max(ids.shape[1] for ids, _ in rows)
            padded = [[np.pad(row[0], (0, width - row.shape[1])) for row in pair] for pair in rows]
            return {
                "ids": np.stack([ids for ids, _ in padded]),
                "mask": np.stack([mask for _, mask in padded]),
            }
        case "llm_embed":
            return {"ids": np.array(fixtures.prose_ids(settings)[:TOKENS], np.int64)}
        case "llm_encoder":
            return {"embeds": measure.prose(settings, TOKENS)}
        case "llm_decoder":
            attended = (
                {}
                if not components.has_encoder(settings)
                else {"cross": measure.crosses(settings, measure.prose(settings, SOURCE))}
            )
            return {"embeds": measure.prose(settings, TOKENS), **attended}
    return {"patches": fixtures.patches(settings, PHOTOS[1:])[0][0]}


def pixels(spec: Preprocessing) -> NDArray[np.uint8]:
    """Photographs uint8 [n, side, side, 3] of the very side that the shorter one is resized to: no resize of
    a port's own moves a byte.
    """
    side = spec.crop if spec.fit == "squash" else spec.resize
    square = replace(spec, resize=side, crop=side)
    chosen = [prepare(load_pixels(path), square) for path in fixtures.paths() if path.name in PHOTOS]
    return np.concatenate([np.rint(x).clip(0, 255) for x in chosen]).astype(np.uint8)
