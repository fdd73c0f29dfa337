"""With the bundle: a sentence finds a clip, and the second at which the clip shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamer.runtime.indexing.build import build
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine
from tests.clips import make

data = pytest.importorskip("skimage.data", reason="its photographs are the scenes")
pytestmark = pytest.mark.slow
# The query, and the photograph that it means.
SCENES = (("a cat", "chelsea"), ("a cup of coffee", "coffee"), ("a rocket", "rocket"))


def test_a_scene_is_found_at_its_second(bundle: Path, tmp_path: Path) -> None:
    import numpy as np
    from PIL import Image

    def scene(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
        picture = Image.fromarray(getattr(data, name)())
        return np.asarray(picture.resize((384, 256)))

    folder = tmp_path / "clips"
    folder.mkdir()
    make(folder / "all.mp4", [(scene(name), 4) for _, name in SCENES])
    models = Models.open(bundle)
    build(folder, models, tmp_path / "a.gamer")
    engine = Engine.over(models, tmp_path / "a.gamer")
    seconds = []
    for query, _ in SCENES:
        (hit,) = engine.search(query).hits
        assert hit.clip is not None
        seconds.append(hit.clip.second)
    engine.close()
    assert [int(second // 4) for second in seconds] == [0, 1, 2]
