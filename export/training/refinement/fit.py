"""Photos as the trained experts see them, and r1 of the reward: how well a text fits one."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from gamer.index import load_pixels
from gamer.runtime.models.image import prepare

from ...components import components, fixtures, states
from ...settings import Settings
from ..loading import Loaded


class Fit(Protocol):
    """How well a text fits the photo in a file, 0..1. Raises IngestError for a photo that cannot be read."""

    def __call__(self, text: str, photo: Path) -> float: ...


class SeenPhotos:
    """Soft prompts of photos by a checkpoint's experts, which stay as they are."""

    def __init__(self, settings: Settings, loaded: Loaded) -> None:
        self._model, self._spec = loaded.model, fixtures.image_spec(settings)
        self._tower = components.build(settings, "image_tower", "fp32").module

    def prompts(self, path: Path) -> Tensor:
        """float32 [P, H]. Raises IngestError for a photo that cannot be read."""
        image = torch.from_numpy(prepare(load_pixels(path), self._spec))
        with torch.no_grad():
            return self._model.prompts(self._tower(image)[1])[0][0]


class ExpertsFit:
    """(1 + the cosine of v_I and v_Q) / 2, by a checkpoint's experts and its query encoder."""

    def __init__(self, photos: SeenPhotos, loaded: Loaded, encode: states.Encode) -> None:
        """`encode`: the query encoder as the checkpoint has it; the policy goes on from there."""
        self._photos, self._model, self._encode = photos, loaded.model, encode
        self._seen: dict[Path, Tensor] = {}

    def __call__(self, text: str, photo: Path) -> float:
        with torch.no_grad():
            told = self._model.query(torch.from_numpy(self._encode([text])))[0]
            return (1 + float(F.cosine_similarity(told, self._photo(photo), dim=0))) / 2

    def _photo(self, path: Path) -> Tensor:
        if path not in self._seen:
            self._seen[path] = self._photos.prompts(path).mean(0)
        return self._seen[path]
