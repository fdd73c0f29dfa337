"""Verifies a bundle again, from its files: every artifact through the runtime's code against torch. Writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gamer.runtime import manifest as mf

from . import components, parity
from .recipe import recipe


def verify(bundle: Path, manifest: mf.Manifest, report: Callable[[str], None]) -> mf.Manifest:
    """The manifest with the parity measured now. Raises ExportError for the first artifact below its threshold."""
    chosen = recipe(manifest.recipe)
    proven = []
    for artifact in manifest.artifacts:
        item = components.build(chosen, artifact.role, artifact.quant)
        threshold = chosen.thresholds[artifact.quant][artifact.role]
        language = replace(manifest.language, eos_ids=())
        proven.append(replace(artifact, parity=parity.measure(chosen, item, artifact, mf.inside(bundle, artifact.path), language, threshold)))
        report(f"{artifact.role} for {artifact.target}")
    return replace(manifest, artifacts=tuple(proven))
