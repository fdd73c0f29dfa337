"""`--keep` names that no matrix has are refused before anything is exported; the line says which exist."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from click.testing import CliRunner

from gamer.export.cli import export
from gamer.export.components import components
from gamer.export.errors import ExportError
from gamer.export.planning import kept, networks
from gamer.export.settings import Settings
from tests.export import tiny

LLMS = {"qwen2": "layers.0.qkv", "gpt2": "layers.0.qkv", "t5": "layers.0.cross_q", "gemma3": "gate_up"}


def llm(folder: Path, kind: str, *names: str) -> Settings:
    source = str(tiny.TINY[kind](folder / kind))
    return Settings("llm", sources=(("llm", source),), keep=tuple((name, "fp32") for name in names))


def towers(folder: Path, kind: str, *names: str) -> Settings:
    source = str(tiny.TINY[kind](folder / kind))
    pairs = (("image", source), ("text", source))
    return Settings("towers", sources=pairs, keep=tuple((name, "fp32") for name in names))


@pytest.mark.parametrize(("kind", "name"), LLMS.items())
def test_a_name_of_a_language_model_is_found_and_another_refused(
    tmp_path: Path, kind: str, name: str
) -> None:
    kept.check(llm(tmp_path, kind, name, "head"))
    with pytest.raises(ExportError) as failed:
        kept.check(llm(tmp_path, kind, "head", "nonsense"))
    line = str(failed.value)
    assert line.startswith("--keep nonsense: ")
    assert "llm_decoder has " in line
    assert "layers.0.qkv" in line
    assert ("llm_encoder has " in line) == (kind == "t5")
    assert "\n" not in line


@pytest.mark.parametrize("kind", ["clip", "siglip"])
def test_a_name_of_one_tower_is_enough(tmp_path: Path, kind: str) -> None:
    kept.check(towers(tmp_path, kind, "mlp", "project" if kind == "clip" else "patch"))
    with pytest.raises(ExportError, match=r"--keep gate_up: .*image_tower has .*; text_tower has "):
        kept.check(towers(tmp_path, kind, "gate_up"))


def test_the_names_are_those_of_the_filled_network(tmp_path: Path) -> None:
    settings = towers(tmp_path, "clip", "mlp")
    for role, build in networks.networks(settings):
        filled = components.build(settings, role, "fp32").module
        assert kept.matrices(build()) == kept.matrices(filled)


def test_the_command_refuses_before_it_exports(tmp_path: Path) -> None:
    source = str(tiny.TINY["qwen2"](tmp_path / "model"))
    for more in ((), ("--dry-run",)):
        command = ["-m", source, "-o", str(tmp_path / "out"), "--keep", "nonsense=int8", *more]
        done = CliRunner().invoke(export, command)
        assert done.exit_code == 1
        assert "--keep nonsense: " in done.output
        assert "layers.0.qkv" in done.output
    assert not list(tmp_path.glob("out*"))
