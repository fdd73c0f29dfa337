"""The paper's whole loss with a language model that is trained: against a plain reference, and resumed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from safetensors.torch import load_file

from gamer.export.checkpoints.checkpoint import open_checkpoint
from gamer.export.components import components, decoders, experts
from gamer.export.components.experts import QuerySide, Sizes
from gamer.export.components.language import Language
from gamer.export.networks.decoder import DecoderStep
from gamer.export.networks.ranks import WHOLE
from gamer.export.settings import Settings
from gamer.export.training import need, sft, start
from gamer.export.training.features import Features
from gamer.export.training.loop import Epoch, Loop
from gamer.export.training.options import Options
from gamer.export.training.projection import Projection
from gamer.export.training.run_folder import RunFolder
from tests.export.components.test_language import words
from tests.export.tiny_llms import SLOTS, tiny
from tests.export.training import reference

SIZES = Sizes(experts=3, blocks=2, width=8, heads=2, features=24, hidden=64)
TEXTS = ("a cat on the sofa", "rain", "the sofa", "on the rain a cat", "a sofa")
OPTIONS = Options(
    epochs=3, batch=5, rate=1e-3, warmup=0.0, likelihood=0.5, lora=2, query="llm", start="random", seed=7
)


def made(rank: int = 2, sizes: Sizes = SIZES) -> tuple[Projection, Language]:
    _, config, weights = tiny("llama")
    step = decoders.decoder(config, weights, SLOTS).module
    assert isinstance(step, DecoderStep)
    torch.manual_seed(3)
    table = decoders.embed(config, weights, "fp32").module
    language = Language(step, table, words(), end=2, rank=rank)
    return Projection(sizes, QuerySide("llm"), 0.7, language.adapter), language


def photos() -> Features:
    patches = np.random.default_rng(2).standard_normal((len(TEXTS), 5, SIZES.features))
    return Features(patches.astype(np.float16), None, np.ones(len(TEXTS), np.bool_))


KNOWN = start.StartData(np.zeros((len(TEXTS), 64), np.float32), list(range(len(TEXTS))), None, TEXTS)


QUERIES = ("my cat", "", "a sofa on the rain", "cat", "")  # "" for a photo that nobody asked for


@pytest.mark.parametrize(("chunk", "asked"), [(2, ()), (16, ()), (2, QUERIES), (16, QUERIES)])
def test_the_losses_are_those_of_the_equations(
    chunk: int, asked: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gamer.export.training.loop.CHUNK", chunk)
    model, language = made()
    optimiser = torch.optim.AdamW(model.parameters(), lr=OPTIONS.rate, weight_decay=OPTIONS.decay)
    known = replace(KNOWN, queries=asked)
    loop = Loop(model, optimiser, photos(), known, OPTIONS, language)
    monkeypatch.setattr(loop, "_set_rate", lambda share: None)
    found = [loop.epoch(n, 0).loss for n in range(3)]
    plain, its_language = made()
    wanted = reference.steps(
        plain, its_language, torch.tensor(photos().patches, dtype=torch.float32), TEXTS, OPTIONS, 3, asked
    )
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    assert found[2] < found[0]


def fitted(folder: Path, report: sft.Report = lambda epoch: None, **changes: object) -> Projection:
    options = replace(OPTIONS, **changes)  # type: ignore[arg-type]
    model, language = made(options.lora)
    kept = RunFolder(folder, {})
    with kept.held():
        sft.fit(model, photos(), KNOWN, options, kept, report, language)
        kept.publish(model)
    return model


def test_a_killed_training_goes_on_with_the_language_models_changes(tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def kill(epoch: Epoch) -> None:
        if epoch.epoch == 1:
            raise Killed

    with pytest.raises(Killed):
        fitted(tmp_path / "killed", kill)
    fitted(tmp_path / "killed")
    fitted(tmp_path / "whole")
    whole, killed = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "killed"))
    assert any(name.startswith("llm_decoder.0.qkv.") for name in whole)
    for name, tensor in whole.items():
        torch.testing.assert_close(killed[name], tensor, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rank", [2, WHOLE])
def test_an_export_adds_the_changes_to_the_decoder(tmp_path: Path, rank: int) -> None:
    model = fitted(tmp_path / "dpe", rate=0.05, lora=rank)
    opened = open_checkpoint(None, str(tmp_path / "dpe"))
    assert experts.rank(opened) == rank
    assert experts.query_side(opened) == QuerySide("llm")
    _, config, weights = tiny("llama")
    step = decoders.decoder(config, weights, SLOTS).module
    experts.adapt(step, opened)
    trained = made(rank)[1]
    assert trained.adapter is not None
    assert model.llm_decoder is not None
    trained.adapter.load_state_dict(model.llm_decoder.state_dict())
    plain = Language(step, decoders.embed(config, weights, "fp32").module, words(), end=2)
    with torch.no_grad():
        rows = trained.ids(TEXTS)
        torch.testing.assert_close(plain.states(rows), trained.states(rows), rtol=1e-4, atol=1e-4)


def test_a_model_that_changed_as_a_whole_names_its_channel(tmp_path: Path) -> None:
    names = set()
    for rate in (0.05, 0.01):
        fitted(tmp_path / str(rate), rate=rate, lora=WHOLE)
        names.add(experts.identity(SIZES, open_checkpoint(None, str(tmp_path / str(rate)))))
    assert len(names) == 2


def test_steps_end_a_training_early(tmp_path: Path) -> None:
    epochs: list[Epoch] = []
    fitted(tmp_path / "dpe", epochs.append, steps=3, batch=2)
    assert [epoch.epoch for epoch in epochs] == [1]
    fitted(tmp_path / "more", epochs.append, steps=4, batch=2)
    assert [epoch.epoch for epoch in epochs] == [1, 1, 2]


def test_half_precision_learns_the_same_way(tmp_path: Path) -> None:
    losses = {}
    for precision in ("fp32", "bf16"):
        epochs: list[Epoch] = []
        fitted(tmp_path / precision, epochs.append, precision=precision)
        losses[precision] = [epoch.loss for epoch in epochs]
    np.testing.assert_allclose(losses["bf16"], losses["fp32"], rtol=0.03)
    assert losses["bf16"] != losses["fp32"]


def test_the_need_grows_with_what_is_trained() -> None:
    model, language = made()
    alone = need.of(model, None, 5, 0.0, 100, OPTIONS)
    both = need.of(model, language, 5, 6.0, 100, OPTIONS)
    more = need.of(model, language, 5, 6.0, 100, replace(OPTIONS, batch=50))
    assert alone.memory < both.memory < more.memory
    assert alone.frozen == 0 < both.frozen
    assert "parameters trained" in both.text()
    assert "on cpu" in both.text()


@pytest.mark.skipif("GAMER_FULL_SIZE" not in os.environ, reason="full size: 12 GB; make train-full-size")
def test_three_steps_at_full_size(tmp_path: Path) -> None:
    settings = Settings(
        "gamer-qwen2.5-0.5b-88m", sources=(("image", "random:0"), ("text", "random:0"), ("llm", "random:0"))
    )
    sizes, texts = components.dpe_sizes(settings), ("my cat looks at me", "a cup of coffee")
    options = replace(OPTIONS, batch=2, rate=2e-5, lora=8)
    count, width = components.features(settings)
    patches = np.random.default_rng(2).standard_normal((2, count, width)).astype(np.float16)
    seen = Features(patches, None, np.ones(2, np.bool_))
    known = start.StartData(np.zeros((2, sizes.hidden), np.float32), [0, 1], None, texts)

    def whole() -> tuple[Projection, Language]:
        torch.manual_seed(3)
        language = Language.of(settings, options.lora)
        return Projection(sizes, QuerySide("llm"), 0.7, language.adapter), language

    model, language = whole()
    optimiser = torch.optim.AdamW(model.parameters(), lr=options.rate, weight_decay=options.decay)
    loop = Loop(model, optimiser, seen, known, options, language)
    loop._set_rate = lambda share: None  # type: ignore[method-assign]
    found = [loop.epoch(n, 0).loss for n in range(3)]
    del model, language, optimiser, loop
    wanted = reference.steps(*whole(), torch.tensor(patches, dtype=torch.float32), texts, options, 3)
    np.testing.assert_allclose(found, wanted, atol=1e-4)
