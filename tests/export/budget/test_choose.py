"""Bits chosen for a tiny model: a simulated matrix computes what the file does, sizes hold, and an error says
what can be met.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from click.testing import CliRunner, Result
from torch import nn

from gamer.export.budget import choices, choose, measuring, search, sensitivity
from gamer.export.budget.measuring import Losses, states_and_logits
from gamer.export.budget.simulation import simulated
from gamer.export.bundle import limits, workers
from gamer.export.cli import curve, export
from gamer.export.components import components, fixtures
from gamer.export.components.components import reference
from gamer.export.onnx import to_onnx
from gamer.export.parity import reference as parity
from gamer.export.planning import devices, networks, sizes
from gamer.export.settings import Settings
from gamer.export.target_options import TargetOptions
from gamer.runtime.backends import open_session
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.models.language.decoder import open_decoder
from tests.export import tiny


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the tasks of workers in this process, which need not import torch again."""

    def run(make: Any, tasks: Any, jobs: int, log: str, begun: Any = None) -> Any:
        return ((task, make(task)) for task in tasks)

    monkeypatch.setattr(workers, "run", run)


def written(item: Any, settings: Settings, quant: str, folder: Path) -> Any:
    """A session of the component's file with its layers' matrices in `quant`, all else in fp32."""
    path, language = folder / "model.onnx", components.language(settings)
    options = TargetOptions(keep=(("layers", quant), ("", "fp32")))
    specs = to_onnx.write(item, "fp32", language, [], path, options)  # type: ignore[arg-type]
    artifact = mf.Artifact(item.role, "onnx", quant, "", 0, "", *specs, mf.Parity("", "", 0.0), 0.0)
    return open_session("onnx", path, artifact, threads=1)


def simulate(item: Any, quant: str) -> None:
    """Puts simulated matrices in the place of the layers' own."""
    for name, part in list(item.module.named_modules()):
        if isinstance(part, nn.Linear) and "layers" in name:
            parent, _, last = name.rpartition(".")
            new = simulated(part, name, item.role, "onnx", quant, 32)
            setattr(item.module.get_submodule(parent), last, new)


@pytest.mark.parametrize("quant", ["int4/16", "int4/32", "int8/32", "int8", "fp16"])
def test_a_simulated_tower_computes_what_the_file_does(quant: str, tmp_path: Path) -> None:
    source = str(tiny.TINY["clip"](tmp_path / "clip"))
    settings = Settings("towers", sources=(("text", source),), parts=("text",))
    item = components.build(settings, "text_tower", "fp32")
    session, sample = written(item, settings, quant, tmp_path), fixtures.samples(settings, item, False)[2]
    names = [t.name for t in session.artifact.inputs]
    (got,) = session.run(dict(zip(names, sample, strict=True))).values()
    (exact,) = reference(item.module, sample)
    simulate(item, quant)
    (want,) = reference(item.module, sample)
    assert np.linalg.norm(got - want) < 0.2 * np.linalg.norm(got - exact) + 1e-5


@pytest.mark.parametrize("quant", ["int4/16", "int4/32", "int8"])
def test_a_simulated_decoder_computes_what_the_file_does(quant: str, tmp_path: Path) -> None:
    source = str(tiny.TINY["qwen2"](tmp_path / "model"))
    settings = Settings("llm", sources=(("llm", source),))
    item = components.build(settings, "llm_decoder", "fp32")
    embeds, language = parity.prose(settings, 40), components.language(settings)
    assert language is not None
    driver: Any = open_decoder(written(item, settings, quant, tmp_path), language)
    driver.reset()
    got = driver.forward(embeds)[1]
    exact, _ = states_and_logits(item.module, embeds)
    simulate(item, quant)
    want, _ = states_and_logits(item.module, embeds)
    assert np.linalg.norm(got - want) < 0.2 * np.linalg.norm(got - exact) + 1e-4


