"""Writes a bundle: every component for every target, checked for parity, and then the manifest.

Everything is written to `OUT.partial/`, which is renamed to `OUT` when it is complete. Each finished artifact
has a record there, so that an interrupted export continues where it stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamer.index import AlbumError
from gamer.index.album.writing.storage import WriterLock
from gamer.index.json_checked import JsonError, read, read_as
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.errors import BundleError

from .. import sources
from ..errors import ExportError
from ..recipe import ROLES, TARGETS
from ..settings import KV_CACHES, LAYOUTS, Settings, parse_parts
from ..target_options import target_options
from . import beside, room, workers
from .beside import together
from .fingerprint import ASIDE, TOOLS, fingerprint
from .limits import UNLIMITED, Limits
from .limits import check as check_sizes

if TYPE_CHECKING:
    from ..components.export_module import ExportModule, Specs

WRITERS = {
    "onnx": "onnx.to_onnx",
    "ort": "onnx.to_ort",
    "executorch": "executorch.to_executorch",
    "coreml": "coreml.to_coreml",
}
# The longest first, because the decoder determines the total time.
ORDER = (
    "llm_decoder",
    "llm_encoder",
    "image_tower",
    "llm_vision",
    "text_tower",
    "dpe_expert_0",
    "dpe_expert_1",
    "dpe_expert_2",
    "llm_embed",
    "face_encoder",
    "face_detector",
    "ocr_detector",
    "ocr_recogniser",
    "dpe_query",
    "dpe_router",
)
NOTE = "note: "  # begins a line of `report` that the user should read
Report = Callable[[str, mf.Artifact | None], None]


@dataclass(frozen=True)
class Task:
    """One artifact to export: everything that a worker process needs, without tensors."""

    settings: Settings
    role: str
    target: str
    quant: str
    folder: str


@dataclass(frozen=True)
class ExportedArtifact:
    """The result of a task: the manifest's entries for the artifact and its component."""

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


def export(
    settings: Settings,
    targets: tuple[str, ...],
    out: Path,
    jobs: int,
    report: Report,
    budgets: tuple[mf.Budget, ...] = (),
    limits: Limits = UNLIMITED,
) -> mf.Manifest:
    """Exports to the directory `out` and returns the manifest. An up-to-date bundle is only checked.

    `budgets`: what the bits of `settings` were chosen from, for the manifest; `limits`: of
    its sizes, checked before anything in `out` is replaced. `report` is called with a line of progress, and
    with the artifact when one is finished. Raises ExportError for missing weights, parity
    below its threshold, a size above its limit and an `out` that is not a bundle, and BundleError.
    """
    from ..planning.limits import check

    for line in check(settings, targets):
        report(f"{NOTE}{line}", None)
    out = out.resolve()
    with _only_one(out):
        had = beside.taking(settings, out)
        if had is None:
            return _export(settings, targets, out, jobs, report, budgets, limits)
        return _added(had, settings, targets, out, jobs, report, limits)


def _added(
    had: mf.Manifest,
    settings: Settings,
    targets: tuple[str, ...],
    out: Path,
    jobs: int,
    report: Report,
    limits: Limits,
) -> mf.Manifest:
    def alone(asked: Settings, wanted: tuple[str, ...], folder: Path) -> mf.Manifest:
        return _export(asked, wanted, folder, jobs, report, (), UNLIMITED)

    stage = beside.add(had, settings, targets, out, alone)
    manifest = mf.read(stage)
    check_sizes(limits, manifest, targets)
    _swap(stage, out)
    return manifest


@contextlib.contextmanager
def _only_one(out: Path) -> Iterator[None]:
    """Holds OUT.lock, so that two exports do not write into one folder. Raises ExportError for the second."""
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        lock = WriterLock(out)
    except AlbumError as error:
        if "another program" in str(error):
            raise ExportError(
                f"{out}: another export is writing this folder; wait until it is done, or stop it"
            ) from None
        raise ExportError(
            f"{out}: cannot be written; check the folder's permissions and the free space"
        ) from None
    try:
        yield
    finally:
        lock.release()


