"""The paper's own figures, read from published.json: the one place of this project where they are written.

It knows nothing of our measurements, except which of them a figure of the paper may stand beside.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Published:
    """The paper's figures.

    `settings`: δ with the encoder it belongs to, ρ, K, α, τ, the blocks of an expert, the users. `gamer_g`:
    10⁹ FLOPs of GAMER with Qwen2-1.5B (Table 1), in a convention that the paper does not state; `less_llm_g`:
    what is left without the language model, equal for `llms_equal` of `llms`. `layer_ms`: milliseconds by
    layer, and "all" (Table 3, Flickr). `without_layer_2`: percentage points (Table 4). `experts`: run on
    average, of `experts_of`, at `settings["rho"]` (Table 7).
    """

    settings: dict[str, Any]
    gamer_g: float
    less_llm_g: float
    llms: int
    llms_equal: int
    expert_parameters: int
    layer_ms: dict[str, int]
    without_layer_2: float
    experts: float
    experts_of: int


def _read() -> Published:
    raw = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
    flops, routed = raw["table_1"], raw["table_7"]
    return Published(
        settings=raw["settings"],
        gamer_g=flops["gamer_qwen2_g"],
        less_llm_g=flops["gamer_less_llm_g"],
        llms=flops["llms"],
        llms_equal=flops["llms_with_that_difference"],
        expert_parameters=flops["expert_parameters"],
        layer_ms=raw["table_3"]["ms"],
        without_layer_2=raw["table_4"]["without_layer_2_points"],
        experts=routed["experts"],
        experts_of=routed["of"],
    )


PAPER = _read()
PAPER_MS = PAPER.layer_ms
GENERATED = ("refine", "all")  # layers whose figure of the paper holds a language model's generation
LATENCY_NOTE = (
    "The paper's column is its Table 3 (Flickr); the paper names no hardware, and its models and albums are "
    f"others. Its reformulation ({PAPER_MS['refine']:,} ms) and its total ({PAPER_MS['all']:,} ms) hold the "
    "generation by a language model: they stand beside ours only where ours generates too, since otherwise "
    'our layer "refine" is the text tower. It reads time and place by NER and a geolocation service, ours '
    "by rules and a gazetteer."
)


def beside(layer: str, refined_by: str) -> int | None:
    """The paper's milliseconds that may stand beside our `layer` of a search refined by `refined_by`.

    None for what the paper does not have, and for what it generates by a language model where we do not.
    """
    return None if layer in GENERATED and refined_by != "llm" else PAPER_MS.get(layer)
