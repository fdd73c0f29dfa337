"""Titles of memories and memories of titles: learned, written once each, gone on with after a kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from tokenizers import Tokenizer, models, pre_tokenizers

from gamer.export.components import decoders
from gamer.export.components.language import Language
from gamer.export.errors import ExportError
from gamer.export.networks.decoder import DecoderStep
from gamer.export.training import writing
from gamer.export.training.writing import MEMORIES as TO_MEMORIES
from gamer.export.training.writing import TITLES, Direction, Pair, Writer
from tests.export.tiny_llms import SLOTS, tiny

PAIRS = [Pair("harbour", "boats at dawn"), Pair("forest", "trees at noon")] * 4
MEMORIES = {"a": "boats at dawn", "b": "trees at noon"}
WORDS = ["Title:", "Memory:", "harbour", "forest", "boats", "trees", "at", "dawn", "noon"]


def language(rank: int = 4) -> Language:
    tokenizer = Tokenizer(
        models.WordLevel({word: n for n, word in enumerate(["?", "!", "end", *WORDS])}, unk_token="?")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    _, config, weights = tiny("llama")
    step = decoders.decoder(config, weights, SLOTS).module
    assert isinstance(step, DecoderStep)
    torch.manual_seed(3)
    return Language(step, decoders.embed(config, weights, "fp32").module, tokenizer, end=2, rank=rank)


def writer(out: Path, texts: dict[str, str] = MEMORIES, direction: Direction = TITLES) -> Writer:
    return Writer(direction, PAIRS, texts, out, {"lora": 4}, 1)


def write(out: Path, memories: dict[str, str] = MEMORIES) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    stages = list[str]()

    def stage(what: str, done: int, of: int) -> None:
        stages.append(what)

    got = writer(out, memories).write(language(), stage, lambda said: None)
    return got, stages


def test_what_was_learned_is_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "EPOCHS", 60)
    monkeypatch.setattr(writing, "RATE", 2e-2)
    got, _ = write(tmp_path / "run")
    assert got["a"][0] == "harbour"
    assert got["b"][0] == "forest"
    assert all(len(set(texts)) == len(texts) <= TITLES.drawn + 1 for texts in got.values())


def test_the_other_way_round_a_memory_is_written_for_a_title(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "EPOCHS", 60)
    monkeypatch.setattr(writing, "RATE", 2e-2)
    model, asked = language(), {"harbour": "harbour", "forest": "forest"}
    learning = writer(tmp_path, asked, TO_MEMORIES)
    before = learning.nats(model, PAIRS)
    got = learning.write(model, lambda what, done, of: None, lambda said: None)
    assert got == {"harbour": ("boats at dawn",), "forest": ("trees at noon",)}
    assert learning.nats(model, PAIRS) < 0.5 < before


def test_the_likelihood_of_a_batch_is_that_of_each_answer_alone() -> None:
    model = language()
    prompts, answers = [[3, 4, 5], [6, 7]], [[4, 2], [5, 6, 2]]
    alone = [-model.likelihood(p, [a])[0].sum() for p, a in zip(prompts, answers, strict=True)]
    together = model.nll(prompts, answers).tolist()
    assert together == pytest.approx([float(one) for one in alone], abs=1e-5)


def test_a_killed_run_goes_on_and_writes_the_same(tmp_path: Path) -> None:
    whole, _ = write(tmp_path / "whole")
    first, _ = write(tmp_path / "killed")
    kept = tmp_path / "killed" / "training" / "written.jsonl"
    lines = kept.read_text().splitlines(keepends=True)
    kept.write_text(lines[0] + lines[1][:9])  # killed in the middle of the second photo's line
    again, stages = write(tmp_path / "killed")
    assert again == first == whole
    assert set(stages) == {"titles are written"}  # nothing is learned again
    assert [json.loads(line)["of"] for line in kept.read_text().splitlines()] == ["a", "b"]


def test_a_title_with_a_line_separator_is_read_again_as_one(tmp_path: Path) -> None:
    write(tmp_path / "run")
    kept = tmp_path / "run" / "training" / "written.jsonl"
    kept.write_text(json.dumps({"of": "a", "texts": ["boats\u2028dawn"]}, ensure_ascii=False) + "\n")
    assert write(tmp_path / "run")[0]["a"] == ("boats\u2028dawn",)


def test_what_a_run_of_before_had_written_is_written_anew(tmp_path: Path) -> None:
    write(tmp_path / "run")
    inner = tmp_path / "run" / "training"
    (inner / "written.jsonl").unlink()
    (inner / "titles.jsonl").write_text('{"photo": "a", "titles": ["harbour"]}\n')
    got, stages = write(tmp_path / "run")
    assert set(got) == {"a", "b"}
    assert set(stages) == {"titles are written"}


def test_a_run_of_other_memories_is_not_gone_on_with(tmp_path: Path) -> None:
    write(tmp_path / "run")
    with pytest.raises(ExportError, match="training with another titles is there"):
        write(tmp_path / "run", {"a": "boats at noon"})


def test_a_title_is_cut_and_ends(tmp_path: Path) -> None:
    ids = writer(tmp_path)._answer(language(), "harbour " * 100)
    assert len(ids) == TITLES.most
    assert ids[-1] == 2
