"""The reference that several tests of this room compare with."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def mobileclip_reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints and answers of timm's and open_clip's own MobileCLIP, written by a separate process; see
    mobileclip_reference.py.
    """
    for package in ("timm", "open_clip", "ftfy"):  # looked for, not imported: see that file
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}: the dev extra, and requirements-weights.txt")
    folder, script = (
        tmp_path_factory.mktemp("mobileclip"),
        Path(__file__).with_name("mobileclip_reference.py"),
    )
    run = subprocess.run(
        [sys.executable, str(script), str(folder)],
        capture_output=True,
        text=True,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return folder
