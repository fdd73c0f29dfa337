"""Verifies a bundle again, from its files: every artifact through the runtime's code against torch. Writes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gamer.runtime.backends import processor
from gamer.runtime.bundle import manifest as mf

from ..components import components
from ..errors import ExportError
from ..settings import Settings, from_strings
from . import measure


def verify(
    bundle: Path,
    manifest: mf.Manifest,
    report: Callable[[str], None],
    sources: tuple[tuple[str, str], ...] = (),
) -> mf.Manifest:
    """The manifest with the parity measured now.

    Raises ExportError for the first artifact below its threshold.
    """
    settings = _trusted(manifest, sources)
    proven = []
    for artifact in manifest.artifacts:
        item = components.build(settings, artifact.role, "fp32")
        threshold = settings.threshold(artifact.quant, artifact.role)
        try:
            measured = measure.measure(settings, item, artifact, mf.inside(bundle, artifact.path), threshold)
        except ExportError:
            if not (artifact.parity.kernels.endswith(measure.SOURCE_GRAPH) and processor.read().saturates):
                raise
            # the graph that it was proven by is not in the bundle, and no kernels of this processor run the
            # file right
            measured = artifact.parity
        proven.append(replace(artifact, parity=measured))
        report(f"{artifact.role} for {artifact.target}")
    return replace(manifest, artifacts=tuple(proven))


def _trusted(manifest: mf.Manifest, sources: tuple[tuple[str, str], ...]) -> Settings:
    """The manifest's settings, as far as a stranger's may be followed: a bundle can name no checkpoint to
    fetch or open, and no pickle to run.
    """
    settings = from_strings({**(manifest.settings or {}), "trust_pickle": "False"}, sources)
    given = dict(sources)
    for part, source in settings.sources:
        if part not in given and source.partition(":")[0] != "random":
            raise ExportError(
                f"the weights of {part} came from {source}: say where they are, as in --weights "
                f"{part}={source}"
            )
    return settings
