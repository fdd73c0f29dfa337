"""`python probe.py BUNDLE OUT`: runs a bundle and the committed fixtures on one processor.

Also runs under emulation, with few packages: numpy, onnxruntime, pillow, usearch, numkong, apsw, and of this
project index and runtime only. Writes JSON to OUT: the processor, versions, each component's worst cosine
over all its golden inputs, and for each suite the number of cases and the failures.
"""

from __future__ import annotations

import json
import math
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gamer.runtime.backends import open_session, processor
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.models import selfcheck

TARGET = "onnx"
SUITES = ("kdtree", "graph", "entities", "vectors", "hnsw", "resize", "routing", "ranking")


def components(bundle: Path) -> dict[str, dict[str, Any]]:
    manifest = mf.read(bundle)
    results = {}
    for component in manifest.components:
        artifact = manifest.artifact(component.role, TARGET)
        golden = {
            name: selfcheck.golden_array(bundle, file)
            for name, file in manifest.golden(component.role).items()
        }
        session = open_session(TARGET, mf.inside(bundle, artifact.path), artifact, threads=1)
        cosine = selfcheck.worst_cosine(session, component.role, golden, manifest, seconds=math.inf)
        results[component.role] = {
            "cosine": round(cosine, 6),
            "threshold": artifact.parity.threshold,
            "arithmetic": processor.arithmetic(TARGET, artifact.quant),
        }
        print(f"  {component.role}: {cosine:.6f}", flush=True)
    return results


def suites() -> dict[str, dict[str, Any]]:
    """Replays SUITES with the reference on this processor."""
    from tools.conformance import replay
    from tools.conformance.fixture import COMMITTED, read

    results: dict[str, dict[str, Any]] = {}
    for name in SUITES:
        verdicts = list(replay.verdicts(read(COMMITTED / f"{name}.json"), COMMITTED))
        failures = [f"{case}: {problem}" for case, problem in verdicts if problem]
        results[name] = {"cases": len(verdicts), "failures": failures}
        print(f"  {name}: {len(verdicts)} cases, {len(failures)} failures", flush=True)
    return results


def main(bundle: Path, out: Path) -> None:
    cpu = processor.read()
    report = {
        "features": list(cpu.features),
        "architecture": cpu.architecture,
        "versions": {
            name: version(name) for name in ("onnxruntime", "numpy", "usearch", "numkong", "pillow")
        },
        "components": components(bundle),
        "suites": suites(),
    }
    out.write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
