"""The full gazetteer, opened once for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gamer.runtime.bundle.gazetteer import Gazetteer


@pytest.fixture(scope="session")
def gazetteer(built_gazetteer: Path) -> Iterator[Gazetteer]:
    with Gazetteer.open(built_gazetteer) as opened:
        yield opened