def _export(
    settings: Settings,
    targets: tuple[str, ...],
    out: Path,
    jobs: int,
    report: Report,
    budgets: tuple[mf.Budget, ...],
    limits: Limits,
) -> mf.Manifest:
    from ..glosses import tables

    digest, stage = fingerprint(settings), out.with_name(out.name + ".partial")
    existing = _up_to_date(out, digest, settings) if out.exists() else None
    sources.remember(digest, settings)
    asked = settings
    before = existing or _before(out, settings)
    settings, needed = _with_existing(settings, targets, before, str(stage))
    if existing is None and before is not None:
        report(f"{NOTE}{out}: made by another version, or damaged: all that it has is exported again", None)
    has_artifacts = existing is not None and {(t.role, t.target) for t in needed} <= {
        (a.role, a.target) for a in existing.artifacts
    }
    layouts = existing is not None and all(existing.has_folder(x) for x in asked.layout)
    if existing is not None and has_artifacts and layouts and tables.has_all(existing, asked):
        check_sizes(limits, existing, targets)
        report("up to date", None)
        return existing
    from ..planning import plan
    from . import contents

    _prepare(stage, digest)
    with _keeping(stage), room.needed(stage):
        if existing is not None:
            _copy_finished(out, existing, needed)
        tables.reuse(settings, existing, out, stage)
        # A layout that is there already is of a target that may not be asked for now.
        if too_much := plan.more_than_free(replace(settings, layout=asked.layout), targets, jobs):
            report(f"{NOTE}{too_much}", None)
        exported = _run(needed, jobs, report)
        parts = tuple({m.component.role: m.component for m in exported}.values())
        tools = {t: version(t) for t in TOOLS} | {"python": platform.python_version(), "fingerprint": digest}
        for line in contents.notes(settings):
            report(f"{NOTE}{line}", None)
        with workers.quiet(str(stage / "records" / "workers.log")):
            artifacts = tuple(m.artifact for m in exported)
            told, step = partial(_note, report), partial(_step, report)
            manifest = contents.finish(settings, parts, artifacts, stage, tools, told, step)
        manifest = replace(manifest, budgets=budgets or (existing.budgets if existing else ()))
        (stage / mf.MANIFEST_NAME).write_text(mf.to_json(manifest), encoding="utf-8")
        _remove_unlisted(stage, manifest)
        mf.check(stage, manifest)
        check_sizes(limits, manifest, targets)
        _swap(stage, out)
    return manifest


@contextlib.contextmanager
def _keeping(stage: Path) -> Iterator[None]:
    """Of an export that fails, the partial folder stays if it holds a finished part to go on from."""
    try:
        yield
    except BaseException:
        if not any((stage / "records").glob("*.json")):
            shutil.rmtree(stage, ignore_errors=True)
        raise


def _step(report: Report, text: str) -> None:
    report(text, None)


def _note(report: Report, line: str) -> None:
    report(f"{NOTE}{line}", None)


def _before(out: Path, settings: Settings) -> mf.Manifest | None:
    """The manifest of a bundle at `out` that the same settings made, if it can be read; else None."""
    try:
        manifest = mf.read(out) if out.exists() else None
    except BundleError:
        return None
    asked, had = settings.to_strings(), {} if manifest is None else manifest.settings or {}
    same = had and all(had.get(key, value) == value for key, value in asked.items() if key not in ASIDE)
    return manifest if same else None


def _with_existing(
    settings: Settings, targets: tuple[str, ...], existing: mf.Manifest | None, folder: str
) -> tuple[Settings, list[Task]]:
    """The settings and tasks of the requested export combined with those of the existing bundle.

    An export only adds parts and targets to a bundle; it removes none, whoever's version made it.
    """
    from ..glosses import tables

    requested = tasks(settings, targets, folder)
    if existing is None:
        return settings, requested
    had = existing.settings or {}
    combined = replace(
        settings,
        parts=together(settings.recipe, settings.parts, parse_parts(had.get("parts", ""))),
        languages=tables.kept(settings, had.get("languages", "")),
        layout=tuple(x for x in LAYOUTS if x in (*settings.layout, *had.get("layout", "").split(","))),
    )
    needed = {(t.role, t.target) for t in requested} | {(a.role, a.target) for a in existing.artifacts}
    return combined, [task for task in tasks(combined, TARGETS, folder) if (task.role, task.target) in needed]


def _remove_unlisted(stage: Path, manifest: mf.Manifest) -> None:
    """Deletes files that the manifest does not name: records, and files of an interrupted, larger export."""
    named = {mf.MANIFEST_NAME, *(entry.path for entry in manifest.entries)}
    for path in sorted(stage.rglob("*"), reverse=True):  # a folder's contents before the folder
        relative = path.relative_to(stage)
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif not any(str(part) in named for part in (relative, *relative.parents)):
            path.unlink()


