"""The table of exports says what the manifests say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gamer.bench import exports
from gamer.bench.cli.bench import bench
from gamer.bench.tables import Sheet
from gamer.export.errors import ExportError
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.errors import BundleError
from tests.paths import GOLDEN

MANIFEST = GOLDEN / "manifest_v1.json"


def test_every_artifact_is_a_row_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(MANIFEST.read_bytes())
    manifest, table = mf.read(tmp_path), exports.read([tmp_path])
    assert len(table.rows) == len(manifest.artifacts)
    row, artifact = table.rows[0], manifest.artifacts[0]
    assert (row.bytes, row.quant, row.target) == (artifact.bytes, artifact.quant, artifact.target)
    assert row.share_of_fp32 == pytest.approx(
        artifact.bytes / manifest.component(row.role).parameters / 4, abs=1e-4
    )
    out = tmp_path / "e.json"
    done = CliRunner().invoke(bench, ["study", "exports", "-b", str(tmp_path), "-o", str(out), "--json"])
    assert json.loads(done.output) == json.loads(out.read_text())
    assert out.read_text().count("\n") == 1
    (shown,) = exports.tables(table)
    assert isinstance(shown, Sheet)
    assert len(json.loads(out.read_text())["rows"]) == len(table.rows) == len(shown.rows)


def test_an_artifact_that_several_bundles_share_is_listed_once(tmp_path: Path) -> None:
    raw = json.loads(MANIFEST.read_text())
    for n, artifact in enumerate(raw["artifacts"]):
        artifact["sha256"] = f"{n + 1:064x}"
    changed = json.loads(json.dumps(raw)) | {"recipe": "other"}
    changed["artifacts"][0]["sha256"] = "0" * 64
    for name, manifest in (("a", raw), ("b", changed)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(json.dumps(manifest))
    table = exports.read([tmp_path / "a", tmp_path / "b"])
    assert len(table.rows) == len(raw["artifacts"]) + 1
    assert [row.also for row in table.rows] == [
        (),
        *[("other",)] * (len(raw["artifacts"]) - 1),
        (),
    ]
    assert table.rows[-1].recipe == "other"


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"no manifest\.json here"):
        exports.read([tmp_path])


def test_peers_stand_side_by_side_in_a_table_of_their_own() -> None:
    optimum = pytest.importorskip("gamer.bench.peers.optimum", reason="needs the export extra")
    rows = (
        optimum.PeerRow("a", "optimum", 2.0, 2.0, 3_000_000, 1.0),
        optimum.PeerRow("a", "gamer", 9.0, 4.0, 1, 0.9),
    )
    (shown,) = exports.tables(exports.Exports((), rows))
    assert isinstance(shown, Sheet)
    assert shown.rows[0] == ("a", "optimum", "2", "2", "3.0", "1.000000")


def test_the_peer_that_is_not_installed_and_a_study_of_nothing_are_refused_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimum = pytest.importorskip("gamer.bench.peers.optimum", reason="needs the export extra")
    monkeypatch.setattr(optimum, "FOLDER", tmp_path)
    done = CliRunner().invoke(bench, ["study", "exports", "--set", "peer=optimum"])
    assert done.exit_code == 1
    assert "make optimum-peer" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    monkeypatch.setattr(optimum, "LONGEST", 0.1)
    with pytest.raises(ExportError, match=r"not done after 0\.1 s"):
        optimum._timed("sleep", "600")
    done = CliRunner().invoke(bench, ["study", "exports"])
    assert done.exit_code
    assert "--set peer=optimum" in done.stderr
