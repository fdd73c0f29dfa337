"""The queries that reinforcement learns from. The policy's steps: test_ppo.py."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.errors import ExportError
from gamer.export.training import rlhf


def test_blank_lines_are_no_queries(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"query": "my cat", "photos": ["a", "b"]}\n\n{"query": "rain", "photos": ["c"]}\n\n')
    found = rlhf._searches(tmp_path / "a.gamer", path)
    assert found == [rlhf.Search("my cat", ("a", "b")), rlhf.Search("rain", ("c",))]


@pytest.mark.parametrize("line", ["[]", '{"query": 7, "photos": ["a"]}', '{"query": "a", "photos": []}', "x"])
def test_lines_of_something_else_are_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(ExportError, match="not lines of"):
        rlhf._searches(tmp_path / "a.gamer", path)
