"""The settings of a training, and the command's defaults. Knows no torch, so that --help starts fast."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

STARTS = ("closed", "random", "layers")
PRECISIONS = ("fp32", "bf16")
FORMS = ("grpo", "printed")  # of a reinforcement: relative to the group, and Eq. 6
TAU = 0.07  # the paper's τ


ALPHA, BETA = 0.5, 0.1  # the paper's α; β of the divergence from the policy before


@dataclass(frozen=True)
class Options:
    """Epochs, batch, rate and τ are by default the paper's (Appendix E), which prints none of the others.

    `accumulate`: batches whose gradients are summed before a step; negatives are those of one batch.
    `warmup`: the share of the steps in which the rate rises; then it falls linearly. `entropy`: weight of
    the router's entropy. `likelihood`: weight of the first term of Eq. 2, the negative log-likelihood of the
    memory after soft prompts and query, summed over its tokens; 0 leaves it out, 1 for both is as printed.
    `lora`: rank of the language model's changes, or
    WHOLE; 0 leaves the model as it is. `precision`: of the arithmetic, "fp32" or "bf16"; parameters stay in
    fp32. `steps`: of the optimiser, after which the training ends; 0 for all epochs. `start`: "closed",
    "random" or "layers" (start.py). `pooled`: whether an expert gets the mean of a photo's patches instead
    of all. `query`: whose state becomes v_Q, "text" or "llm". `until`: memories of photos taken from this
    time on (ms, wall time) are withheld.
    """

    epochs: int = 20
    batch: int = 128
    accumulate: int = 1
    rate: float = 2e-5
    decay: float = 0.01
    warmup: float = 0.1
    tau: float = TAU
    entropy: float = 0.01
    likelihood: float = 0.0
    lora: int = 0
    precision: str = "fp32"
    steps: int = 0
    leave_out_positive: bool = False
    query: str = "text"
    start: str = "closed"
    pooled: bool = True
    until: int | None = None
    seed: int = 20


@dataclass(frozen=True)
class Reinforcement:
    """What is reinforced, and by which reward.

    `base`: the checkpoint whose refinement of queries goes on. `bundle`: its search is asked. `queries`: a
    JSONL of {"query", "photos"}; None for what was searched and opened. `alpha`: the share of r1. `beta`:
    weight of the divergence from `base`. `judge`: a BLIP-2 for r1, fine-tuned first; None for the experts of
    `base`. `form`: one of FORMS; "printed" is Eq. 6, whose policy reads the photo's soft prompts, too.
    """

    base: Path
    bundle: Path
    queries: Path | None = None
    alpha: float = ALPHA
    beta: float = BETA
    judge: Path | None = None
    form: str = FORMS[0]
