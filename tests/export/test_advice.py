"""What is offered for a parity below its threshold can be given: real names, and groups of the target."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("torch", reason="needs the export extra")
from torch import nn

from gamer.export.parity import advice
from gamer.export.recipe import Threshold
from gamer.export.settings import Settings
from gamer.runtime.bundle.manifest import Parity

GATED = nn.ModuleDict({"qkv": nn.Linear(8, 24), "down": nn.Linear(16, 8)})
PLAIN = nn.ModuleDict({"qkv": nn.Linear(8, 24)})


@pytest.mark.parametrize(
    ("network", "target", "quant", "group", "offered"),
    [
        (
            GATED,
            "onnx",
            "int4",
            64,
            "--group-size 32, --keep down=int8 (matrices are qkv, down), --quant int8, ",
        ),
        (GATED, "onnx", "int4", 32, "--group-size 16, --keep down=int8"),
        (GATED, "executorch", "8da4w", 64, "--group-size 32, --keep down=int8"),
        (GATED, "executorch", "8da4w", 32, "--keep down=int8 (matrices"),  # XNNPACK has no groups of 16
        (
            PLAIN,
            "executorch",
            "8da4w",
            32,
            "--keep NAME=int8 (matrices are qkv), --quant int8, or a lower bar, ",
        ),
        (
            GATED,
            "onnx",
            "int8",
            32,
            "--keep down=fp32 (matrices are qkv, down), --quant none, or a lower bar, ",
        ),
    ],
)
def test_the_options_offered_are_those_that_may_help(
    network: nn.Module, target: str, quant: str, group: int, offered: str
) -> None:
    settings = Settings("pocket", "int8" if quant == "int8" else "int4", group_size=group)
    item = SimpleNamespace(module=network)
    artifact = SimpleNamespace(quant=quant, target=target, role="llm_decoder")
    parity = SimpleNamespace(minimum=0.86558, top1=0.7727)
    told = advice.below(
        settings, cast(Any, item), cast(Any, artifact), cast(Parity, parity), Threshold(0.95, 0.8)
    )
    assert told.startswith(offered)
    assert told.endswith("--min-parity llm_decoder=0.865/0.772")
