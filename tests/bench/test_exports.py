"""The table of exports says what the manifests say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gamer.bench import exports
from gamer.runtime import manifest as mf
from gamer.runtime.errors import BundleError

GOLDEN = Path(__file__).parent.parent / "golden" / "manifest_v1.json"


def test_every_artifact_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(GOLDEN.read_bytes())
    manifest, found = mf.read(tmp_path), exports.read([tmp_path, tmp_path])
    assert len(found.rows) == 2 * len(manifest.artifacts)
    row, artifact = found.rows[0], manifest.artifacts[0]
    assert (row.bytes, row.quant, row.target) == (artifact.bytes, artifact.quant, artifact.target)
    assert row.share_of_fp32 == pytest.approx(artifact.bytes / manifest.component(row.role).parameters / 4, abs=1e-4)
    exports.save(found, tmp_path / "e.json")
    assert len(json.loads((tmp_path / "e.json").read_text())["rows"]) == len(found.rows) == len(exports.sheet(found).rows)


def test_what_is_no_bundle_is_said(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"no manifest\.json here"):
        exports.read([tmp_path])
