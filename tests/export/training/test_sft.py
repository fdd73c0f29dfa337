"""The loop without models: it learns, it goes on where it was killed, and what is wrong loses nothing."""

from __future__ import annotations

import errno
import json
import multiprocessing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
from safetensors.torch import load_file

from gamer.export.checkpoints.checkpoint import open_checkpoint
from gamer.export.components import experts
from gamer.export.components.experts import QuerySide
from gamer.export.errors import ExportError
from gamer.export.training import features, losses, sft, start
from gamer.export.training.loop import Epoch, Loop
from gamer.export.training.options import Options
from gamer.export.training.projection import Projection, gate
from gamer.export.training.run_folder import RunFolder
from tests.export.training.test_projection import CLASSES, SIZES, WIDTH, found, made_up

OPTIONS = Options(epochs=4, batch=16, rate=1e-3, seed=7)
EXPERTS = tuple(f"dpe_expert_{n}" for n in range(SIZES.experts))


def run(
    folder: Path, options: Options = OPTIONS, report: sft.Report = lambda epoch: None
) -> tuple[Projection, int, tuple[Epoch, ...]]:
    features, states, names, _ = made_up()
    known = start.StartData(states[:30], list(range(30)), names)
    torch.manual_seed(options.seed)
    model = Projection(SIZES, QuerySide("text", WIDTH, CLASSES), rho=0.7)
    kept = RunFolder(folder, {"recipe": "made up", "rate": options.rate})
    with kept.held():
        kept.check()
        done = sft.fit(model, features, known, options, kept, report)
        kept.publish(model)
        return model, *done


def test_training_from_random_numbers_finds_photos_of_the_kind_that_is_meant(tmp_path: Path) -> None:
    options = replace(OPTIONS, start="random", epochs=30, rate=3e-3)
    model, _, epochs = run(tmp_path / "dpe", options)
    features, states, _, kinds = made_up()
    assert epochs[-1].contrastive < 0.7 * epochs[0].contrastive
    assert found(model.cpu(), features, states, kinds) > 0.6


def test_a_weight_on_the_entropy_makes_the_router_choose_fewer(tmp_path: Path) -> None:
    few = run(tmp_path / "few", replace(OPTIONS, epochs=20, rate=1e-2, entropy=5.0))[2]
    assert few[-1].entropy < few[0].entropy
    assert few[-1].experts < 3.0


def test_a_killed_training_ends_where_a_whole_one_does(tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def kill(epoch: Epoch) -> None:
        if epoch.epoch == 2:
            raise Killed

    with pytest.raises(Killed):
        run(tmp_path / "killed", report=kill)
    assert not (tmp_path / "killed" / "config.json").exists()
    _, resumed, epochs = run(tmp_path / "killed")
    assert resumed == 2
    assert [epoch.epoch for epoch in epochs] == [3, 4]
    run(tmp_path / "whole")
    whole, killed = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "killed"))
    assert whole.keys() == killed.keys()
    for name, tensor in whole.items():
        torch.testing.assert_close(killed[name], tensor, rtol=1e-4, atol=1e-5)
    assert len((tmp_path / "killed" / "training" / "log.csv").read_text().splitlines()) == 5


def test_the_checkpoint_is_what_an_export_takes(tmp_path: Path) -> None:
    model, _, _ = run(tmp_path / "dpe")
    opened = open_checkpoint(None, str(tmp_path / "dpe"))
    side = experts.query_side(opened)
    assert side == QuerySide("text", WIDTH, CLASSES)
    head = experts.query_head(side, SIZES.hidden, opened)
    state = torch.randn(1, WIDTH)
    with torch.no_grad():
        torch.testing.assert_close(head.module(state), model.query(state))
    patches = torch.randn(1, 5, SIZES.features)
    router = experts.component("dpe_router", 5, SIZES, opened)
    with torch.no_grad():
        torch.testing.assert_close(router.module(patches), model(patches)[1])
    assert len(experts.identity(SIZES, opened)) == 8


def test_another_training_in_the_folder_is_refused_and_kept(tmp_path: Path) -> None:
    run(tmp_path / "dpe")
    before = (tmp_path / "dpe" / "model.safetensors").read_bytes()
    with pytest.raises(ExportError, match="a training with another rate is there"):
        run(tmp_path / "dpe", replace(OPTIONS, rate=0.5))
    assert (tmp_path / "dpe" / "model.safetensors").read_bytes() == before


def _hold(folder: Path, ready: multiprocessing.synchronize.Event) -> None:
    with RunFolder(folder, {}).held():
        ready.set()
        multiprocessing.Event().wait(60)


