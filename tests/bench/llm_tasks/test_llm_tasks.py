"""The tasks of language models: what is right scores one, and the command measures a bundle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gamer.bench.cli.bench import bench
from gamer.bench.llm_tasks import reading
from gamer.bench.llm_tasks.gold import Gold, gold
from gamer.bench.llm_tasks.reading import extraction
from gamer.index import Mention
from tests.bench.retrieval import data_sets


def told(text: str) -> list[Mention]:
    """The marked entities of a note, each with its parent."""
    (note,) = (note for note in gold().notes if note.text == text)
    parents = {tail: head for head, tail in note.relations}
    return [Mention(name, "thing", parents.get(name)) for name in note.entities]


def test_the_marks_themselves_score_one_but_for_what_describes_two_things() -> None:
    found = extraction(told)
    assert found.entities_f1 == 1
    assert 0.95 < found.relations_f1 <= 1


def test_a_reader_that_finds_nothing_or_half_scores_less() -> None:
    assert extraction(lambda text: []).entities_f1 == 0
    half = extraction(lambda text: told(text)[::2])
    assert 0.5 < half.entities_f1 < 0.8


def test_every_words_of_time_and_place_stand_in_their_query() -> None:
    for question in gold().queries:
        assert question.time in question.text
        assert question.place in question.text


@pytest.mark.slow
def test_the_command_compares_a_bundles_model_with_the_rules(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Gold(gold().notes[::6], gold().queries[::6])  # the model takes seconds for each
    monkeypatch.setattr(reading, "gold", lambda: few)
    data = data_sets.write(tmp_path / "small", ("ann",))
    out, cache = tmp_path / "tasks.json", tmp_path / "cache"
    words = ["llm-tasks", str(bundle), "--data", str(data), "--queries", "2", "--cache", str(cache)]
    done = CliRunner().invoke(bench, [*words, "-o", str(out)])
    assert done.exit_code == 0, done.output
    rules, model = json.loads(out.read_text())["readers"]
    assert rules["name"] == "rules"
    assert rules["megabytes"] == 0 < model["megabytes"]
    assert model["extraction"]["entities_f1"] > 0.5
    assert model["extraction"]["p50_ms"] > 0
    (refined,) = model["refinements"]
    assert [row["method"] for row in refined["methods"]] == ["fast", "llm", "told"]
    assert "entities F1" in done.output
    assert "| told" in done.output
