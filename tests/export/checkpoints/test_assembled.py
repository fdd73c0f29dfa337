"""A GGUF file that comes in several packages is joined once, and only if it is what was promised."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.checkpoints import checkpoint
from gamer.export.checkpoints.catalogue import Model
from gamer.export.errors import ExportError

WHOLE = b"".join(bytes([n]) * 7 for n in range(1, 7))


def packages(site: Path) -> Path:
    """Six packages of a part each; the folder of the first."""
    for n in range(1, 7):
        data = site / f"fake_part{n}" / "data"
        data.mkdir(parents=True)
        (data / f"model.gguf.part{n}").write_bytes(bytes([n]) * 7)
    return site / "fake_part1"


def known(sha256: str) -> Model:
    return Model("fake-part1 to -part6", "none", "fake_part1", "-r fake.txt", sha256)


def test_the_parts_are_joined_in_order_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first, sha256 = packages(tmp_path / "site"), hashlib.sha256(WHOLE).hexdigest()
    joined = checkpoint._assembled(first, known(sha256))
    assert joined == tmp_path / "cache" / "gamer" / "fake.gguf"
    assert joined.read_bytes() == WHOLE
    (first / "data" / "model.gguf.part1").write_bytes(b"changed")  # not read again: the joined file is right
    assert checkpoint._assembled(first, known(sha256)).read_bytes() == WHOLE
    joined.write_bytes(b"damaged")
    with pytest.raises(ExportError, match="do not make the file that it promises"):
        checkpoint._assembled(first, known(sha256))
    assert [path.name for path in joined.parent.iterdir()] == ["fake.gguf"]


def test_a_package_may_state_the_hash_and_the_name_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = packages(tmp_path / "site")
    with pytest.raises(ExportError, match=r"holds no \.gguf file: reinstall it with its parts"):
        checkpoint._assembled(first, known(""))
    sums = f"{hashlib.sha256(WHOLE).hexdigest()}  ../../named.gguf\n"
    (first / "data" / "SHA256SUMS").write_text(sums, encoding="utf-8")
    assert checkpoint._assembled(first, known("")) == tmp_path / "cache" / "gamer" / "named.gguf"