def test_two_trainings_do_not_share_a_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    other = context.Process(target=_hold, args=(tmp_path / "dpe", ready))
    other.start()
    try:
        assert ready.wait(60)
        with pytest.raises(ExportError, match="another training writes here"):
            run(tmp_path / "dpe")
    finally:
        other.kill()
        other.join()
    run(tmp_path / "dpe", replace(OPTIONS, epochs=1))  # a killed one leaves no lock


def test_a_loss_that_is_not_a_number_keeps_the_last_state(tmp_path: Path) -> None:
    def spoil(epoch: Epoch) -> None:
        if epoch.epoch == 2:
            with torch.no_grad():
                for parameter in models[0].parameters():
                    parameter.fill_(torch.nan)

    models: list[Projection] = []
    features, states, names, _ = made_up()
    known = start.StartData(states[:30], list(range(30)), names)
    model = Projection(SIZES, QuerySide("text", WIDTH, CLASSES), rho=0.7)
    models.append(model)
    kept = RunFolder(tmp_path / "dpe", {})
    with kept.held(), pytest.raises(ExportError, match="the loss is not a number: the last state is kept"):
        sft.fit(model, features, known, OPTIONS, kept, spoil)
    state = load_file(tmp_path / "dpe" / "training" / "state.safetensors")
    assert int(state["epochs"]) == 2
    assert all(bool(torch.isfinite(tensor).all()) for tensor in state.values())
    assert not (tmp_path / "dpe" / "config.json").exists()


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        ("told.json", "must be JSON"),
        ("state.safetensors", "not a whole state"),
    ],
)
def test_a_damaged_state_is_named(tmp_path: Path, spoilt: str, message: str) -> None:
    run(tmp_path / "dpe", replace(OPTIONS, epochs=1))
    path = tmp_path / "dpe" / "training" / spoilt
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ExportError, match=message):
        run(tmp_path / "dpe")


def test_a_query_side_that_cannot_be_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "dpe", replace(OPTIONS, epochs=0))
    config = json.loads((tmp_path / "dpe" / "config.json").read_text())
    for changes in (
        {"query": "image"},
        {"head": {"width": 1 << 40, "slots": 0}},
        {"head": {"width": "16"}},
        {"head": 7},
        {"query": "text", "head": {}},
    ):
        (tmp_path / "dpe" / "config.json").write_text(json.dumps(config | changes))
        with pytest.raises(ExportError, match=r"config\.json\.(query|head)[^:]*: must"):
            experts.query_side(open_checkpoint(None, str(tmp_path / "dpe")))


def test_what_was_never_trained_has_no_moments_to_go_on_from(tmp_path: Path) -> None:
    model = Projection(SIZES, QuerySide("text", WIDTH, CLASSES), rho=0.7)
    folder, optimiser = RunFolder(tmp_path / "dpe", {}), torch.optim.AdamW(model.parameters())
    model.dpe_router.out.bias.sum().backward()
    optimiser.step()
    with folder.held():
        folder.keep(model, optimiser, 1)
        again = torch.optim.AdamW(model.parameters())
        assert folder.resume(model, again) == 1
    assert set(again.state) == {model.dpe_router.out.bias}


def test_the_moments_go_where_the_parameters_are(tmp_path: Path) -> None:
    model = Projection(SIZES, QuerySide("text", WIDTH, CLASSES), rho=0.7)
    optimiser = torch.optim.AdamW(model.parameters())
    sum(p.sum() for p in model.parameters()).backward()
    optimiser.step()
    folder = RunFolder(tmp_path / "dpe", {})
    with folder.held():
        folder.keep(model, optimiser, 1)
    away = torch.optim.AdamW(model.to("meta").parameters())
    folder.resume(model, away)
    assert {state["exp_avg"].device.type for state in away.state.values()} == {"meta"}


def test_an_error_inside_a_training_is_not_the_folder_s(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), RunFolder(tmp_path / "dpe", {}).held():
        raise FileNotFoundError("a photo")


def test_a_full_disk_is_found_before_a_feature_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, begin: int, length: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full, raising=False)
    with pytest.raises(ExportError, match=r"features cannot be kept there .No space left on device.: free"):
        features._Store(tmp_path / "dpe", "key", (10, 49, 1280), 1000)
    assert not list((tmp_path / "dpe").glob("*.npy"))


