"""`--device-profile`: which targets a phone has, which components fit into the memory of one app, and what
the command prints and returns.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="needs the export extra")
from click.testing import CliRunner

from gamer.export.cli import export
from gamer.export.planning import devices, phone_memory, plan
from gamer.runtime.bundle.manifest import Language

PIXEL, IPHONE = devices.choose(devices.load(), ["Pixel 6", "iphone 13"])
LANGUAGE = Language(28, 2, 128, 1536, 512, 1e6, ())


def planned(role: str, target: str, size: int) -> plan.Planned:
    return plan.Planned(role, target, "int8", 1, size, 1)


def test_an_artifact_fits_where_its_target_runs_and_memory_holds_it() -> None:
    roles = [planned("image_tower", target, 10**9) for target in ("onnx", "executorch", "coreml")]
    assert [(f.runs, f.fits) for f in phone_memory.fits(PIXEL, roles, None)] == [
        (True, True),
        (True, True),
        (False, False),
    ]
    assert all(f.fits for f in phone_memory.fits(IPHONE, roles, None))
    limit = int(PIXEL.app_memory_gb * 1e9) - phone_memory.RUNTIME_BYTES
    assert [
        f.fits
        for f in phone_memory.fits(PIXEL, [planned("text_tower", "onnx", limit + n) for n in (0, 1)], None)
    ] == [True, False]


def test_a_decoder_needs_memory_for_its_cache() -> None:
    assert phone_memory.cache_bytes(LANGUAGE) == 2 * 28 * 2 * 128 * 512 * 4
    with_cache, without = (
        phone_memory.fits(PIXEL, [planned(role, "onnx", 0)], LANGUAGE)[0].bytes
        for role in ("llm_decoder", "llm_embed")
    )
    assert with_cache - without == phone_memory.cache_bytes(LANGUAGE)
    assert without == phone_memory.RUNTIME_BYTES


def test_a_component_cannot_run_only_where_none_of_its_artifacts_can() -> None:
    small = replace(PIXEL, app_memory_gb=1.0)
    rows = [
        planned("llm_decoder", "onnx", 2 * 10**9),
        planned("llm_decoder", "executorch", 5 * 10**8),
        planned("text_tower", "coreml", 1),
    ]
    assert phone_memory.roles_that_do_not_fit(phone_memory.fits(small, rows, None)) == ("text_tower",)
    assert phone_memory.roles_that_do_not_fit(phone_memory.fits(small, rows[:1], None)) == ("llm_decoder",)


def test_every_profile_is_of_a_known_operating_system() -> None:
    assert {p.os for p in devices.load()} <= set(phone_memory.RUNS)


def dry(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(
        export, ["clip-vit-b32", "--weights", "random", "--dry-run", "-o", "never", *arguments]
    )
    return done.exit_code, done.stdout, done.stderr


def test_a_dry_run_reports_what_fits_and_fails_where_a_component_cannot_run() -> None:
    code, printed, _ = dry("--device-profile", "pixel 6", "--json")
    result = json.loads(printed)
    assert code == 0
    assert {(f["target"], f["runs"]) for f in result["fits"]} == {
        ("onnx", True),
        ("executorch", True),
        ("coreml", False),
    }
    assert [f["bytes"] - phone_memory.RUNTIME_BYTES for f in result["fits"]] == [
        a["bytes"] for a in result["artifacts"]
    ]
    code, printed, wrong = dry("--device-profile", "Pixel 6", "--targets", "coreml")
    assert code == 1
    assert "not on Android" in printed
    assert wrong.count("\n") == 1
    assert wrong.startswith("gamer export: Pixel 6 cannot run image_tower, text_tower: choose fewer bits")
    code, _, wrong = dry("--device-profile", "Nokia 3310")
    assert code == 1
    assert "unknown device 'Nokia 3310', most like" in wrong
    assert "choose from: Pixel 6" in wrong
