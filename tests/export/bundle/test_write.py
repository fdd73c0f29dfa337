"""The exporter: one small component exported to every target, what a failure leaves behind, and what an
interrupted export keeps.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.paths import GOLDEN

pytest.importorskip("torch", reason="needs the export extra")
from gamer.export import recipe
from gamer.export.bundle import write as bundle
from gamer.export.bundle.fingerprint import fingerprint
from gamer.export.components import components
from gamer.export.errors import ExportError
from gamer.export.networks.decoder import Int8Embedding
from gamer.export.parity import measure, verify
from gamer.export.settings import Settings, from_strings, parse_parts
from gamer.index.album.writing.storage import WriterLock
from gamer.runtime.bundle import manifest as mf
from tests.export import tiny_encoders

POCKET = Settings("pocket")


def task(folder: Path, target: str, role: str = "dpe_router") -> bundle.Task:
    (folder / "records").mkdir(exist_ok=True)
    return bundle.Task(
        POCKET, role, target, recipe.recipe("pocket").quant_of(role, target, "int8"), str(folder)
    )


@pytest.mark.slow
@pytest.mark.parametrize("target", ["onnx", "executorch", "coreml"])
def test_one_component_exports_to_each_target_with_its_digest_and_parity(tmp_path: Path, target: str) -> None:
    artifact = bundle.run_task(task(tmp_path, target)).artifact
    assert mf.digest(tmp_path / artifact.path) == (artifact.bytes, artifact.sha256)
    assert artifact.parity.minimum is not None
    assert artifact.parity.minimum >= artifact.parity.threshold
    assert artifact.parity.executed_by
    assert artifact.export_peak_bytes > 50_000_000
    assert [p.name for p in (tmp_path / target).iterdir()] == [Path(artifact.path).name]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["onnx", "executorch", "coreml"])
def test_a_token_table_with_a_scale_for_each_group_stays_close_on_each_target(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Int8Embedding, "OUTLIER", 0.0)
    artifact = bundle.run_task(task(tmp_path, target, "llm_embed")).artifact
    assert artifact.parity.minimum is not None
    assert artifact.parity.minimum > 0.9999
    assert artifact.bytes < 1.16 * 49152 * 576


@pytest.mark.slow
def test_a_finished_artifact_is_kept_and_a_changed_one_is_not(tmp_path: Path) -> None:
    wanted = task(tmp_path, "onnx")
    assert bundle._finished(wanted) is None
    result = bundle.run_task(wanted)
    assert bundle._finished(wanted) == result
    half = tmp_path / "onnx" / "partial-7-dpe_expert_0.onnx"
    half.write_bytes(b"what a killed worker left")
    (tmp_path / "onnx" / "tmpabc").mkdir()
    (tmp_path / "onnx" / "tmpabc" / "graph.onnx").write_bytes(b"more of it")
    bundle._sweep([wanted, replace(wanted, role="dpe_expert_0")], {wanted: result})
    assert [p.relative_to(tmp_path).as_posix() for p in (tmp_path / "onnx").iterdir()] == [
        result.artifact.path
    ]
    (tmp_path / result.artifact.path).write_bytes(b"cut short")
    assert bundle._finished(wanted) is None


@pytest.mark.slow
def test_parity_below_its_threshold_fails_with_the_figure_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = recipe.recipe("pocket")
    strict = replace(chosen, thresholds={**chosen.thresholds, "int8": {"dpe_router": recipe.Threshold(1.5)}})
    monkeypatch.setitem(recipe.RECIPES, "pocket", strict)
    with pytest.raises(
        ExportError, match=r"dpe_router for onnx \(int8\): worst cosine [01]\.\d+ with torch is below 1\.5"
    ):
        bundle.run_task(task(tmp_path, "onnx"))
    assert not list((tmp_path / "onnx").iterdir())
    assert bundle._finished(task(tmp_path, "onnx")) is None


@pytest.mark.slow
def test_the_artifact_of_another_component_fails_parity(tmp_path: Path) -> None:
    """Expert 1's file under expert 0's name: same shapes, same number of bytes, another function."""
    artifact = bundle.run_task(task(tmp_path, "onnx", "dpe_expert_1")).artifact
    item = components.build(POCKET, "dpe_expert_0", "fp32")
    with pytest.raises(ExportError, match="worst cosine"):
        measure.measure(
            POCKET,
            item,
            replace(artifact, role="dpe_expert_0"),
            tmp_path / artifact.path,
            recipe.Threshold(0.99),
        )


def test_targets_are_parsed_and_an_unknown_target_lists_the_choices() -> None:
    assert bundle.parse_targets("coreml, onnx") == ("onnx", "coreml")
    with pytest.raises(ExportError, match="choose from: onnx, executorch, coreml"):
        bundle.parse_targets("onnx,tflite")
    with pytest.raises(ExportError, match="no target"):
        bundle.parse_targets(" , ")


def test_parts_are_parsed_and_a_part_that_needs_another_names_it() -> None:
    assert Settings("pocket", parts=("image", "text")).chosen.parts() == ("image", "text")
    assert components.roles(Settings("pocket", parts=("text",))) == ("text_tower",)
    for parts, says in (
        (("vision",), "no part 'vision'"),
        (("dpe", "image", "text"), "image and llm too"),
        (("image",), "ask for text too"),
    ):
        with pytest.raises(ExportError, match=says):
            Settings("pocket", parts=parts)
    with pytest.raises(ExportError, match="choose from: image, text, dpe, llm"):
        parse_parts("text,vision")
    assert fingerprint(
        Settings("towers", parts=("text",), sources=(("text", "random"),))
    )  # the other part has no weights of its own
    asked = Settings("pocket", parts=parse_parts("text, image"))
    assert from_strings(asked.to_strings()) == asked
    assert fingerprint(asked) == fingerprint(Settings("pocket"))


def test_a_second_export_into_one_folder_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "out")  # as the first export holds it
    try:
        with pytest.raises(ExportError, match=r"out: another export is writing this folder; [^\n]*$"):
            bundle.export(POCKET, ("onnx",), tmp_path / "out", 1, lambda *_: None)
    finally:
        lock.release()
    assert list(tmp_path.iterdir()) == []


def test_a_failed_export_keeps_its_partial_folder_only_for_finished_parts(tmp_path: Path) -> None:
    stage = tmp_path / "out.partial"
    for finished in (False, True):
        (stage / "records").mkdir(parents=True, exist_ok=True)
        if finished:
            (stage / "records" / "onnx-text_tower.json").write_text("{}")
        with pytest.raises(ExportError, match="too low"), bundle._keeping(stage):
            raise ExportError("too low")
        assert stage.exists() is finished


@pytest.mark.slow
def test_an_export_that_was_killed_with_its_workers_finishes_when_it_is_run_again(tmp_path: Path) -> None:
    asked = ["pocket", "--parts", "text", "--targets", "onnx", "--jobs", "1", "-o", str(tmp_path / "out")]
    command = [sys.executable, "-m", "gamer.main", "export", *asked]
    for seconds in (1.0, 4.0, 7.0):
        killed = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            killed.wait(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    mf.check(tmp_path / "out", mf.read(tmp_path / "out"))


@pytest.mark.slow
def test_exporting_another_target_keeps_the_artifacts_that_a_bundle_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers_here: None
) -> None:
    """A text tower is exported to one target and then to another: the first artifact stays, byte for byte,
    with its time of export.
    """
    monkeypatch.setattr(
        "gamer.export.bundle.contents.calibrate_delta", lambda settings: (0.5, "not calibrated")
    )
    source = str(tiny_encoders.TINY["modernbert"](tmp_path / "modernbert"))
    text = Settings("sentence", "int8", (("text", source),))
    first = bundle.export(text, ("onnx",), tmp_path / "out", 1, lambda *_: None)
    both = bundle.export(text, ("onnx", "coreml"), tmp_path / "out", 1, lambda *_: None)
    assert {a.target for a in both.artifacts} == {"onnx", "coreml"}
    assert both.artifact("text_tower", "onnx") == first.artifacts[0]
    assert both.golden("text_tower").keys() == {"ids", "mask", "want"}
    mf.check(tmp_path / "out", both)
    messages: list[str] = []
    assert bundle.export(text, ("onnx",), tmp_path / "out", 1, lambda what, _: messages.append(what)) == both
    assert messages == ["up to date"]
    shutil.rmtree(tmp_path / "out")  # a target that was not asked for before is added
    only = bundle.export(text, ("coreml",), tmp_path / "out", 1, lambda *_: None)
    (tmp_path / "out.partial" / "records").mkdir(parents=True)
    (tmp_path / "out.partial" / "records" / "fingerprint").write_text(fingerprint(text))
    (tmp_path / "out.partial" / "executorch").mkdir()
    (tmp_path / "out.partial" / "executorch" / "text_tower.pte").write_bytes(
        b"of an interrupted export of more"
    )
    more = bundle.export(text, ("onnx",), tmp_path / "out", 1, lambda *_: None)
    assert {a.target for a in more.artifacts} == {"onnx", "coreml"}
    assert more.artifact("text_tower", "coreml") == only.artifacts[0]
    assert sorted(p.name for p in (tmp_path / "out").iterdir() if p.is_dir()) == [
        "coreml",
        "fixtures",
        "onnx",
    ]


def test_verify_takes_neither_sources_of_weights_nor_trust_from_the_bundle() -> None:
    golden = mf.from_json((GOLDEN / "manifest_v2.json").read_text(encoding="utf-8"), "golden")
    hostile = replace(
        golden, settings={**POCKET.to_strings(), "sources": "llm=evil/repo", "trust_pickle": "True"}
    )
    with pytest.raises(
        ExportError,
        match="the weights of llm came from evil/repo: say where they are, as in --weights llm=evil/repo",
    ):
        verify.trusted_settings(hostile, ())
    assert not verify.trusted_settings(hostile, (("llm", "random"),)).trust_pickle


def test_an_unknown_recipe_lists_the_choices() -> None:
    with pytest.raises(ExportError, match="pocket"):
        recipe.recipe("gamer-9000")


@pytest.mark.parametrize("manifest", [None, '{"name": "my web app"}', "golden"])
def test_a_directory_that_is_no_bundle_is_left_alone(tmp_path: Path, manifest: str | None) -> None:
    """Without a manifest, with that of another program, and with a true one beside a file of the user's."""
    if manifest:
        golden = GOLDEN / "manifest_v1.json"
        (tmp_path / "manifest.json").write_text(
            golden.read_text(encoding="utf-8") if manifest == "golden" else manifest
        )
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(ExportError, match="not \\(only\\) a bundle"):
        bundle.export(POCKET, ("onnx",), tmp_path, 1, lambda text, artifact: None)
    assert (tmp_path / "precious.txt").read_text() == "mine"


