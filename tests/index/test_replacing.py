"""A file is replaced whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamer.index.replacing import replacing


@pytest.mark.parametrize("shared", [False, True])
def test_the_new_file_takes_the_place_of_the_old_one_only_when_it_is_whole(
    tmp_path: Path, shared: bool
) -> None:
    path = tmp_path / "new" / "file"
    with replacing(path, shared=shared, folders=True) as aside:
        aside.write_text("whole")
    with pytest.raises(KeyboardInterrupt), replacing(path, shared=shared) as aside:
        aside.write_text("hal")
        raise KeyboardInterrupt
    assert [(file.name, file.read_text()) for file in path.parent.iterdir()] == [("file", "whole")]


def test_what_a_killed_one_left_is_deleted_and_no_link_is_followed(tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    other.write_text("kept")
    (tmp_path / "file.partial").symlink_to(other)
    with replacing(path, mode=0o600) as aside:
        aside.write_text("whole")
    assert (path.read_text(), other.read_text()) == ("whole", "kept")
    assert path.stat().st_mode & 0o077 == 0


def test_an_error_of_the_system_is_told_as_the_caller_says(tmp_path: Path) -> None:
    path = tmp_path / "no" / "file"
    told = pytest.raises(ValueError, match=r"^No such file or directory!$")
    with told, replacing(path, lambda why: ValueError(f"{why}!")):
        pass
    with pytest.raises(FileNotFoundError), replacing(path):
        pass
