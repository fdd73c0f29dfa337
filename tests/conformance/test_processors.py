"""The smallest part of `make processors`: bundle and fixtures on AVX2 without VNNI, where int8 products
saturate unless precise kernels are requested.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT
from tools.conformance.processors import masked, table

SATURATING = """
import dataclasses, json, sys
from pathlib import Path
from gamer.runtime.backends import processor
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.models import selfcheck
from gamer.runtime.backends import onnx_backend
bundle, role = Path(sys.argv[1]), "image_tower"
manifest = mf.read(bundle)
# Proven elsewhere: an export on a processor like the emulated one would otherwise need no check.
elsewhere = lambda parity: dataclasses.replace(parity, kernels="onnxruntime 0, another processor")
manifest = dataclasses.replace(manifest, artifacts=tuple(
    dataclasses.replace(a, parity=elsewhere(a.parity)) for a in manifest.artifacts
))
artifact = manifest.artifact(role, "onnx")
golden = {name: selfcheck.golden_array(bundle, file) for name, file in manifest.golden(role).items()}
plain = onnx_backend.session_options
class Fast(processor.Processor):
    saturates = False
def fast(threads, unfused=False):
    here, real = processor.read(), processor.read
    processor.read = lambda: Fast(here.architecture, here.model, here.features)
    options = plain(threads, unfused)
    processor.read = real
    return options
found = {}
for name, options, units in (("fast", fast, ""), ("precise", plain, ""), ("unfused", fast, "unfused")):
    onnx_backend.session_options = options
    session = onnx_backend.open_session(bundle / artifact.path, artifact, 1, units)
    found[name] = selfcheck.worst_cosine(session, role, golden, manifest, seconds=1e9)
onnx_backend.session_options = fast
models_role = selfcheck.open_checked(bundle, manifest, "onnx", role, 1)[1]
print(json.dumps(found | {"units": models_role.units, "here": models_role.cosine}))
"""


@pytest.fixture(scope="module")
def emulator() -> table.Kind:
    setup = subprocess.run(
        [str(ROOT / "tools/conformance/arm64/setup.sh"), sys.executable], capture_output=True, text=True
    )
    if setup.returncode == table.NOT_RUN:
        pytest.skip(f"no emulator here: {setup.stderr.strip()[-200:]}")
    assert setup.returncode == 0, setup.stderr
    return next(kind for kind in table.KINDS if kind.name == "x86-64, AVX2")


@pytest.mark.slow
def test_the_bundle_and_the_fixtures_pass_on_avx2_without_vnni(
    emulator: table.Kind, bundle: Path, tmp_path: Path
) -> None:
    row = table.run(emulator, bundle, tmp_path, ROOT / "tools/conformance/processors/probe.py", seconds=600)
    assert all(c["cosine"] >= c["threshold"] for c in row["components"].values()), row["components"]
    assert "precise AVX2" in row["components"]["image_tower"]["arithmetic"]
    assert not [problem for suite in row["suites"].values() for problem in suite["failures"]]


@pytest.mark.slow
def test_the_self_check_detects_saturating_kernels_and_uses_the_unfused_graph(
    emulator: table.Kind, bundle: Path, tmp_path: Path
) -> None:
    """Without the precise kernels the check fails on the fast ones, passes on the unfused ones, and reports
    it in one line.
    """
    command, environment = emulator.command(tmp_path)
    settings = {**os.environ, **environment, "GAMER_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [*command, "-c", SATURATING, str(bundle)], capture_output=True, text=True, timeout=600, env=settings
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["fast"] < 0.95 < 0.98 < min(result["precise"], result["unfused"])
    assert result["units"] == "unfused"
    assert result["here"] >= result["unfused"] - 1e-6
    (line,) = (line for line in done.stderr.splitlines() if "image_tower" in line)
    assert "wrong on this processor" in line
    assert "unfused, slower" in line


@pytest.mark.slow
def test_the_bundle_and_the_fixtures_pass_on_avx512_without_vnni(bundle: Path, tmp_path: Path) -> None:
    kind = next(kind for kind in table.KINDS if kind.name == "x86-64, AVX-512")
    try:
        row = table.run(kind, bundle, tmp_path, ROOT / "tools/conformance/processors/probe.py", seconds=600)
    except masked.Unavailable as reason:
        pytest.skip(f"AVX-512 without VNNI is not run here: {reason}")
    assert all(c["cosine"] >= c["threshold"] for c in row["components"].values())
    assert not [problem for suite in row["suites"].values() for problem in suite["failures"]]


def test_only_loaded_segments_of_an_elf_file_are_listed_with_their_addresses() -> None:
    header = bytearray(64)
    struct.pack_into("<Q", header, 32, 64)
    struct.pack_into("<HH", header, 54, 56, 2)
    loaded = struct.pack("<IIQQQQQQ", 1, 5, 0x1000, 0x401000, 0, 0x200, 0x200, 0x1000)
    other = struct.pack("<IIQQQQQQ", 2, 4, 0, 0, 0, 8, 8, 8)
    assert masked._segments(bytes(header) + other + loaded) == [(0x1000, 0x401000, 0x200)]
