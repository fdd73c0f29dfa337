"""Tests whether the installed ExecuTorch runtime writes an ETDump, by running a program."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch

from gamer.runtime.bundle import manifest as mf


def etdump_support(bundle: Path) -> str:
    """A line that says whether the installed ExecuTorch runtime writes an ETDump, which has operators' times.

    It is "" for a bundle without .pte files. The smallest .pte file of the bundle is run.
    """
    manifest = mf.read(bundle)
    artifact = min(
        (a for a in manifest.artifacts if a.target == "executorch"), key=lambda a: a.bytes, default=None
    )
    if artifact is None:
        return ""
    try:
        from executorch.extension.pybindings import _portable_lib as runtime
    except ImportError as error:
        return f"ExecuTorch: {error.name} is not installed, no operator is timed."
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / "run.etdp"
        program = runtime._load_for_executorch(str(mf.check_one(bundle, artifact)), enable_etdump=True)
        program.forward(
            tuple(
                torch.zeros([int(d) for d in s.shape], dtype=getattr(torch, s.dtype)) for s in artifact.inputs
            )
        )
        program.write_etdump_result_to_file(str(dump), str(Path(folder) / "debug.bin"))
        if dump.is_file() and dump.stat().st_size:
            return (
                "ExecuTorch: this runtime has an event tracer; read its ETDump with "
                "executorch.devtools.Inspector."
            )
    return (
        "ExecuTorch: the packaged runtime is built without its event tracer and writes no ETDump: "
        "operators of .pte files are not timed here."
    )