@pytest.mark.parametrize("names", [["layers.0.qkv"], ["layers.1.down"], ["layers.1.out", "head"], ["head"]])
def test_a_matrix_loses_what_a_run_of_the_whole_decoder_says(names: list[str], tmp_path: Path) -> None:
    settings = Settings("llm", sources=(("llm", str(tiny.TINY["qwen2"](tmp_path / "model"))),))
    item, plain = (components.build(settings, "llm_decoder", "fp32") for _ in range(2))
    embeds = parity.prose(settings, parity.PROSE_TOKENS)
    wanted = states_and_logits(plain.module, embeds)[1]
    parts = {
        name: simulated(plain.module.get_submodule(name), name, item.role, "onnx", "int4/32", 32)
        for name in names
    }
    losses = Losses(settings, item)
    got = [losses.of(some).mean for some in (parts, {}, parts)]
    for name, part in parts.items():
        parent, _, last = name.rpartition(".")
        setattr(plain.module.get_submodule(parent), last, part)
    logits = states_and_logits(plain.module, embeds)[1]
    centred = [x - x.mean(-1, keepdims=True) for x in (logits, wanted)]
    assert got == pytest.approx([np.mean(1 - np.array(parity.cosines(*centred))), 0, got[0]], abs=1e-6)
    assert got[0] > 1e-5


def test_of_a_large_image_tower_few_pictures_tell_matrices_apart(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings("towers", sources=(("image", source),), parts=("image",))
    item = components.build(settings, "image_tower", "fp32")
    name = next(name for name, part in item.module.named_modules() if name.endswith("layers.0.mlp.up"))
    part = simulated(item.module.get_submodule(name), name, item.role, "onnx", "int4/32", 32)
    small = Losses(settings, item)
    assert small.of({name: part}, alone=True) == small.of({name: part})
    monkeypatch.setattr(measuring, "LARGE", 0)
    large = Losses(settings, item)
    assert large.of({name: part}) == small.of({name: part}) != large.of({name: part}, alone=True)
    whole = large.of({name: part})
    assert whole.cost == pytest.approx(whole.mean + 0.1 * (1 - whole.worst))
    assert whole.cost > whole.mean > 0


@pytest.fixture
def source(tmp_path: Path) -> str:
    return str(tiny.TINY["clip"](tmp_path / "clip"))


def gamer(source: str, out: Path, *more: str) -> Result:
    words = ["-m", source, "--parts", "image", "--targets", "onnx", "--jobs", "1", "-o", str(out), *more]
    return CliRunner().invoke(export, words)


@pytest.mark.usefixtures("here")
def test_a_size_and_a_parity_hold_are_stored_and_can_be_given_back(source: str, tmp_path: Path) -> None:
    done = gamer(source, tmp_path / "small", "--max-size", "image_tower=85KB")
    assert done.exit_code == 0, done.output
    small = mf.read(tmp_path / "small")
    assert small.artifacts[0].bytes <= 85_000
    (budget,) = small.budgets
    assert budget.chosen.bytes <= 85_000
    assert [p.bytes for p in budget.curve] == sorted(p.bytes for p in budget.curve)
    again = gamer(
        source, tmp_path / "again", "--keep", (small.settings or {})["keep"], "--threshold", "image_tower=0.9"
    )
    assert again.exit_code == 0, again.output
    assert mf.read(tmp_path / "again").artifacts[0].sha256 == small.artifacts[0].sha256

    done = gamer(source, tmp_path / "close", "--min-parity", "0.999/0.9")
    assert done.exit_code == 0, done.output
    assert "measures" not in done.output  # the losses of the first search are used again
    close = mf.read(tmp_path / "close")
    parity = close.artifacts[0].parity
    assert parity.threshold == 0.999
    assert parity.minimum is not None
    assert parity.minimum >= 0.999
    assert parity.top1 is None
    (budget,) = close.budgets
    assert budget.chosen.bytes < budget.curve[-1].bytes  # and not with the finest bits alone
    assert mf.from_json(mf.to_json(close), "") == close


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("more", "line"),
    [
        (("--max-size", "1KB"), r"--max-size 0.1MB: onnx takes \d+\.?\d*MB at the least"),
        (("--max-size", "text_tower=1KB"), "--max-size text_tower: not exported here"),
        (("--max-size", "image_tower=1KB"), "image_tower for onnx takes 0.1MB at the least: ask for that"),
        (("--max-size", "1KB", "--quant", "gptq"), r"--max-size 0.1MB: onnx takes \d+\.?\d*MB at the least"),
        (("--min-parity", "0.9", "--quant", "int8"), "--quant int8: .* leave it out"),
        (("--max-size", "1MB", "--keep", "mlp=int8"), "--keep: .* leave it out"),
        (("--min-parity", "1"), r"image_tower for onnx reaches at most cosine [01]\.\d+"),
        (("--max-size", "image_tower=78KB", "--min-parity", "0.9999"), r"allow image_tower=\d\.\d+MB"),
    ],
)
def test_what_cannot_be_met_is_one_line_with_the_nearest(
    more: tuple[str, ...], line: str, source: str, tmp_path: Path
) -> None:
    done = gamer(source, tmp_path / "out", *more)
    assert done.exit_code == 1
    assert re.search(line, done.output), done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("here")
