"""`gamer verify` with the weights of another model: one line instead of arrays that do not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from gamer.export.components import components
from gamer.export.errors import ExportError
from gamer.export.parity import verify
from gamer.export.settings import Settings
from tests.export import tiny


def test_weights_of_another_size_are_refused_in_one_line(tmp_path: Path) -> None:
    source = str(tiny.TINY["qwen2"](tmp_path / "model"))
    item = components.build(Settings("llm", sources=(("llm", source),)), "llm_embed", "fp32")
    own = item.describe()
    verify._check_size(item, own)
    with pytest.raises(
        ExportError, match=r"local:model has .* parameters, the bundle was made from .*--weights"
    ):
        verify._check_size(item, replace(own, parameters=7))
