"""Tables of glosses for tests, written by the exporter's encoder from a few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gamer.export.glosses.writing import Spelling, encoded
from gamer.runtime.glosses.table import GlossTable

MakeTable = Callable[[Spelling, Mapping[str, Mapping[str, float]]], GlossTable]


@pytest.fixture
def table(tmp_path: Path) -> MakeTable:
    """Makes a table of word → gloss → worth."""

    def make(spelt: Spelling, words: Mapping[str, Mapping[str, float]]) -> GlossTable:
        path = tmp_path / f"glosses-{spelt.language}.bin"
        path.write_bytes(encoded(spelt, words, {word: [word] for word in words}))
        return GlossTable(path)

    return make
