"""Where a bundle's weights lie is remembered in the user's cache, and in no bundle."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamer.export import sources
from gamer.export.settings import Settings

DIGEST = "0" * 64


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GAMER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_paths_are_in_the_cache_and_not_in_what_a_manifest_says(tmp_path: Path, own_cache: Path) -> None:
    weights = tmp_path / "at-home" / "clip"
    weights.mkdir(parents=True)
    settings = Settings("towers", sources=(("image", str(weights)), ("text", "owner/name")))
    sources.remember(DIGEST, settings)
    assert sources.recall(DIGEST) == {"image": str(weights)}
    assert [path.parent for path in own_cache.rglob("*.json")] == [own_cache / "sources"]
    assert "at-home" not in str(settings.to_strings())


def test_a_digest_that_is_none_names_no_file(own_cache: Path) -> None:
    assert sources.recall("../../etc/passwd") == {}
    assert not own_cache.exists()
