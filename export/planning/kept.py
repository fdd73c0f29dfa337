"""Checks, before weights are read, that every name of --keep is in the name of a matrix that follows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torch import nn

from ..errors import ExportError
from ..quantize.calibration import TARGETS as CALIBRATED
from ..quantize.calibration import convolves
from ..recipe import STATIC, TARGETS
from ..settings import Settings, concerns, without_place
from .networks import TABLE, networks

SHOWN = 4  # names of a component in the message
_TABLE = ("embed", "embeds", "embedding", "embed_tokens", "llm_embed", "rows", "table", "tokens")
# The token table has a quantization of its own; all experts have the same names.
_ASIDE = (TABLE, "dpe_expert_1", "dpe_expert_2", "dpe_query")


def check(settings: Settings, targets: tuple[str, ...] = TARGETS) -> tuple[str, ...]:
    """Lines about names of `settings.keep` that some component with such a matrix does not follow.

    Raises ExportError for a name that no matrix of the chosen components has, and for one that none follows.
    """
    have: dict[str, tuple[str, ...]] = {}
    deaf: dict[str, dict[str, str]] = {}  # role → target → why it does not follow --keep
    for role, build in _followers(settings) if settings.keep else ():
        network = build()
        have[role], deaf[role] = matrices(network), _deaf(settings, role, convolves(network), targets)
    lines = []
    for name, _ in settings.keep:
        part = without_place(name)
        follow = {role: [t for t in targets if concerns(name, role, t)] for role in have}
        found = [r for r, names in have.items() if follow[r] and any(part in matrix for matrix in names)]
        if not found:
            raise ExportError(f"--keep {name}: {_missing(name, settings, have)}")
        without = [
            f"{role} for {t} ({why})" for role in found for t, why in deaf[role].items() if t in follow[role]
        ]
        if without and all(set(follow[role]) <= set(deaf[role]) for role in found):
            raise ExportError(f"--keep {name}: nothing follows it, not {', '.join(without)}: leave it out")
        lines += [f"--keep {name} has no effect on {', '.join(without)}"] if without else []
    return tuple(lines)


def _followers(settings: Settings) -> Iterator[tuple[str, Callable[[], nn.Module]]]:
    return ((role, build) for role, build in networks(settings) if role not in _ASIDE)


def _missing(name: str, settings: Settings, have: dict[str, tuple[str, ...]]) -> str:
    if "llm" in settings.chosen.parts() and name in _TABLE:
        return (
            "the token table (llm_embed) has a quantization of its own, which --quant chooses: leave it out"
        )
    lists = "; ".join(f"{role} has {', '.join(examples(names))}" for role, names in have.items())
    return f"no matrix has this in its name: {lists}"


def _deaf(settings: Settings, role: str, convolved: bool, targets: tuple[str, ...]) -> dict[str, str]:
    """Target → why a component does not follow --keep there; the targets where it does are left out."""
    why = {}
    for target in targets:
        quant = settings.quant_of(role, target)
        weights_alone = target == "executorch" and settings.executorch_backend == "coreml"
        if (
            role == "image_tower"
            and convolved
            and quant == "int8"
            and target in CALIBRATED
            and not weights_alone
        ):
            why[target] = "convolutions calibrated as a whole"
        elif quant in STATIC or (target == "executorch" and quant in ("fp32", "fp16") and not weights_alone):
            why[target] = f"{quant} as a whole"
    return why


def matrices(network: nn.Module) -> tuple[str, ...]:
    """The names of a network's matrices and tables: their paths, as the targets look them up."""
    tensors = (*network.named_parameters(), *network.named_buffers())
    return tuple(name for name, t in tensors if t.numel() > max(t.shape, default=1))


def examples(names: tuple[str, ...]) -> list[str]:
    """A few names, one for each kind of matrix: "layers.0.qkv" stands for every layer's."""
    kinds: dict[str, str] = {}
    for name in (name.removesuffix(".weight") for name in names):
        kinds.setdefault(name.rpartition(".")[2], name)
    return list(kinds.values())[:SHOWN]
