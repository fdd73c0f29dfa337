"""Verifies a finished bundle: runs every artifact through the runtime's code and compares it with torch.

Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from gamer.runtime.backends import processor
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.errors import BundleError, RuntimeFailure

from ..checkpoints import catalogue
from ..components import components
from ..components.export_module import ExportModule
from ..errors import ExportError
from ..placement.assigned import placement
from ..settings import Settings, from_strings
from ..sources import recall
from . import layers, measure


def verify(
    bundle: Path,
    manifest: mf.Manifest,
    report: Callable[[str], None],
    sources: tuple[tuple[str, str], ...] = (),
) -> mf.Manifest:
    """The manifest with newly measured parity, and where the operations are here.

    `report` is called with a line after each artifact.

    Raises ExportError for weights of another size than the bundle's, and for the first artifact below its
    threshold.
    """
    settings = trusted_settings(manifest, sources)
    artifacts = []
    for artifact in manifest.artifacts:
        with _fitting(artifact, manifest.component(artifact.role)) as made_from:
            parity = _measured(bundle, settings, artifact, _reference(settings, made_from))
        placed = placement(artifact, mf.inside(bundle, artifact.path))
        artifacts.append(replace(artifact, parity=parity, placement=placed))
        report(f"{artifact.role} for {artifact.target}")
    return replace(manifest, artifacts=tuple(artifacts))


def layers_of(
    bundle: Path,
    manifest: mf.Manifest,
    report: Callable[[str], None],
    sources: tuple[tuple[str, str], ...],
    role: str,
) -> tuple[layers.Layers, ...]:
    """The layers of the artifacts of `role`, or of "all", for the targets whose values can be read.

    Raises ExportError as `verify` does, but for no figure; and for a role that has no such artifact.
    """
    chosen = [a for a in manifest.artifacts if a.target in layers.TARGETS and role in ("all", a.role)]
    if not chosen:
        have = sorted({a.role for a in manifest.artifacts if a.target in layers.TARGETS})
        raise ExportError(
            f"--layers {role}: layers are compared for {' and '.join(layers.TARGETS)}, of which this bundle "
            f"has {', '.join(have) or 'nothing'}"
        )
    settings, compared = trusted_settings(manifest, sources), []
    for artifact in chosen:
        with _fitting(artifact, manifest.component(artifact.role)) as made_from:
            item, path = _reference(settings, made_from), mf.inside(bundle, artifact.path)
            threshold = settings.threshold(artifact.quant, artifact.role)
            compared.append(layers.compare(settings, item, artifact, path, threshold))
        report(f"{artifact.role} for {artifact.target}")
    return tuple(compared)


@contextmanager
def _fitting(artifact: mf.Artifact, made_from: mf.Component) -> Iterator[mf.Component]:
    """Makes one line of the many errors that torch and the engines raise for what does not fit."""
    try:
        yield made_from
    except (ExportError, BundleError, RuntimeFailure):
        raise
    except Exception as error:
        line = str(error).splitlines()[0][:100] if str(error) else type(error).__name__
        raise ExportError(
            f"{artifact.role} for {artifact.target}: cannot be compared with these weights ({line}): the "
            f"bundle was made from {made_from.source}: name its own weights with --weights"
        ) from None


def _reference(settings: Settings, made_from: mf.Component) -> ExportModule:
    item = components.build(settings, made_from.role, "fp32")
    _check_size(item, made_from)
    return item


def _measured(bundle: Path, settings: Settings, artifact: mf.Artifact, item: ExportModule) -> mf.Parity:
    threshold = settings.threshold(artifact.quant, artifact.role)
    try:
        return measure.measure(settings, item, artifact, mf.inside(bundle, artifact.path), threshold)
    except ExportError:
        if not (artifact.parity.kernels.endswith(measure.SOURCE_GRAPH) and processor.read().saturates):
            raise
        # The source graph that parity was measured on is not in the bundle, and all of this processor's
        # kernels for the ORT file saturate: the parity of the export stands.
        return artifact.parity


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

    Pickles are never trusted, and a checkpoint is opened only if the caller names it in `sources`, or if this
    machine exported the bundle from it. Raises ExportError if a part has no such source.
    """
    known = recall(manifest.tools.get("fingerprint", "")) | dict(sources)
    named = from_strings({**(manifest.settings or {}), "trust_pickle": "False"})
    for part, source in named.sources:
        if part in known and not Path(known[part]).exists() and part not in dict(sources):
            raise ExportError(
                f"the weights of {part} were at {known[part]}, which is gone: say where they are now, as in "
                f"--weights {part}=PATH"
            )
        if part not in known and not catalogue.is_random(source):
            where = f"{part}={source}" if "/" in source else f"{part}=PATH"
            raise ExportError(
                f"the weights of {part} came from {source}: say where they are, as in --weights {where}"
            )
    parts = [part for part, _ in named.sources]
    used = {part: source for part, source in known.items() if part in parts or part in dict(sources)}
    return from_strings({**(manifest.settings or {}), "trust_pickle": "False"}, tuple(used.items()))
