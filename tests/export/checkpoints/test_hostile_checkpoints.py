"""Checkpoints whose JSON files and safetensors headers a stranger changed: opened, or refused in one line."""

from __future__ import annotations

import json
import random
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.checkpoints.checkpoint import open_checkpoint
from gamer.export.components import components
from gamer.export.settings import Settings, recipe_for
from gamer.index.errors import GamerError
from tests.export import tiny

MUTATIONS = 60  # of each checkpoint
VALUES: tuple[Any, ...] = (
    None, -1, 0, 1, 2**31, 2**63, 10**30, 1e308, -1.5, "", "x" * 1000, [], {}, [1] * 1000, True, "\0",
    "../../etc/passwd", {"a": {"a": {}}}, [[[]]], float("nan"), float("inf"),
)  # fmt: skip


def changed(value: Any, chance: random.Random) -> Any:
    """JSON with one of its values replaced, or one of its keys gone."""
    root = value = json.loads(json.dumps(value))
    while isinstance(value, dict | list) and value:
        key = chance.choice(list(value)) if isinstance(value, dict) else chance.randrange(len(value))
        if not isinstance(value[key], dict | list) or chance.random() < 0.4:
            if isinstance(value, dict) and chance.random() < 0.2:
                del value[key]
            else:
                value[key] = chance.choice(VALUES)
            break
        value = value[key]
    return root


def spoil(folder: Path, chance: random.Random) -> None:
    weights, texts = sorted(folder.glob("*.safetensors")), sorted(folder.glob("*.json"))
    how = chance.randrange(4)
    if how == 0:
        file = chance.choice(weights)
        data = file.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        header = json.dumps(changed(json.loads(data[8 : 8 + length]), chance)).encode()
        file.write_bytes(struct.pack("<Q", len(header)) + header + data[8 + length :])
    elif how == 1:
        file = chance.choice(weights + texts)
        noisy = bytearray(file.read_bytes())
        for _ in range(chance.randint(1, 8)):
            noisy[chance.randrange(min(len(noisy), 4000))] = chance.randrange(256)
        file.write_bytes(noisy[: chance.choice((None, chance.randrange(len(noisy))))])
    else:
        file = chance.choice([*texts, folder / "config.json"])
        file.write_text(json.dumps(changed(json.loads(file.read_text(encoding="utf-8")), chance)))


def read(folder: Path) -> None:
    """All that an export does before it converts: the configuration, the networks, the tokenizer."""
    checkpoint = open_checkpoint(None, str(folder))
    recipe = recipe_for(checkpoint.config)
    parts = ("llm",) if recipe == "llm" else ("image", "text")
    settings = Settings(recipe, sources=tuple((part, str(folder)) for part in parts))
    for role in components.roles(settings):
        components.build(settings, role, "fp32")
    if checkpoint.tokenizer is not None:
        checkpoint.tokenizer()


@pytest.mark.parametrize("name", tiny.TINY)
def test_a_spoilt_checkpoint_is_opened_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    chance, source = random.Random(name), tiny.TINY[name](tmp_path / "source")
    read(source)
    refused = 0
    for n in range(MUTATIONS):
        spoil(shutil.copytree(source, folder := tmp_path / f"spoilt-{n}"), chance)
        try:
            read(folder)
        except GamerError as error:
            assert "\n" not in str(error), error
            assert len(str(error)) < 700, error
            refused += 1
    assert refused > MUTATIONS // 4
