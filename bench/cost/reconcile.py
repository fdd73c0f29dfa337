"""What the paper's FLOPs (its Table 1) can be made of, by closed formulas; nothing is measured here.

The paper states neither a convention (one multiply-add as one or as two) nor the lengths of its inputs. GAMER
less its language model costs the same for most of its models, so that part can be looked at alone. A count
that comes near is an explanation that fits, not a proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from ..published import PAPER
from . import flop_formulas
from .flop_formulas import Candidate, Encoder, Vit

# CLIP-ViT-B/32: an image tower of 12 layers of 768, a text tower of 12 layers of 512.
CLIP_B32_IMAGE = Vit(Encoder(768, 12, 3072), 224, 32, 512)
CLIP_B32_TEXT = Encoder(512, 12, 2048)


@dataclass(frozen=True)
class Line:
    """One count beside a figure of the paper. `paper_g`: in 10⁹, or derived from two such figures."""

    part: str
    candidate: Candidate
    paper_g: float


def expert_width(parameters: int, blocks: int) -> float:
    """The width d of `blocks` transformer blocks of 12·d² matrix weights (4 for attention, 8 for the MLP)."""
    return sqrt(parameters / (12 * blocks))


def lines() -> tuple[Line, ...]:
    """GAMER less its language model, then the model that remains; the nearest count of each first."""
    without = PAPER.less_llm_g["Qwen2"]
    left = round(PAPER.gamer_g - without, 1)
    parts = (
        ("less its LLM, Qwen2", _without_llm(), without),
        ("Qwen2-1.5B, if it is one of these", _language_model(left), left),
    )
    return tuple(
        Line(part, candidate, target)
        for part, ways, target in parts
        for candidate in flop_formulas.nearest(ways, target)
    )


def _without_llm() -> dict[str, int]:
    width = round(expert_width(PAPER.settings["expert_parameters"], PAPER.settings["expert_blocks"]))
    expert = Encoder(width, PAPER.settings["expert_blocks"], 4 * width)
    words = flop_formulas.CLIP_L_WORDS
    run = f"{PAPER.experts} experts of width {width}"
    return {
        "CLIP-ViT-B/32, one image and one text": CLIP_B32_IMAGE.macs() + CLIP_B32_TEXT.macs(words),
        "CLIP-ViT-L/14's text tower": flop_formulas.CLIP_L_TEXT.macs(words),
        "CLIP-ViT-L/14, one image": flop_formulas.CLIP_L_IMAGE.macs(),
        f"{run} on {flop_formulas.PAPER_PATCHES} patches": round(
            PAPER.experts * expert.macs(flop_formulas.PAPER_PATCHES)
        ),
        f"{run} on one feature": round(PAPER.experts * expert.macs(1)),
    }


def _language_model(giga: float) -> dict[str, int]:
    """The query lengths at which Qwen2-1.5B comes nearest to `giga`, counted in one way and in the other."""
    return {
        f"a query of {fit.tokens} tokens": flop_formulas.QWEN2_1B5.prompt(fit.tokens)
        for fit in flop_formulas.fits(giga)
    }


@dataclass(frozen=True)
class OneExpert:
    """What one more expert costs. `macs`: multiply-adds in 10⁶; 0 where FLOPs alone are known."""

    way: str
    macs: float
    mega_flops: float


def one_expert() -> tuple[OneExpert, ...]:
    """The slope of the paper's Table 7, and experts of 88 M on all patches and on their mean."""
    few, many = (PAPER.at(7, "rho", rho) for rho in (0.4, 0.8))
    slope = (many["flops_10m"] - few["flops_10m"]) / (many["experts"] - few["experts"]) * 10
    ways = {
        f"on {flop_formulas.PAPER_PATCHES} patches": flop_formulas.PAPER_PATCHES,
        "pooled, on their mean": 1,
    }
    counted = {way: flop_formulas.EXPERT_88M.macs(patches) / 1e6 for way, patches in ways.items()}
    return (
        OneExpert("the paper, from 1.5 to 2.5 experts", 0.0, slope),
        *(OneExpert(f"an expert of 88 M {way}", macs, 2 * macs) for way, macs in counted.items()),
    )


def notes() -> str:
    """What the table says, in one paragraph."""
    parameters, blocks = PAPER.settings["expert_parameters"], PAPER.settings["expert_blocks"]
    without = ", ".join(f"{giga} ({llm})" for llm, giga in PAPER.less_llm_g.items())
    expert = one_expert()[0].mega_flops
    width = expert_width(parameters, blocks)
    ours = flop_formulas.PAPER_EXPERT.body
    return (
        f"Less its language model GAMER costs {without} G, about a CLIP's; one image through CLIP-ViT-L/14 "
        f"alone is several times that, and so are the experts on {flop_formulas.PAPER_PATCHES} patches: "
        f"these cannot be in it. By the paper's Table 7 an expert costs {expert:.0f} MFLOPs, which is one "
        "vector through its weights. An expert of "
        f"{blocks} blocks has {12 * blocks}·d² weights: {parameters / 1e6:.0f} M give d ≈ {width:.0f}, ours "
        f"of width {ours.width} has {12 * blocks * ours.width**2 / 1e6:.0f} M."
    )
