"""The exporter as a program uses it: `gamer.export(…)` and `gamer.verify(…)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gamer.runtime.bundle import manifest as mf
from gamer.runtime.door.bundle import Bundle, Running

from .recipe import RECIPES
from .settings import JOBS, Settings, parse_sources, recipe_for

if TYPE_CHECKING:
    from .bundle.write import Report


def export(
    recipe_or_checkpoint: str | Path,
    to: str | Path,
    *,
    targets: Sequence[str] = ("onnx",),
    quant: str = "int8",
    settings: Settings | None = None,
    jobs: int = JOBS,
    report: Report | None = None,
) -> Bundle:
    """Writes the bundle `to` of a recipe ("pocket"), or of a checkpoint: a directory, a .gguf file, a hub id.

    Each file is compared with torch; an interrupted export goes on. `settings`: all there is to choose;
    recipe, sources and quantization are then taken from it. Raises ExportError.
    """
    from .bundle import write

    chosen = settings or settings_of(str(recipe_or_checkpoint), quant)
    wanted = write.parse_targets(",".join(targets))
    write.export(chosen, wanted, Path(to), jobs, report or (lambda text, artifact: None))
    return Bundle(to, Running(allow_random=True))


def settings_of(recipe_or_checkpoint: str, quant: str = "int8", trust_pickle: bool = False) -> Settings:
    """The settings for a recipe by its name, or for a checkpoint by what its configuration says it is."""
    if recipe_or_checkpoint in RECIPES:
        return Settings(recipe_or_checkpoint, quant)
    from .checkpoints.checkpoint import open_checkpoint

    name = recipe_for(open_checkpoint(None, recipe_or_checkpoint, trust_pickle=trust_pickle).config)
    return Settings(name, quant, parse_sources(name, recipe_or_checkpoint, ()), trust_pickle=trust_pickle)


def verify(
    bundle: str | Path,
    *,
    weights: Sequence[str] = (),
    report: Callable[[str], None] = lambda text: None,
    run: bool = True,
) -> mf.Manifest:
    """Checks every file of a bundle, then runs what can run here against torch again.

    Returns the manifest with the parities measured now. `weights`: "PART=SOURCE" of weights from this
    machine's own files. `run`: False checks the files alone. Raises BundleError and ExportError.
    """
    folder = Path(bundle)
    manifest = mf.read(folder)
    mf.check(folder, manifest)
    if not run:
        return manifest
    from .parity import verify as proof

    return proof.verify(folder, manifest, report, parse_sources(manifest.recipe, None, tuple(weights)))