def test_a_file_for_features_has_its_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kept in (("fallocate", True), ("zeros", False)):
        if not kept:
            monkeypatch.delattr("os.posix_fallocate", raising=False)
        array = features._array(tmp_path / name, True, np.float16, (10, 49, 128))
        assert (tmp_path / name).stat().st_blocks * 512 >= array.nbytes
        assert not array.any()


@pytest.mark.parametrize(("batch", "accumulate"), [(5, 6), (10, 3), (15, 2)])
def test_accumulated_gradients_are_those_of_one_batch(
    monkeypatch: pytest.MonkeyPatch, batch: int, accumulate: int
) -> None:
    monkeypatch.setattr(losses, "contrastive", lambda photos, queries, *_: photos.square().mean())
    found = []
    for options in (
        replace(OPTIONS, batch=30, epochs=1),
        replace(OPTIONS, batch=batch, accumulate=accumulate, epochs=1),
        replace(OPTIONS, batch=batch, accumulate=64, epochs=1),  # a group that is not full
    ):
        seen, states, names, _ = made_up()
        torch.manual_seed(1)
        model = Projection(SIZES, QuerySide("text", WIDTH, CLASSES), rho=0.7)
        loop = Loop(
            model,
            torch.optim.SGD(model.parameters(), lr=1.0),
            seen,
            start.StartData(states[:30], list(range(30)), names),
            options,
        )
        monkeypatch.setattr(loop, "_set_rate", lambda share: None)
        loop.epoch(0, 0)
        found.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], rtol=1e-4, atol=1e-5)


def test_the_rate_falls_to_the_end_of_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, states, names, _ = made_up()
    model = Projection(SIZES, QuerySide("text", WIDTH, CLASSES), rho=0.7)
    options = replace(OPTIONS, batch=10, epochs=50, steps=4)
    known = start.StartData(states[:30], list(range(30)), names)
    loop, shares = Loop(model, torch.optim.SGD(model.parameters()), seen, known, options), list[float]()
    monkeypatch.setattr(loop, "_set_rate", shares.append)
    told = [loop.epoch(n, 0) for n in range(loop.epochs)]
    assert shares == [0, 0.25, 0.5, 0.75]
    assert [epoch.of for epoch in told] == [2, 2]


def test_after_a_loss_that_is_not_a_number_the_last_whole_epoch_is_published(tmp_path: Path) -> None:
    model = Projection(SIZES, QuerySide("text", WIDTH, CLASSES), rho=0.7)
    run_folder = RunFolder(tmp_path / "dpe", {"epochs": 4})
    with run_folder.held():
        assert "no epoch was finished" in sft._rescued(run_folder, model)
        run_folder.keep(model, torch.optim.AdamW(model.parameters()), 2)
        with torch.no_grad():
            model.dpe_router.out.bias.fill_(torch.nan)
        assert "is the checkpoint after epoch 2" in sft._rescued(run_folder, model)
    opened = open_checkpoint(None, str(tmp_path / "dpe"))
    assert opened.config["training"]["epochs"] == 2
    experts.component("dpe_router", 5, SIZES, opened)


def test_trained_experts_and_their_query_head_compute_the_same_through_onnx(tmp_path: Path) -> None:
    from gamer.export.onnx.to_onnx import write
    from tests.export.onnx.test_to_onnx import NO_LANGUAGE

    ort = pytest.importorskip("onnxruntime")
    model, _, _ = run(tmp_path / "dpe")
    opened = open_checkpoint(None, str(tmp_path / "dpe"))
    side, found = experts.query_side(opened), {}
    patches, state = torch.randn(1, 5, SIZES.features), torch.randn(1, WIDTH)
    items = [experts.component(r, 5, SIZES, opened) for r in ("dpe_router", *EXPERTS)]
    for item in (*items, experts.query_head(side, SIZES.hidden, opened)):
        path = tmp_path / f"{item.role}.onnx"
        write(item, "fp32", NO_LANGUAGE, [], path)
        session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        given = state if item.role == "dpe_query" else patches
        found[item.role] = torch.from_numpy(session.run(None, {item.inputs[0].name: given.numpy()})[0])
    with torch.no_grad():
        torch.testing.assert_close(found["dpe_query"], model.query(state), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(found["dpe_router"], model(patches)[1], rtol=1e-4, atol=1e-5)
        shares = gate(found["dpe_router"], model.rho)[0]
        prompts = sum(share * found[role] for share, role in zip(shares, EXPERTS, strict=True))
        assert isinstance(prompts, torch.Tensor)
        torch.testing.assert_close(prompts.mean(1), model(patches)[0], rtol=1e-4, atol=1e-5)
