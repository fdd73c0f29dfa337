"""Writes a bundle: every component for every target, proven, then the manifest; aside first, renamed when
whole.

Work goes to `OUT.partial/`; each finished artifact leaves a record there, so that an interrupted export
continues where it stopped. Nothing stands under the final name until everything does.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from gamer.runtime.bundle import manifest as mf
from gamer.runtime.errors import BundleError

from ..errors import ExportError
from ..recipe import PARTS, ROLES, TARGETS
from ..settings import Settings, parse_parts
from ..target_options import target_options
from . import workers
from .fingerprint import TOOLS, fingerprint

WRITERS = {
    "onnx": "onnx.to_onnx",
    "ort": "onnx.to_ort",
    "executorch": "executorch.to_executorch",
    "coreml": "coreml.to_coreml",
}
# Longest first: the decoder decides how long the whole takes.
ORDER = (
    "llm_decoder",
    "llm_encoder",
    "image_tower",
    "text_tower",
    "dpe_expert_0",
    "dpe_expert_1",
    "dpe_expert_2",
    "llm_embed",
    "dpe_router",
)
Report = Callable[[str, mf.Artifact | None], None]


@dataclass(frozen=True)
class Task:
    """One artifact to make: all that a worker process needs, and no tensor."""

    settings: Settings
    role: str
    target: str
    quant: str
    folder: str


@dataclass(frozen=True)
class ExportedArtifact:
    """What a task leaves: the artifact, and the component as the task saw it."""

    artifact: mf.Artifact
    component: mf.Component


def parse_targets(text: str) -> tuple[str, ...]:
    """ "onnx,coreml" → targets in canonical order. Raises ExportError that lists the choices."""
    wanted = [t.strip() for t in text.split(",") if t.strip()]
    for name in wanted:
        if name not in TARGETS:
            raise ExportError(f"unknown target {name!r}; choose from: {', '.join(TARGETS)}")
    if not wanted:
        raise ExportError(f"no target given; choose from: {', '.join(TARGETS)}")
    return tuple(t for t in TARGETS if t in wanted)


def export(settings: Settings, targets: tuple[str, ...], out: Path, jobs: int, report: Report) -> mf.Manifest:
    """Exports what `settings` ask for to the directory `out`. Returns its manifest; an up-to-date bundle is
    checked and left as it is.

    Raises ExportError (weights missing, parity below threshold, `out` is something else) and BundleError.
    """
    from ..planning import limits

    limits.check(settings, targets)
    out = out.resolve()
    mark, stage = fingerprint(settings), out.with_name(out.name + ".partial")
    standing = _standing(out, mark) if out.exists() else None
    settings, wanted = _with_what_stands(settings, targets, standing, str(stage))
    if standing is not None and {(t.role, t.target) for t in wanted} <= {
        (a.role, a.target) for a in standing.artifacts
    }:
        report("up to date", None)
        return standing
    _prepare(stage, mark)
    if standing is not None:
        _carry(out, standing, wanted)
    made = _run(wanted, jobs, report)
    report("tokenizers, labels, gazetteer, fixtures", None)
    from . import contents

    parts = tuple({m.component.role: m.component for m in made}.values())
    tools = {t: version(t) for t in TOOLS} | {"python": platform.python_version(), "fingerprint": mark}
    with workers.quiet(str(stage / "records" / "workers.log")):
        manifest = contents.finish(settings, parts, tuple(m.artifact for m in made), stage, tools)
    (stage / mf.MANIFEST_NAME).write_text(mf.to_json(manifest), encoding="utf-8")
    _leave_only(stage, manifest)
    mf.check(stage, manifest)
    _swap(stage, out)
    return manifest


def _with_what_stands(
    settings: Settings, targets: tuple[str, ...], standing: mf.Manifest | None, folder: str
) -> tuple[Settings, list[Task]]:
    """The settings of what is asked for and of what stands, and the tasks of both: an export adds, and takes
    nothing away.
    """
    asked = tasks(settings, targets, folder)
    if standing is None:
        return settings, asked
    before = parse_parts((standing.settings or {}).get("parts", ""))
    parts = (
        tuple(part for part in PARTS if part in (*settings.parts, *before))
        if settings.parts and before
        else ()
    )
    both = replace(settings, parts=parts)
    named = {(t.role, t.target) for t in asked} | {(a.role, a.target) for a in standing.artifacts}
    return both, [task for task in tasks(both, TARGETS, folder) if (task.role, task.target) in named]


def _leave_only(stage: Path, manifest: mf.Manifest) -> None:
    """Takes away what the manifest does not name: records, and what an interrupted export of more than this
    one left.
    """
    named = {
        mf.MANIFEST_NAME,
        *(a.path for a in manifest.artifacts),
        *(f.path for f in manifest.files),
        *(p.path for p in manifest.prefixes),
    }
    for path in sorted(stage.rglob("*"), reverse=True):  # what is in a folder before the folder
        inside = path.relative_to(stage)
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif not any(str(part) in named for part in (inside, *inside.parents)):
            path.unlink()


def _carry(out: Path, standing: mf.Manifest, wanted: list[Task]) -> None:
    """Takes over what an older, smaller bundle of the same settings holds already, as an interrupted export
    goes on with what it finished.
    """
    stage = Path(wanted[0].folder)
    for task in wanted:
        found = next((a for a in standing.artifacts if (a.role, a.target) == (task.role, task.target)), None)
        if found is None or _record(task).exists():
            continue
        path = stage / found.path
        path.parent.mkdir(exist_ok=True)
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        (shutil.copytree if (out / found.path).is_dir() else shutil.copy2)(out / found.path, path)
        _record(task).write_text(json.dumps(asdict(ExportedArtifact(found, standing.component(task.role)))))
    (stage / "fixtures").mkdir(exist_ok=True)
    for role in {task.role for task in wanted}:
        for file in standing.golden(role).values():
            shutil.copy2(out / file.path, stage / file.path)


def tasks(settings: Settings, targets: tuple[str, ...], folder: str) -> list[Task]:
    """Every artifact of `settings`, the longest first."""
    from ..components import components

    have = components.roles(settings)
    return [
        Task(settings, role, target, settings.quant_of(role, target), folder)
        for role in ORDER
        for target in ("executorch", "coreml", "onnx")
        if target in targets and role in have
    ]


def _swap(stage: Path, out: Path) -> None:
    """`stage` takes the final name; an older bundle steps aside first and goes last, so that one of the two
    always stands whole.
    """
    old = out.with_name(out.name + ".old")
    if out.exists():
        if old.exists():
            shutil.rmtree(old)
        out.rename(old)
    stage.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def _standing(out: Path, mark: str) -> mf.Manifest | None:
    """The whole bundle of these settings that stands at `out`, with however many of their parts.

    Raises ExportError for anything else's folder.
    """
    if not _written_by_export(out):
        raise ExportError(
            f"{out}: exists and is not (only) a bundle: give another --output-dir, or remove it yourself"
        )
    try:
        manifest = mf.read(out)
        mf.check(out, manifest)
    except BundleError:
        return None  # damaged or of another version: written anew
    return manifest if manifest.tools.get("fingerprint") == mark else None


def _written_by_export(out: Path) -> bool:
    """Whether all that lies in `out` is a bundle of ours, of whatever state or version: nothing else may ever
    be replaced.
    """
    try:
        raw = json.loads((out / mf.MANIFEST_NAME).read_text(encoding="utf-8"))
        named = {mf.MANIFEST_NAME} | {
            str(entry["path"]) for entry in (*raw["artifacts"], *raw["files"], *raw.get("prefixes", ()))
        }
        ours = isinstance(raw["schema_version"], int) and isinstance(raw["tools"]["fingerprint"], str)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return False
    files = (p.relative_to(out) for p in out.rglob("*") if not p.is_dir())
    return ours and all(any(str(part) in named for part in (f, *f.parents)) for f in files)


def _prepare(stage: Path, mark: str) -> None:
    note = stage / "records" / "fingerprint"
    if stage.exists() and not note.is_file():
        raise ExportError(
            f"{stage}: exists and is not an unfinished export: move it away, the export works there"
        )
    if stage.exists() and note.read_text() != mark:
        shutil.rmtree(stage)
    (stage / "records").mkdir(parents=True, exist_ok=True)
    note.write_text(mark)


def _run(tasks: list[Task], jobs: int, report: Report) -> list[ExportedArtifact]:
    done: dict[Task, ExportedArtifact] = {}
    for task in tasks:
        if (kept := _finished(task)) is not None:
            done[task] = kept
            report(f"{task.role} for {task.target} (kept)", kept.artifact)
    _sweep(tasks, done)
    waiting = [t for t in tasks if t not in done]
    log = str(Path(tasks[0].folder) / "records" / "workers.log")
    for task, made in workers.run(run_task, waiting, min(jobs, len(waiting) or 1), log):
        done[task] = made
        report(f"{task.role} for {task.target}", made.artifact)
    rank = {(role, target): i for i, (role, target) in enumerate((r, t) for r in ROLES for t in TARGETS)}
    return sorted(done.values(), key=lambda m: rank[m.artifact.role, m.artifact.target])


def _sweep(tasks: list[Task], done: Mapping[Task, ExportedArtifact]) -> None:
    """Takes away what a worker that was killed left half written: else it would go into the bundle."""
    kept = {Path(task.folder) / made.artifact.path for task, made in done.items()}
    for folder in {Path(task.folder) / task.target for task in tasks}:
        for entry in folder.iterdir() if folder.is_dir() else ():
            if entry not in kept:
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def _record(task: Task) -> Path:
    return Path(task.folder) / "records" / f"{task.target}-{task.role}.json"


def _finished(task: Task) -> ExportedArtifact | None:
    try:
        raw = json.loads(_record(task).read_text())
        made = ExportedArtifact(mf.artifact_from(raw["artifact"]), mf.Component(**raw["component"]))
        whole = mf.digest(Path(task.folder) / made.artifact.path) == (
            made.artifact.bytes,
            made.artifact.sha256,
        )
        return made if whole else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def run_task(task: Task) -> ExportedArtifact:
    """Makes, proves and records one artifact; runs in a worker process."""
    import torch

    from ..components import components
    from ..onnx import to_ort
    from ..parity import golden, measure
    from ..quantize import calibration
    from . import peak_memory

    torch.set_num_threads(1)
    peak_memory.mark()
    settings, begin = task.settings, time.perf_counter()
    writer = import_module(
        f"gamer.export.{WRITERS[settings.onnx_format if task.target == 'onnx' else task.target]}"
    )
    folder = Path(task.folder) / task.target
    folder.mkdir(exist_ok=True)
    path, aside = (
        folder / f"{task.role}{writer.SUFFIX}",
        folder / f"partial-{os.getpid()}-{task.role}{writer.SUFFIX}",
    )
    item = components.build(settings, task.role, task.quant)
    component = item.describe()
    samples = calibration.samples(settings, item, task.target, task.quant)
    try:
        given = (
            item,
            task.quant,
            components.language(settings),
            samples,
            aside,
            target_options(settings, components.preprocessing(settings)),
        )
        inputs, outputs = writer.write(*given)
        del given
        # A writer may quantize the module that it was given, to hold no second copy: parity is held against a
        # fresh one.
        del item
        threshold = settings.threshold(task.quant, task.role)
        draft = mf.Artifact(
            task.role,
            task.target,
            task.quant,
            f"{task.target}/{path.name}",
            *mf.digest(aside),
            inputs,
            outputs,
            measure.unproven(threshold),
            0.0,
        )
        plain = components.build(settings, task.role, "fp32")
        proven = measure.measure(settings, plain, draft, aside, threshold)
        golden.write(settings, plain, Path(task.folder) / "fixtures")
        if path.is_dir():
            shutil.rmtree(path)
        aside.rename(path)
    finally:
        for left in (aside, to_ort.source_of(aside)):
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)
    cost = round(time.perf_counter() - begin, 2), peak_memory.peak()
    made = ExportedArtifact(
        replace(draft, parity=proven, export_seconds=cost[0], export_peak_bytes=cost[1]), component
    )
    _record(task).write_text(json.dumps(asdict(made)))
    return made
