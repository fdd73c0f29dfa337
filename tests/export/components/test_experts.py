"""Trained experts: what a checkpoint must hold, and that its numbers are those that are exported."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from gamer.export.checkpoints.checkpoint import open_checkpoint
from gamer.export.components import components, experts
from gamer.export.errors import ExportError
from gamer.export.settings import Settings

SIZES = experts.Sizes(experts=3, blocks=2, width=8, heads=2, features=12, hidden=10)
ROLES = ("dpe_router", "dpe_expert_0", "dpe_expert_1", "dpe_expert_2")


def save(folder: Path, **changes: object) -> Path:
    folder.mkdir(exist_ok=True)
    torch.manual_seed(5)
    tensors = {
        f"{role}.{name}": torch.randn(parameter.shape)
        for role in ROLES
        for name, parameter in experts.module(role, SIZES).named_parameters()
    }
    save_file(tensors, folder / "model.safetensors")
    config = {"model_type": experts.MODEL_TYPE, **asdict(SIZES), **changes}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(("query", "renamed"), [("llm", True), ("text", False)])
def test_a_language_model_that_makes_v_q_is_part_of_the_channels_name(
    tmp_path: Path, query: str, renamed: bool
) -> None:
    sizes, names = replace(SIZES, hidden=10), []
    for value in (0.0, 1.0):
        head = {"head": {"width": 4, "slots": 0}}
        folder = save(tmp_path / str(value), query=query, lora=2, **head)
        tensors = load_file(folder / "model.safetensors")
        tensors["llm_decoder.0.qkv.a"] = torch.full((2, sizes.hidden), value)
        tensors["llm_decoder.0.out.b"] = torch.full((sizes.hidden, 2), value)
        save_file(tensors, folder / "model.safetensors")
        names.append(experts.identity(sizes, open_checkpoint(None, str(folder))))
    assert (names[0] != names[1]) is renamed


@pytest.mark.parametrize("role", ROLES)
def test_a_checkpoints_numbers_are_exported_and_called_trained(tmp_path: Path, role: str) -> None:
    opened = open_checkpoint(None, str(save(tmp_path / "dpe")))
    item = experts.component(role, 5, SIZES, opened)
    assert item.trained
    assert item.source == "local:dpe"
    for name, parameter in item.module.named_parameters():
        assert torch.equal(parameter, opened.weights.get(f"{role}.{name}", *parameter.shape))
    untrained = experts.component(role, 5, SIZES, 20)
    assert (untrained.trained, untrained.source) == (False, "random:20")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 16}, "trained with width = 16, this recipe needs 8"),
        ({"hidden": None}, "trained with hidden = None, this recipe needs 10"),
        ({"model_type": "clip"}, "a model of type 'clip'"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    opened = open_checkpoint(None, str(save(tmp_path / "dpe", **changes)))
    with pytest.raises(ExportError, match=message):
        experts.component("dpe_router", 5, SIZES, opened)


def test_a_checkpoint_says_whether_its_experts_are_pooled(tmp_path: Path) -> None:
    names = set()
    for pooled in (False, True):
        opened = open_checkpoint(None, str(save(tmp_path / str(pooled), pooled=pooled)))
        sizes = experts.trained_sizes(SIZES, opened)
        assert sizes.pooled is pooled
        item = experts.component("dpe_expert_0", 5, sizes, opened)
        assert item.outputs[0].shape == (1, 1 if pooled else 5, SIZES.hidden)
        with torch.no_grad():
            assert item.module(torch.ones(1, 5, SIZES.features)).shape == item.outputs[0].shape
        names.add(experts.identity(sizes, opened))
    assert len(names) == 2  # the same numbers give other vectors


def test_a_checkpoint_says_the_sizes_of_layers_that_it_began_as(tmp_path: Path) -> None:
    opened = open_checkpoint(None, str(save(tmp_path / "dpe", bert=True)))
    sizes = experts.trained_sizes(replace(SIZES, blocks=8, width=64, heads=4), opened)
    assert sizes == replace(SIZES, bert=True)
    experts.component("dpe_expert_0", 5, sizes, opened)
    assert experts.identity(sizes, opened) != experts.identity(SIZES, opened)
    for name, changes in {"heads": {"heads": 3}, "width": {"width": 1 << 20}}.items():
        opened = open_checkpoint(None, str(save(tmp_path / name, bert=True, **changes)))
        with pytest.raises(ExportError, match=rf"config.json\.{name}"):
            experts.trained_sizes(SIZES, opened)


def test_a_checkpoint_whose_training_failed_is_refused(tmp_path: Path) -> None:
    opened = open_checkpoint(None, str(save(tmp_path / "dpe")))
    nan = experts.module("dpe_router", SIZES)
    tensors = {f"dpe_router.{n}": torch.full_like(p, torch.nan) for n, p in nan.named_parameters()}
    save_file(tensors, tmp_path / "dpe" / "model.safetensors")
    opened = open_checkpoint(None, str(tmp_path / "dpe"))
    with pytest.raises(ExportError, match="is not finite"):
        experts.component("dpe_router", 5, SIZES, opened)


def test_a_source_of_experts_that_does_not_exist_is_refused_before_anything_is_exported(
    tmp_path: Path,
) -> None:
    settings = Settings("pocket", sources=(("dpe", str(tmp_path / "nowhere")),))
    with pytest.raises(ExportError, match="must be a directory, a file, or a hub id"):
        components.roles(settings)
    assert "dpe_router" in components.roles(replace(settings, sources=(("dpe", "random:3"),)))
