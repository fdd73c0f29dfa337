"""MODEL_CARD.md says what the manifest says, and is one of the bundle's files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gamer.runtime.bundle import manifest as mf
from tests.paths import GOLDEN

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from gamer.export.bundle import card
from gamer.export.settings import Settings
from tests.export import tiny_encoders
from tests.export.conftest import Export


def _golden() -> mf.Manifest:
    return mf.from_json((GOLDEN / "manifest_v3.json").read_text(encoding="utf-8"), "manifest_v3.json")


def test_the_card_has_every_artifact_source_and_licence() -> None:
    manifest = _golden()
    rows = [line for line in card.text(manifest).splitlines() if line.startswith("| ")]
    for artifact in manifest.artifacts:
        parity = artifact.parity
        figure = "not run" if parity.minimum is None else f"{parity.minimum:.4f} ({parity.threshold:g})"
        start = f"| {artifact.role} | {card._TARGETS[artifact.target]} | {artifact.quant} | "
        assert any(row.startswith(f"{start}{artifact.bytes / 1e6:,.1f} | {figure} |") for row in rows)
    assert all(f"- {name}: {line}" in card.text(manifest) for name, line in manifest.licences.items())
    assert len({line.count("|") for line in rows}) == 2  # no cell adds a column to the two tables


def test_the_card_tells_random_weights_and_what_was_not_run() -> None:
    manifest = _golden()
    component, artifact = manifest.components[0], manifest.artifacts[0]
    unrun = replace(artifact, parity=mf.Parity(mf.NOT_RUN, "cosine", 0.9))
    changed = replace(
        manifest,
        components=(replace(component, trained=False), *manifest.components[1:]),
        artifacts=(unrun, *manifest.artifacts[1:]),
    )
    limits = card.text(changed).partition("## Limits")[2]
    assert component.role in limits
    assert "random weights" in limits
    assert f"{card._TARGETS[artifact.target]}: not run where the bundle was made" in limits


def test_the_card_of_a_decoder_without_a_least_top_1_has_its_figure() -> None:
    manifest = _golden()
    parity = replace(manifest.artifacts[0].parity, top1=0.9, top1_threshold=None)
    changed = replace(manifest, artifacts=(replace(manifest.artifacts[0], parity=parity),))
    assert "| 90.0% |" in card.text(changed)


def test_a_bundle_has_its_card_among_its_files(export: Export, tmp_path: Path) -> None:
    source = tiny_encoders.bert(tmp_path / "bert")
    manifest = export(Settings("sentence", sources=(("text", str(source)),)), tmp_path / "out")
    assert manifest.has_file(card.NAME)
    mf.check(tmp_path / "out", mf.read(tmp_path / "out"))
    written = (tmp_path / "out" / card.NAME).read_text(encoding="utf-8")
    assert written.startswith("# sentence, int8")
    assert "local:bert" in written
    assert str(tmp_path) not in written
