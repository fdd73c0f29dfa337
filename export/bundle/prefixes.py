"""Computes each prompt's fixed beginning once, with the very artifacts that will go on from it, and writes
the caches into the bundle.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gamer.runtime.backends import BACKENDS, runs_here
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.models import prefix
from gamer.runtime.models.models import Models

FOLDER = "prefixes"
ROOM = 64  # slots for a query and its answer


def write(stage: Path, manifest: mf.Manifest) -> tuple[mf.PrefixFile, ...]:
    """One .npy per prompt and target that runs on this platform; none for targets that do not."""
    # An ExecuTorch program for another system's delegates loads nowhere here: parity has tried.
    elsewhere = {
        a.target
        for a in manifest.artifacts
        if a.target == "executorch" and not a.parity.executed_by.startswith("executorch")
    }
    targets = {a.target for a in manifest.artifacts} - elsewhere
    (stage / FOLDER).mkdir(exist_ok=True)
    here = [target for target in BACKENDS if target in targets and runs_here(target)]
    made = (_write(Models(stage, manifest, target, 2), name) for target in here for name in manifest.prompts)
    return tuple(entry for entry in made if entry is not None)


def _write(models: Models, name: str) -> mf.PrefixFile | None:
    """None for a prompt that leaves the decoder no room for a query: a run says so, with the query
    in hand.
    """
    fixed, _ = prefix.encode(models.llm_tokenizer, models.manifest.prompts[name], "")
    if len(fixed) + ROOM > models.manifest.decoder().max_seq:
        return None
    decoder = models.language_model.decoder
    decoder.reset()
    decoder.forward(models.language_model.embed(fixed))
    path = f"{FOLDER}/{models.backend}-{name}.npy"
    np.save(models.bundle / path, decoder.keep(), allow_pickle=False)
    made = prefix.made_from(models.manifest, models.backend, fixed)
    return mf.PrefixFile(name, models.backend, len(fixed), made, path, *mf.digest(models.bundle / path))
