"""What `gamer bench study clips` counts."""

from __future__ import annotations

import numpy as np
import pytest

from gamer.bench import clips
from gamer.index import FloatArray


def test_a_clip_is_first_by_the_frame_that_a_query_means() -> None:
    axes: FloatArray = np.eye(6, dtype=np.float32)
    scenes = {name: axes[at] for at, name in enumerate("abcdef")}
    assert clips.ranked(scenes, scenes) == {"frames": 1.0, "frames and mean": 1.0, "mean": 1.0}
    # Every query means the same scene: it is in one of the two clips, for which half of the scenes are right.
    assert clips.ranked(scenes, dict.fromkeys(scenes, axes[0]))["frames"] == 0.5


def test_without_pyav_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    import sys
    from pathlib import Path

    from gamer.runtime.errors import RuntimeFailure

    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(RuntimeFailure, match="videos need PyAV"):
        clips.make(Path(str(tmp_path), "a.mp4"), [])