def test_quant_of_a_file_of_options_is_refused_too(source: str, tmp_path: Path) -> None:
    (tmp_path / "options.yaml").write_text("quant: int4\n")
    done = gamer(source, tmp_path / "out", "--config", str(tmp_path / "options.yaml"), "--min-parity", "0.9")
    assert done.exit_code == 1
    assert "--quant int4: " in done.output


@pytest.mark.usefixtures("here")
def test_without_a_cache_a_choice_is_made_and_what_is_too_large_replaces_nothing(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GAMER_CACHE", str(tmp_path / "file" / "cache"))
    assert gamer(source, tmp_path / "out", "--max-size", "image_tower=85KB").exit_code == 0
    before = mf.read(tmp_path / "out")
    monkeypatch.setattr(sizes, "NODES", dict.fromkeys(sizes.NODES, 0))  # too little is predicted
    failed = gamer(source, tmp_path / "out", "--max-size", "image_tower=60KB")
    assert failed.exit_code == 1, failed.output
    assert "not written: " in failed.output, failed.output
    assert mf.read(tmp_path / "out") == before


@pytest.mark.parametrize(
    ("most", "line"), [(4, "allow --max-size 0.01MB"), (85_000, "ask for --max-size 0.08MB")]
)
def test_what_became_too_large_is_told_with_a_size_that_can_be_asked_for(most: int, line: str) -> None:
    assert line in limits._again("", most, most + 2_000)


def test_figures_of_other_simulation_code_are_not_used(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, file = Settings("towers", sources=(("image", source),), parts=("image",)), tmp_path / "code.py"
    folders = []
    monkeypatch.setattr(sensitivity, "CODE", (file,))
    for code in ("x = 1", "x = 1  # the same", "x = 2"):
        file.write_text(code)
        folders.append(sensitivity._folder(settings, "image_tower", "onnx"))
    assert folders[0] == folders[1] != folders[2]
    calibrated = replace(settings, quant="gptq")
    assert sensitivity._folder(calibrated, "image_tower", "onnx") == folders[2]


def test_a_choice_never_loses_to_uniform_bits_of_as_many_bytes(tmp_path: Path) -> None:
    """Of weights that lie on a grid of blocks of 32, other blocks lose more, and cost what all share once."""
    settings = Settings("llm", sources=(("llm", str(tiny.TINY["qwen2"](tmp_path / "model"))),))
    network = dict(networks.networks(settings))["llm_decoder"]()
    tensors = choices.tensors(settings, "llm_decoder", "onnx", network)
    losses = {"int4/32": 1e-6, "int8": 2e-6, "fp16": 1e-9}
    options = tuple(
        tuple(
            search.Option(q, b - t.bytes[0], losses.get(q, 1e-4))
            for q, b in zip(t.quants, t.bytes, strict=True)
        )
        for t in tensors
    )

    def size(choice: tuple[int, ...]) -> int:
        keep = tuple((t.name, t.quants[n]) for t, n in zip(tensors, choice, strict=True))
        return choices.size(settings, "llm_decoder", "onnx", network, keep)

    searched = choose.Searched("llm_decoder", "onnx", network, tensors, size((0,) * len(tensors)), None)
    uniform = tuple(t.quants.index("int4/32") for t in tensors)
    chosen = choose.within(settings, (searched,), {"llm_decoder": options}, size(uniform))["llm_decoder"]
    assert size(chosen) <= size(uniform)
    lost = (sum(o[n].loss for o, n in zip(options, c, strict=True)) for c in (chosen, uniform))
    assert next(lost) <= next(lost)


def test_the_curve_of_a_decoder_has_the_least_milliseconds_of_a_token_on_the_phone() -> None:
    (phone,) = devices.choose(devices.load(), ["Pixel 6"])
    points = tuple(mf.BudgetPoint(n, 0.1) for n in (51_200_000, 102_400_000))
    chosen = mf.BudgetPoint(76_800_000, 0.05)

    def cells(role: str, on: devices.Profile | None) -> list[list[str]]:
        table = curve(mf.Budget(role, "onnx", points[:1], points[1:], chosen), on)
        return [[str(cell) for cell in column.cells] for column in table.columns]

    # 51.2 GB a second
    assert cells("llm_decoder", phone)[3] == ["1.00", "1.50", "2.00"]
    assert len(cells("llm_decoder", None)) == len(cells("text_tower", phone)) == 3
