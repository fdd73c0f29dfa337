"""What a training leaves in its folder when it is killed while it writes."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
from safetensors import torch as library

from gamer.export.training.run_folder import save_tensors

TENSORS = {"a": torch.arange(6.0)}


def test_what_the_library_writes_aside_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed training sweeps nothing: the next one does."""
    state = tmp_path / "state.safetensors"

    def killed(tensors: object, file: Path) -> None:
        file.with_name(".tmpXYZ").write_bytes(bytes(9))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(library, "save_file", killed)
        patch.setattr("shutil.rmtree", lambda *_, **__: None)  # as if killed before it swept
        with pytest.raises(KeyboardInterrupt):
            save_tensors(state, TENSORS)
    save_tensors(state, TENSORS)
    assert [path.name for path in tmp_path.iterdir()] == [state.name]
    assert library.load_file(state)["a"].tolist() == TENSORS["a"].tolist()


def test_a_checkpoint_may_be_read_by_whoever_may_read_other_files(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    save_tensors(tmp_path / "model.safetensors", TENSORS)
    modes = {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert len(modes) == 1
