"""A report on this machine and on how a bundle runs on it, for `gamer doctor` and for support requests.

Opens every component once, including its self-check. Searches nothing, and writes only the cache of
self-check results.
"""

from __future__ import annotations

import os
import platform
import sqlite3
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from . import free_memory, telemetry
from .backends import BACKENDS, processor, runs_here, split
from .bundle.placement import Placement
from .errors import RuntimeFailure
from .models.models import Models
from .versions import installed

ENGINES = (
    "onnxruntime",
    "executorch",
    "coremltools",
    "usearch",
    "numkong",
    "numpy",
    "apsw",
    "tokenizers",
    "pillow",
)
# Extra → a package that only this extra installs.
EXTRAS = {
    "export": "torch",
    "serve": "fastapi",
    "mcp": "mcp",
    "clips": "av",
    "hnswlib": "hnswlib",
    "bench": "faiss",
    "llama": "xllamacpp",
    "fleet": "ray",
    "dev": "pytest",
    "docs": "mkdocs",
}
# Resident bytes per byte of file: pocket on ONNX, all open and used, takes 336 MB for 173 MB of files.
OVERHEAD = 2.0


@dataclass(frozen=True)
class ComponentCheck:
    """One component on this machine.

    `proven`: the worst cosine of the export, measured on the kernels `proven_on`. `here`: the worst cosine of
    its golden fixtures on this machine's kernels (the manifest's value if it was measured on the same ones);
    None if nothing was run. `chosen`: the arithmetic, and `why`. `problem`: why the component cannot be used
    here, "" if it can. `placement`: where its operations ran at the export; None in older bundles.
    """

    role: str
    quant: str
    proven: float | None
    proven_on: str
    here: float | None
    threshold: float
    chosen: str
    why: str
    problem: str
    placement: Placement | None = None


@dataclass(frozen=True)
class Report:
    """What `gamer doctor` prints.

    `extras`: extra → whether it is installed. `free_mb`: memory available to a new process, None if unknown.
    `needs_mb`: an estimate for the bundle with all components open. `classes`: how many kinds of things its
    image encoder knows; 0: any word; None without a bundle.
    """

    processor: processor.Processor
    cores: int
    system: str
    python: str
    versions: dict[str, str]
    extras: dict[str, bool]
    telemetry: dict[str, str]
    sqlite: str
    sqlite_fts5: bool
    system_sqlite: str
    system_sqlite_fts5: bool
    free_mb: int | None
    bundle: str | None
    backend: str
    needs_mb: int | None
    classes: int | None
    components: tuple[ComponentCheck, ...]

    @property
    def healthy(self) -> bool:
        """Whether every component can be used and SQLite has FTS5, which an album needs."""
        return self.sqlite_fts5 and not any(c.problem for c in self.components)


def examine(bundle: Path | None, backend: str = "onnx", threads: int | None = None) -> Report:
    """Examines this machine, and `bundle` if given.

    Raises BundleError for a bundle that contradicts its manifest, RuntimeFailure for an unknown backend.
    """
    import apsw

    split(backend)
    models = Models.open(bundle, backend, threads, allow_random=True) if bundle else None
    needs = (
        None
        if models is None
        else sum(a.bytes for a in models.manifest.artifacts if a.target == models.backend) * OVERHEAD
    )
    return Report(
        processor=processor.read(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        versions={name: known for name in ENGINES if (known := installed(name))},
        extras={extra: find_spec(package) is not None for extra, package in EXTRAS.items()},
        telemetry={name: os.environ.get(name, "") for name in telemetry.OPT_OUT},
        sqlite=apsw.sqlite_lib_version(),
        sqlite_fts5=_has_fts5(apsw.Connection(":memory:")),
        system_sqlite=sqlite3.sqlite_version,
        system_sqlite_fts5=_system_fts5(),
        free_mb=free_memory.megabytes(),
        bundle=None if bundle is None else str(bundle),
        backend=backend,
        needs_mb=None if needs is None else round(needs / 1e6),
        classes=None if models is None else len(models.labels),
        components=()
        if models is None
        else tuple(_check(models, c.role) for c in models.manifest.components),
    )


def _check(models: Models, role: str) -> ComponentCheck:
    artifact = next(
        (a for a in models.manifest.artifacts if (a.role, a.target) == (role, models.backend)), None
    )
    if artifact is None:
        return ComponentCheck(
            role=role,
            quant="",
            proven=None,
            proven_on="",
            here=None,
            threshold=0.0,
            chosen="",
            why="",
            problem=f"no artifact for {models.backend}: export with --targets {models.backend}",
        )
    parity = artifact.parity
    try:
        models.session(role)
    except RuntimeFailure as error:
        return ComponentCheck(
            role=role,
            quant=artifact.quant,
            proven=parity.minimum,
            proven_on=parity.kernels,
            here=None,
            threshold=parity.threshold,
            chosen="none",
            why="",
            problem=str(error),
        )
    verdict = models.verdicts[role]
    why = {
        "export": "proven so at export",
        "measured": "fixtures run now",
        "remembered": "fixtures run before",
        "no fixtures": "no fixtures to run",
    }[verdict.source]
    if verdict.units != split(models.chosen)[1]:
        why += f"; {verdict.units}, the faster form being wrong here"
    chosen = models.arithmetic_of(role)
    return ComponentCheck(
        role=role,
        quant=artifact.quant,
        proven=parity.minimum,
        proven_on=parity.kernels,
        here=verdict.cosine,
        threshold=verdict.threshold,
        chosen=chosen,
        why=why,
        problem="",
        placement=artifact.placement,
    )


def backends_here() -> tuple[str, ...]:
    """The backends whose package is installed and that this system supports."""
    return tuple(name for name in BACKENDS if runs_here(name) and installed(processor.PACKAGES[name]))


def _has_fts5(connection: Any) -> bool:
    return any(option == "ENABLE_FTS5" for (option,) in connection.execute("PRAGMA compile_options"))


def _system_fts5() -> bool:
    with sqlite3.connect(":memory:") as plain:
        return _has_fts5(plain)
