"""The bundle of a checkpoint's language model in gamer's cache, exported when it is first asked for.

`gamer generate MODEL` uses it. It is found again by the path, sizes and times of the checkpoint's files, so
that a changed checkpoint is exported again; without torch, a bundle that is there already is found as well.
"""

from __future__ import annotations

import hashlib
import shutil
from importlib.metadata import version
from pathlib import Path

import click

from gamer.runtime import cache
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.errors import RuntimeFailure

from .errors import ExportError
from .settings import JOBS, Settings, recipe_for

FOLDER = "bundles"


def bundle(model: Path, quant: str, target: str) -> Path:
    """The folder of the bundle with the language model of `model`, a directory or .gguf file, for `target`.

    Exports it with progress on standard error if it is not there. Raises RuntimeFailure for a checkpoint that
    cannot be exported, and ImportError without the export extra.
    """
    out = folder(model, quant)
    if (out / mf.MANIFEST_NAME).is_file() and target in {a.target for a in mf.read(out).artifacts}:
        return out
    from .checkpoints.checkpoint import open_checkpoint
    from .cli import export_with_bar

    try:
        if (recipe := recipe_for(open_checkpoint(None, str(model)).config)) != "llm":
            raise ExportError(f"{model}: no language model: export it with gamer export -m {model} -o DIR")
        click.echo(f"gamer generate: {model} is exported once in {quant}, into {out}", err=True)
        settings = Settings(recipe, quant, sources=(("llm", str(model)),))
        export_with_bar(settings, (target,), out, JOBS)
    except ExportError as error:
        raise RuntimeFailure(str(error)) from None
    for other in out.parent.iterdir():  # of the same checkpoint, before it changed
        if other.is_dir() and not other.name.startswith(out.name):
            shutil.rmtree(other, ignore_errors=True)
    return out


def folder(model: Path, quant: str) -> Path:
    """Where the bundle of these files lies: a folder for path and quantization, and one for the contents."""
    path = model.resolve()
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    stamps = [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files if f.is_file()]
    names = (_hash(str(path), quant), _hash(version("gamer-on-device"), *map(str, stamps)))
    return cache.folder() / FOLDER / names[0] / names[1]


def _hash(*parts: str) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
