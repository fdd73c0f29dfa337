"""The queries that reinforcement learns from, what they earn, and one whole run (steps: test_policy.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from gamer.export.errors import ExportError
from gamer.export.settings import Settings
from gamer.export.training import pairs, sft
from gamer.export.training.options import Options, Reinforcement
from gamer.export.training.refinement import rlhf
from gamer.export.training.refinement.policy import Rules
from gamer.runtime.indexing import build
from gamer.runtime.models.models import Models
from tests.export.training import tiny_blip2
from tests.export.training.test_train_cli import WORDS, files


def test_blank_lines_are_no_queries(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"query": "my cat", "photos": ["a", "b"]}\n\n{"query": "rain", "photos": ["c"]}\n\n')
    found = pairs.searches_of(tmp_path / "a.gamer", path)
    assert found == [pairs.Search("my cat", ("a", "b")), pairs.Search("rain", ("c",))]


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        '{"query": 7, "photos": ["a"]}',
        '{"query": "a", "photos": []}',
        r'{"query": "\ud800", "photos": ["a"]}',  # half a character, which no tokenizer takes
        "x",
    ],
)
def test_lines_of_something_else_are_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(ExportError, match="must be lines of"):
        pairs.searches_of(tmp_path / "a.gamer", path)


def silent(*_: Any) -> None:
    pass


@pytest.mark.slow
def test_a_refinement_is_reinforced_with_experts_or_a_blip2_as_judge(bundle: Path, tmp_path: Path) -> None:
    lines = tmp_path / "a.jsonl"
    with lines.open("w", encoding="utf-8") as file:
        for path in files():
            told = [{"source": "note", "text": WORDS[path.name]}] if path.name in WORDS else []
            file.write(json.dumps({"id": path.name, "path": str(path), "memories": told}) + "\n")
    album, base = tmp_path / "a.gamer", tmp_path / "base"
    build.build(lines, Models.open(bundle), album)
    settings = Settings("pocket")
    sft.train(settings, album, base, Options(epochs=0), silent, silent, silent)
    queries = tmp_path / "q.jsonl"
    asked = ("my cat", "coffee", "a temple", "the cat that looks at me")
    meant = ("chelsea.png", "coffee.png", "china.jpg", "chelsea.png")
    queries.write_text(
        "\n".join(json.dumps({"query": q, "photos": [p]}) for q, p in zip(asked, meant, strict=True))
    )
    rules, options = Rules(answers=3, most=8, passes=1), Options(epochs=1, lora=2, rate=1e-4)

    def reinforced(name: str, judge: Path | None, say: sft.Say, form: str = "grpo") -> rlhf.Reinforced:
        out = tmp_path / name
        what = Reinforcement(base, bundle, queries, judge=judge, form=form)
        return rlhf.reinforce(settings, album, out, options, what, silent, say, rules)

    done = reinforced("by-experts", None, silent)
    assert (done.learned, done.measured, len(done.rounds)) == (3, 1, 1)
    for earned in (done.before, done.after):
        assert earned.plain == 1.0
        assert earned.found in (0.0, 1.0)
        assert earned.accepted == 0.0 or earned.reward > 0.5 * earned.found
    assert done.installed == (tmp_path / "by-experts" / "config.json").exists()
    printed = reinforced("as-printed", None, silent, "printed")
    assert len(printed.rounds) == 1
    assert printed.before == done.before
    said = list[str]()
    (tmp_path / "blip2").mkdir()
    judge = tiny_blip2.write(tmp_path / "blip2")
    again = reinforced("by-blip2", judge, said.append)
    assert any("BLIP-2 fine-tuned on 3 memories" in line for line in said)
    assert again.before.plain == 1.0
    assert 0.0 <= again.before.reward <= 1.0
    with pytest.raises(ExportError, match="a training with another judge is there"):
        reinforced("by-blip2", None, silent)