@pytest.mark.slow
def test_the_exported_bundle_holds_each_component_for_each_target_above_its_parity(bundle: Path) -> None:
    manifest = mf.read(bundle)
    mf.check(bundle, manifest)
    assert {(a.role, a.target) for a in manifest.artifacts} == {
        (r, t) for r in components.roles(POCKET) for t in recipe.TARGETS
    }
    for artifact in manifest.artifacts:
        assert artifact.parity.minimum is not None
        assert artifact.parity.minimum >= artifact.parity.threshold
    assert [c.trained for c in manifest.components if c.role.startswith("dpe_")] == [False] * 4
    assert all(c.trained for c in manifest.components if not c.role.startswith("dpe_"))
    rows = json.loads((bundle / "fixtures" / "text.json").read_text(encoding="utf-8"))
    assert len(rows[0]["embedding"]) == manifest.dim


@pytest.mark.slow
def test_verify_measures_the_parity_of_the_manifest_again(bundle: Path) -> None:
    manifest = mf.read(bundle)
    few = replace(
        manifest, artifacts=tuple(a for a in manifest.artifacts if a.role in ("dpe_router", "text_tower"))
    )
    again = verify.verify(bundle, few, lambda text: None)
    for before, now in zip(few.artifacts, again.artifacts, strict=True):
        assert now.parity.minimum == (
            None if before.parity.minimum is None else pytest.approx(before.parity.minimum, abs=2e-3)
        )
