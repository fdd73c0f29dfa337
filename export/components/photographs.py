"""Where the photographs lie that scikit-image and scikit-learn package; the project has no copies."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from gamer.index.installing import install

from ..errors import ExportError

PHOTOS = {
    "skimage": (
        "data",
        (
            "astronaut.png",
            "chelsea.png",
            "coffee.png",
            "rocket.jpg",
            "motorcycle_left.png",
            "brick.png",
            "grass.png",
            "coins.png",
            "hubble_deep_field.jpg",
            "camera.png",
            "moon.png",
            "retina.jpg",
            "motorcycle_right.png",
            "gravel.png",
        ),
    ),
    "sklearn": ("datasets/images", ("china.jpg", "flower.jpg")),
}


def photo_path(package: str, name: str) -> Path:
    """The path of a packaged photograph. Raises ExportError with the install command."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ExportError(f"the fixtures' photographs come with {package}: {install('export')}")
    return Path(spec.origin).parent / PHOTOS[package][0] / name
