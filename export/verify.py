"""Verifies a bundle again, from its files: every artifact through the runtime's code against torch. Writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gamer.runtime import manifest as mf

from . import components, parity
from .settings import from_strings


def verify(bundle: Path, manifest: mf.Manifest, report: Callable[[str], None], sources: tuple[tuple[str, str], ...] = ()) -> mf.Manifest:
    """The manifest with the parity measured now. Raises ExportError for the first artifact below its threshold."""
    settings = from_strings(manifest.settings or {}, sources)
    proven = []
    for artifact in manifest.artifacts:
        item = components.build(settings, artifact.role, "fp32")
        threshold = settings.threshold(artifact.quant, artifact.role)
        proven.append(replace(artifact, parity=parity.measure(settings, item, artifact, mf.inside(bundle, artifact.path), threshold)))
        report(f"{artifact.role} for {artifact.target}")
    return replace(manifest, artifacts=tuple(proven))
