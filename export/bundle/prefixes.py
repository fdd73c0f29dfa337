"""Computes the decoder's cache of each prompt's fixed beginning and writes it into the bundle.

The turns of a dialogue have none: their beginnings are a few tokens. A cache is computed with the artifacts
that later continue from it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gamer.runtime.backends import BACKENDS, runs_here
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.models.language import chat, prefix
from gamer.runtime.models.models import Models

FOLDER = "prefixes"
ROOM = 64  # cache slots that are left for a query and its answer


def write(stage: Path, manifest: mf.Manifest) -> tuple[mf.PrefixFile, ...]:
    """Writes a .npy file for each prompt and each target that runs on this platform."""
    # An ExecuTorch program that parity could not execute has delegates that this platform lacks.
    not_loadable = {
        a.target
        for a in manifest.artifacts
        if a.target == "executorch" and not a.parity.executed_by.startswith("executorch")
    }
    targets = {a.target for a in manifest.artifacts} - not_loadable
    (stage / FOLDER).mkdir(exist_ok=True)
    runnable = [target for target in BACKENDS if target in targets and runs_here(target)]
    names = [name for name in manifest.prompts if not name.startswith(chat.TURN)]
    written = (_write(Models(stage, manifest, target, 2), name) for target in runnable for name in names)
    return tuple(entry for entry in written if entry is not None)


def _write(models: Models, name: str) -> mf.PrefixFile | None:
    """Writes the cache of one prompt; None if the prompt leaves fewer than ROOM slots.

    The runtime reports a prompt that does not fit when it is given a query.
    """
    fixed, _ = prefix.encode(models.llm_tokenizer, models.manifest.prompts[name], "")
    if len(fixed) + ROOM > models.manifest.decoder().max_seq:
        return None
    decoder = models.language_model.decoder
    decoder.reset()
    decoder.forward(models.language_model.embed(fixed))
    path = f"{FOLDER}/{models.backend}-{name}.npy"
    np.save(models.bundle / path, decoder.keep(), allow_pickle=False)
    made_from = prefix.made_from(models.manifest, models.backend, fixed)
    return mf.PrefixFile(name, models.backend, len(fixed), made_from, path, *mf.digest(models.bundle / path))
