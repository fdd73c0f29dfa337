"""A trained checkpoint as a module that can be trained on, with the settings that it was trained with."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch

from gamer.runtime.bundle.manifest import digest

from ..checkpoints.checkpoint import open_checkpoint
from ..components import components, experts
from ..components.language import Language
from ..errors import ExportError
from ..settings import Settings
from .options import Options
from .projection import Projection


@dataclass(frozen=True, eq=False)
class Loaded:
    """`language`: the decoder with the checkpoint's changes attached; None if it is needed for nothing.

    `told`: all that its config.json says of its training.
    """

    model: Projection
    language: Language | None
    options: Options
    told: dict[str, Any]


def fingerprint(folder: Path) -> str:
    """SHA-256 in hex of a checkpoint's own files, wherever it lies."""
    sha = hashlib.sha256()
    for path in (folder / "config.json", *sorted(folder.glob("*.safetensors"))):
        sha.update(digest(path)[1].encode() if path.is_file() else b"-")
    return sha.hexdigest()


def load(settings: Settings, folder: Path, rank: int = 0) -> Loaded:
    """The checkpoint `folder` of a recipe's experts; `rank`: of the changes of a language model without any.

    Raises ExportError for something else, other sizes, and one that is not whole.
    """
    opened = open_checkpoint(None, str(folder))
    sizes = experts.trained_sizes(components.dpe_sizes(settings), opened)
    side = experts.query_side(opened)
    experts.check(opened, sizes)
    options = replace(_options(opened.config), pooled=sizes.pooled)
    known = experts.rank(opened)
    wanted = known or rank
    torch.manual_seed(options.seed)  # new changes start from random numbers
    language = Language.of(settings, wanted) if wanted or options.likelihood > 0 else None
    model = Projection(sizes, side, settings.chosen.rho, None if language is None else language.adapter)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if known or not name.startswith(experts.DECODER):
                parameter.copy_(opened.weights.get(name, *parameter.shape))
            if not bool(torch.isfinite(parameter).all()):
                raise ExportError(f"{folder}: {name} is not finite: its training failed")
    return Loaded(model, language, options, dict(opened.config.get("training") or {}))


def _options(config: dict[str, Any]) -> Options:
    told = config.get("training", {})
    names = {field.name for field in fields(Options)}
    try:
        return Options(**{name: value for name, value in told.items() if name in names})
    except (TypeError, AttributeError):
        raise ExportError("config.json: its settings of a training cannot be read: train again") from None
