"""Checks, before weights are read, that every name of --keep is part of the name of some matrix.

The networks are built on the meta device, which holds names and shapes and takes no memory; only what is
small is built as it is. The cheapest are asked first, and no more of them than are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import nn

from ..checkpoints.filling import NoWeights
from ..components import components, decoders, towers
from ..errors import ExportError
from ..networks.efficientnet_lite import ConseTower, EfficientNetLite0
from ..settings import Settings

SHOWN = 4  # names of a component in the message
_ROUTER, _EXPERT = "dpe_router", "dpe_expert_0"  # all experts have the same names


def check(settings: Settings) -> None:
    """Raises ExportError for a name of `settings.keep` that occurs in no matrix of the chosen components."""
    missing = [name for name, _ in settings.keep]
    seen: dict[str, tuple[str, ...]] = {}
    for role, build in _networks(settings) if missing else ():
        seen[role] = matrices(build())
        missing = [name for name in missing if not any(name in matrix for matrix in seen[role])]
        if not missing:
            return
    if missing:
        have = "; ".join(f"{role} has {', '.join(_examples(names))}" for role, names in seen.items())
        raise ExportError(f"--keep {missing[0]}: no matrix has this in its name: {have}")


def matrices(network: nn.Module) -> tuple[str, ...]:
    """The names of a network's matrices and tables: their paths, as the targets look them up."""
    tensors = (*network.named_parameters(), *network.named_buffers())
    return tuple(name for name, t in tensors if t.numel() > max(t.shape, default=1))


def _networks(settings: Settings) -> Iterator[tuple[str, Callable[[], nn.Module]]]:
    """(role, what builds its network) of each component, the cheapest first.

    The token table is left out: it has a quantization of its own.
    """
    roles = components.roles(settings)
    if "llm_decoder" in roles:
        networks = decoders.networks(components.checkpoint(settings, "llm").config, settings.slots)
        for role in networks:
            yield role, partial(networks.__getitem__, role)
    if "image_tower" in roles:
        yield "image_tower", partial(_image, settings)
    if "text_tower" in roles:
        yield "text_tower", partial(_text, settings)
    for role in (_ROUTER, _EXPERT):
        if role in roles:
            yield role, partial(_built, settings, role)


def _built(settings: Settings, role: str) -> nn.Module:
    return components.build(settings, role, "fp32").module


def _image(settings: Settings) -> nn.Module:
    if settings.model("image") == components.CONSE:
        with torch.device("meta"):
            return ConseTower(EfficientNetLite0(), torch.empty(1_000, 2), components.MEAN, components.STD)
    return towers.image_tower(components.checkpoint(settings, "image").config, NoWeights()).module


def _text(settings: Settings) -> nn.Module:
    config = components.checkpoint(settings, "text").config
    if config.get("model_type") == "bert":
        return _built(settings, "text_tower")
    return towers.text_tower(config, NoWeights()).module


def _examples(names: tuple[str, ...]) -> list[str]:
    """A few names, one for each kind of matrix: "layers.0.qkv" stands for every layer's."""
    kinds: dict[str, str] = {}
    for name in (name.removesuffix(".weight") for name in names):
        kinds.setdefault(name.rpartition(".")[2], name)
    return list(kinds.values())[:SHOWN]
