"""Verifies a finished bundle: runs every artifact through the runtime's code and compares it with torch.

Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gamer.runtime.backends import processor
from gamer.runtime.bundle import manifest as mf

from ..checkpoints import catalogue
from ..components import components
from ..components.export_module import ExportModule
from ..errors import ExportError
from ..settings import Settings, from_strings
from . import measure


def verify(
    bundle: Path,
    manifest: mf.Manifest,
    report: Callable[[str], None],
    sources: tuple[tuple[str, str], ...] = (),
) -> mf.Manifest:
    """The manifest with newly measured parity. `report` is called with a line after each artifact.

    Raises ExportError for weights of another size than the bundle's, and for the first artifact below its
    threshold.
    """
    settings = trusted_settings(manifest, sources)
    artifacts = []
    for artifact in manifest.artifacts:
        item = components.build(settings, artifact.role, "fp32")
        _check_size(item, manifest.component(artifact.role))
        threshold = settings.threshold(artifact.quant, artifact.role)
        try:
            parity = measure.measure(settings, item, artifact, mf.inside(bundle, artifact.path), threshold)
        except ExportError:
            if not (artifact.parity.kernels.endswith(measure.SOURCE_GRAPH) and processor.read().saturates):
                raise
            # The source graph that parity was measured on is not in the bundle, and all of this processor's
            # kernels for the ORT file saturate: the parity of the export stands.
            parity = artifact.parity
        artifacts.append(replace(artifact, parity=parity))
        report(f"{artifact.role} for {artifact.target}")
    return replace(manifest, artifacts=tuple(artifacts))


def _check_size(item: ExportModule, made_from: mf.Component) -> None:
    """Outputs of another size cannot be compared, so weights of another model are refused by their number."""
    parameters = item.describe().parameters
    if parameters != made_from.parameters:
        raise ExportError(
            f"{item.role}: {item.source} has {parameters:,} parameters, the bundle was made from "
            f"{made_from.source} with {made_from.parameters:,}: name its own weights with --weights"
        )


def trusted_settings(manifest: mf.Manifest, sources: tuple[tuple[str, str], ...]) -> Settings:
    """The manifest's settings, restricted for a bundle from an untrusted source.

    Pickles are never trusted, and a checkpoint is opened only if the caller names it in `sources`. Raises
    ExportError if a part has no such source.
    """
    settings = from_strings({**(manifest.settings or {}), "trust_pickle": "False"}, sources)
    given = dict(sources)
    for part, source in settings.sources:
        if part not in given and not catalogue.is_random(source):
            raise ExportError(
                f"the weights of {part} came from {source}: say where they are, as in --weights "
                f"{part}={source}"
            )
    return settings
