"""A disk of a test's own: a mount that nobody else sees, and that ends with the process."""

from __future__ import annotations

import shutil
import subprocess

import pytest


def run(script: str, *given: str) -> subprocess.CompletedProcess[str]:
    """Runs a shell script as the root of a mount namespace; exit status 77 means that no mount is permitted.

    Skips the test where that is so, and where there is no `unshare`.
    """
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here: a disk cannot be mounted")
    asked = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", *given]
    ran = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=120)
    if ran.returncode == 77 or "unshare" in ran.stderr:
        pytest.skip(f"no mount is permitted here: {ran.stderr.strip()[:80]}")
    return ran