def _copy_finished(out: Path, existing: mf.Manifest, needed: list[Task]) -> None:
    """Copies the artifacts and fixtures that an existing bundle has already into the partial folder.

    They count as finished tasks, like those of an interrupted export.
    """
    stage = Path(needed[0].folder)
    for task in needed:
        artifact = next(
            (a for a in existing.artifacts if (a.role, a.target) == (task.role, task.target)), None
        )
        if artifact is None or _record(task).exists():
            continue
        path = stage / artifact.path
        path.parent.mkdir(exist_ok=True)
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        (shutil.copytree if (out / artifact.path).is_dir() else shutil.copy2)(out / artifact.path, path)
        _record(task).write_text(
            json.dumps(asdict(ExportedArtifact(artifact, existing.component(task.role))))
        )
    (stage / "fixtures").mkdir(exist_ok=True)
    for role in {task.role for task in needed}:
        for file in existing.golden(role).values():
            shutil.copy2(out / file.path, stage / file.path)


def tasks(settings: Settings, targets: tuple[str, ...], folder: str) -> list[Task]:
    """The tasks for all artifacts of `settings`, the longest first; `folder`: the partial bundle."""
    from ..components import components

    roles = components.roles(settings)
    return [
        Task(settings, role, target, settings.quant_of(role, target), folder)
        for role in ORDER
        for target in ("executorch", "coreml", "onnx")
        if target in targets and role in roles and target in components.targets(settings, role)
    ]


def _swap(stage: Path, out: Path) -> None:
    """Renames `stage` to `out`.

    An older bundle is renamed first and deleted last, so that a complete bundle exists at any moment.
    """
    old = out.with_name(out.name + ".old")
    if out.exists():
        if old.exists():
            shutil.rmtree(old)
        out.rename(old)
    stage.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def _up_to_date(out: Path, digest: str, settings: Settings) -> mf.Manifest | None:
    """The manifest of the bundle at `out` if it is intact, has this fingerprint and passes all bars.

    Else None. It may lack parts and targets. Raises ExportError if `out` holds anything but a bundle.
    """
    if not _written_by_export(out):
        raise ExportError(
            f"{out}: exists and is not (only) a bundle: give another --output-dir, or remove it yourself"
        )
    try:
        manifest = mf.read(out)
        mf.check(out, manifest)
    except BundleError:
        return None  # damaged or of another version: exported again
    same = manifest.tools.get("fingerprint") == digest
    return manifest if same and all(_passes(settings, a) for a in manifest.artifacts) else None


def _passes(settings: Settings, artifact: mf.Artifact) -> bool:
    """Whether the parity that was measured earlier passes the bars of this export."""
    bar, parity = settings.threshold(artifact.quant, artifact.role), artifact.parity
    enough = parity.minimum is None or parity.minimum >= bar.cosine
    return enough and (parity.top1 is None or bar.top1 is None or parity.top1 >= bar.top1)


def _written_by_export(out: Path) -> bool:
    """Whether all files in `out` belong to a bundle, of any version and even if damaged.

    Only such a folder may be replaced.
    """
    try:
        raw = read(out / mf.MANIFEST_NAME)
        named = {mf.MANIFEST_NAME} | {
            str(entry["path"]) for entry in (*raw["artifacts"], *raw["files"], *raw.get("prefixes", ()))
        }
        ours = isinstance(raw["schema_version"], int) and isinstance(raw["tools"]["fingerprint"], str)
    except (ValueError, TypeError, KeyError):
        return False
    files = (p.relative_to(out) for p in out.rglob("*") if not p.is_dir())
    return ours and all(any(str(part) in named for part in (f, *f.parents)) for f in files)


def _prepare(stage: Path, digest: str) -> None:
    digest_file = stage / "records" / "fingerprint"
    if stage.exists() and not digest_file.is_file():
        raise ExportError(
            f"{stage}: exists and is not an unfinished export: move it away, the export works there"
        )
    if stage.exists() and digest_file.read_text() != digest:
        shutil.rmtree(stage)
    (stage / "records").mkdir(parents=True, exist_ok=True)
    digest_file.write_text(digest)


def _run(tasks: list[Task], jobs: int, report: Report) -> list[ExportedArtifact]:
    done: dict[Task, ExportedArtifact] = {}
    for task in tasks:
        if (finished := _finished(task)) is not None:
            done[task] = finished
            report(f"{task.role} for {task.target} (kept)", finished.artifact)
    _sweep(tasks, done)
    waiting = [t for t in tasks if t not in done]
    log = str(Path(tasks[0].folder) / "records" / "workers.log")

    def begun(running: Sequence[Task]) -> None:
        report("exporting " + ", ".join(f"{t.role} for {t.target}" for t in running), None)

    for task, exported in workers.run(run_task, waiting, min(jobs, len(waiting) or 1), log, begun):
        done[task] = exported
        report(f"{task.role} for {task.target}", exported.artifact)
    rank = {(role, target): i for i, (role, target) in enumerate((r, t) for r in ROLES for t in TARGETS)}
    return sorted(done.values(), key=lambda m: rank[m.artifact.role, m.artifact.target])


