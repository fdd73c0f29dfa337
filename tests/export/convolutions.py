"""A small image tower of five convolutions as an ExportModule, to test static int8 within about a second."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gamer.export.components.export_module import ExportModule
from gamer.runtime.bundle.manifest import TensorSpec

SIDE = 24


class Convolutions(nn.Module):  # type: ignore[misc]
    """float32 pixels [B, S, S, 3] in 0..255 → unit vectors [B, 16].

    It has five convolutions; static int8 leaves the first three in fp32.
    """

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for channels_in, channels_out in ((3, 8), (8, 8), (8, 16), (16, 16), (16, 16)):
            layers += [nn.Conv2d(channels_in, channels_out, 3, padding=1), nn.ReLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, pixels: Tensor) -> Tensor:
        x = (pixels.permute(0, 3, 1, 2) - 127.0) / 64.0
        return nn.functional.normalize(self.layers(x).mean((2, 3)), dim=-1)


def convolutions() -> ExportModule:
    """The tower with fixed random weights."""
    torch.manual_seed(11)
    return ExportModule(
        "image_tower",
        Convolutions().eval(),
        (torch.zeros(1, SIDE, SIDE, 3),),
        (TensorSpec("pixels", ("batch", SIDE, SIDE, 3), "float32"),),
        (TensorSpec("embedding", ("batch", 16), "float32"),),
        {0: {0: "batch"}},
        "convolutions",
        "tiny",
        True,
        "image",
    )


def _samples() -> tuple[tuple[NDArray[Any], ...], ...]:
    """Six random inputs for calibration, always the same."""
    rng = np.random.default_rng(12)
    return tuple((rng.integers(0, 256, (1, SIDE, SIDE, 3)).astype(np.float32),) for _ in range(6))


SAMPLES = _samples()
