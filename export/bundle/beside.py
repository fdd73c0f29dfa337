"""Adds optional parts to a bundle as it is: what finds faces, what reads text.

They share nothing with the others, so that a bundle of any recipe, weights, quantization or version of this
program takes them, and all else in it stays byte for byte.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gamer.runtime.bundle import manifest as mf
from gamer.runtime.errors import BundleError

from ..errors import ExportError
from ..recipe import OPTIONAL, PARTS, PICTURE_ROLES, RECIPES, recipe
from ..settings import Settings, parse_parts
from . import card, contents, room

# (settings, targets, folder) → the manifest of a bundle of these parts alone, written into the folder.
Alone = Callable[[Settings, tuple[str, ...], Path], mf.Manifest]


def taking(settings: Settings, out: Path) -> mf.Manifest | None:
    """The manifest of the bundle at `out`, whole, if nothing but optional parts are asked for; else None."""
    if not out.exists() or not set(settings.chosen.parts()) <= set(OPTIONAL):
        return None
    try:
        manifest = mf.read(out)
        mf.check(out, manifest)
    except BundleError:
        return None
    others = {artifact.role for artifact in manifest.artifacts} - set(PICTURE_ROLES)
    return manifest if others and manifest.recipe in RECIPES else None


def add(had: mf.Manifest, settings: Settings, targets: tuple[str, ...], out: Path, alone: Alone) -> Path:
    """Writes the bundle with the parts into a folder beside `out`, and returns it.

    For those of `targets` that the bundle has. Raises ExportError where it has none of them.
    """
    have = {artifact.target for artifact in had.artifacts}
    wanted = tuple(target for target in targets if target in have)
    if not wanted:
        raise ExportError(f"{out}: is for {', '.join(sorted(have))}: give one of these as --targets")
    apart, stage = (out.with_name(f"{out.name}.{name}") for name in ("part", "whole"))
    for folder in (apart, stage):
        shutil.rmtree(folder, ignore_errors=True)
    try:
        made = alone(settings, wanted, apart)
        with room.needed(out.parent):
            shutil.copytree(out, stage)
            _write(stage, apart, _together(had, made, settings), made)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(apart, ignore_errors=True)
    return stage


def _together(had: mf.Manifest, made: mf.Manifest, settings: Settings) -> mf.Manifest:
    new = {(artifact.role, artifact.target) for artifact in made.artifacts}
    roles = {component.role for component in made.components}
    names = {file.name for file in made.files}
    old = had.settings or {}
    asked = together(had.recipe, parse_parts(old.get("parts", "")), settings.parts)
    own = made.settings or {}
    sources = ",".join(filter(None, (old.get("sources", ""), own.get("sources", ""))))
    return replace(
        had,
        components=(*(c for c in had.components if c.role not in roles), *made.components),
        artifacts=(*(a for a in had.artifacts if (a.role, a.target) not in new), *made.artifacts),
        files=(*(f for f in had.files if f.name not in names), *_own(made)),  # without card and notice
        licences={**had.licences, **made.licences},
        random_parts=tuple(dict.fromkeys((*had.random_parts, *made.random_parts))),
        settings=old | {"parts": ",".join(asked), "sources": sources},
    )


def together(name: str, *requests: tuple[str, ...]) -> tuple[str, ...]:
    """What several requests for parts of a recipe ask for together; () stands for the usual parts."""
    usual = recipe(name).usual()
    wanted = {part for request in requests for part in (request or usual)}
    parts = tuple(part for part in PARTS if part in wanted)
    return () if parts == usual else parts


def _own(made: mf.Manifest) -> tuple[mf.DataFile, ...]:
    return tuple(file for file in made.files if file.name not in (card.NAME, contents.NOTICE))


def _write(stage: Path, apart: Path, manifest: mf.Manifest, made: mf.Manifest) -> None:
    entries: tuple[mf.DataFile | mf.Artifact, ...] = (*_own(made), *made.artifacts)
    for entry in entries:
        source, to = apart / entry.path, stage / entry.path
        to.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, to)
    notices = [(folder / contents.NOTICE).read_text(encoding="utf-8") for folder in (stage, apart)]
    own = [line for line in notices[1].splitlines() if line not in notices[0].splitlines()]
    text = "\n".join((notices[0].rstrip("\n"), *own)) + "\n"
    (stage / contents.NOTICE).write_text(text, encoding="utf-8")
    told = mf.DataFile(contents.NOTICE, contents.NOTICE, *mf.digest(stage / contents.NOTICE))
    manifest = contents.with_card(replace(manifest, files=(*manifest.files, told)), stage)
    (stage / mf.MANIFEST_NAME).write_text(mf.to_json(manifest), encoding="utf-8")
    mf.check(stage, manifest)