def _sweep(tasks: list[Task], done: Mapping[Task, ExportedArtifact]) -> None:
    """Deletes artifacts of workers that were killed, so that incomplete files do not get into the bundle."""
    finished_paths = {Path(task.folder) / exported.artifact.path for task, exported in done.items()}
    for folder in {Path(task.folder) / task.target for task in tasks}:
        for entry in folder.iterdir() if folder.is_dir() else ():
            if entry not in finished_paths:
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def _record(task: Task) -> Path:
    return Path(task.folder) / "records" / f"{task.target}-{task.role}.json"


def _finished(task: Task) -> ExportedArtifact | None:
    try:
        exported: ExportedArtifact = read_as(ExportedArtifact, read(_record(task)))
        unchanged = mf.digest(Path(task.folder) / exported.artifact.path) == (
            exported.artifact.bytes,
            exported.artifact.sha256,
        )
        return exported if unchanged and _passes(task.settings, exported.artifact) else None
    except (OSError, JsonError):
        return None


def written(settings: Settings, item: ExportModule, target: str, quant: str, path: Path) -> Specs:
    """Writes a component for a target to `path`, as an export with these settings does; returns its tensors.

    The module of `item` may have other values afterwards. Raises ExportError.
    """
    from ..components import components
    from ..onnx import small_cache
    from ..quantize import cache_scales, calibrated, calibration

    samples = calibration.samples(settings, item, target, quant)
    options = replace(
        target_options(settings, components.preprocessing(settings), item.role, target),
        given=calibrated.codes(settings, item, target, quant),
        adapters=components.adapters(settings) if item.role == "llm_decoder" else {},
        cache_scales=cache_scales.scales(settings, item, target),
    )
    language = components.language(settings)
    specs: Specs = _writer(settings, target).write(item, quant, language, samples, path, options)
    if settings.kv_cache != KV_CACHES[0] and (item.role, target) == ("llm_decoder", "onnx"):
        return small_cache.write(path, *specs, options.cache_scales)
    return specs


def suffix(settings: Settings, target: str) -> str:
    """The ending of the files for a target, "" where they are folders."""
    return str(_writer(settings, target).SUFFIX)


def _writer(settings: Settings, target: str) -> Any:
    name = settings.onnx_format if target == "onnx" else target
    return import_module(f"gamer.export.{WRITERS[name]}")


def run_task(task: Task) -> ExportedArtifact:
    """Exports one artifact, measures its parity and writes its record; runs in a worker process."""
    import torch

    from ..components import components
    from ..onnx import adapters, to_ort
    from ..parity import golden, measure
    from ..placement.assigned import placement
    from . import peak_memory

    torch.set_num_threads(1)
    peak_memory.mark()
    settings, begin = task.settings, time.perf_counter()
    folder = Path(task.folder) / task.target
    folder.mkdir(exist_ok=True)
    name = f"{task.role}{suffix(settings, task.target)}"
    path, aside = folder / name, folder / f"partial-{os.getpid()}-{name}"
    item = components.build(settings, task.role, task.quant)
    component = item.describe()
    try:
        with room.needed(folder):
            inputs, outputs = written(settings, item, task.target, task.quant, aside)
            # A writer may quantize its module in place to avoid a second copy, so that parity needs a fresh
            # module.
            del item
            threshold = settings.threshold(task.quant, task.role)
            size, sha256 = mf.digest(aside)
            draft = mf.Artifact(
                role=task.role,
                target=task.target,
                quant=task.quant,
                path=f"{task.target}/{path.name}",
                bytes=size,
                sha256=sha256,
                inputs=inputs,
                outputs=outputs,
                parity=measure.not_run(threshold),
                export_seconds=0.0,
            )
            reference = components.build(settings, task.role, "fp32")
            parity = measure.measure(settings, reference, draft, aside, threshold)
            if settings.adapters and task.role == "llm_decoder" and settings.adapts(task.target):
                files = adapters.write(settings, Path(task.folder)) if task.target == "onnx" else {}
                parity = measure.with_adapters(settings, draft, aside, parity, threshold, files)
            placed = placement(draft, aside)
            golden.write(settings, reference, Path(task.folder) / "fixtures")
            if path.is_dir():
                shutil.rmtree(path)
            aside.rename(path)
    finally:
        for leftover in (aside, to_ort.source_graph(aside)):
            shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink(
                missing_ok=True
            )
    cost = round(time.perf_counter() - begin, 2), peak_memory.peak()
    exported = ExportedArtifact(
        replace(draft, parity=parity, export_seconds=cost[0], export_peak_bytes=cost[1], placement=placed),
        component,
    )
    _record(task).write_text(json.dumps(asdict(exported)))
    return exported
