"""Predictions from made-up ceilings, whose answers can be computed by hand; profiles, budgets, imports. No
time is asserted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.bench.cost import roofline
from gamer.bench.cost.ceilings import Ceilings, Rate
from gamer.bench.cost.counting import Work
from gamer.bench.latency import imported
from gamer.bench.phones import budget, device
from gamer.export.planning import devices
from gamer.runtime.errors import RuntimeFailure
from tests.console import gamer

pytest.importorskip("scipy", reason="needs the bench extra")
RATES = tuple(
    Rate(p, rows, gmacs)
    for p, one in (("fp32", 10.0), ("int8", 40.0), ("int4", 20.0))
    for rows, gmacs in ((1, one / 2), (100, one))
)
HERE = Ceilings(2, RATES, 5.0, 10.0, 100.0, 1.0, 1.0, 0.0, {"fp32": 20.0, "int8": 80.0, "int4": 80.0})


def product(macs: int, weights: int, precision: str = "fp32", rows: int = 100) -> Work:
    return Work("m", "MatMul", "product", macs, 0, weights, weights, 0, precision, rows)


ADD = Work("a", "Add", "elementwise", 0, 2_000_000, 0, 0, 0)


def test_an_operator_takes_the_longer_of_its_arithmetic_and_its_bytes() -> None:
    """10⁹ multiply-adds at 10 G a second; 10⁹ bytes at 10 GB a second; the longer time counts, and the result
    names its bound.
    """
    assert roofline.predict([product(10**9, 8)], HERE, 1e9).seconds == pytest.approx(0.1 + 1e-6)
    predicted = roofline.predict([product(10**8, 10**9)], HERE, 1e6)
    assert predicted.seconds == pytest.approx(0.1 + 1e-6)
    assert predicted.bound == "memory of products"
    assert roofline.predict([product(10**8, 10**9)], HERE, 2e9).seconds == pytest.approx(
        0.01 + 1e-6
    )  # within the cache
    assert roofline.predict([product(10**9, 8, "int8", 1)], HERE, 1e9).products == pytest.approx(
        0.05
    )  # one row, half the rate
    assert roofline.predict([product(10**9, 8, "int8", 10)], HERE, 1e9).products == pytest.approx(
        1 / 30
    )  # by logarithm between 20 and 40
    assert roofline.predict([ADD], HERE, 1e9).rest == pytest.approx(0.002)
    assert (
        roofline.predict([replace(ADD, kind="quantizer"), replace(ADD, kind="view")], HERE, 1e9).dispatch == 0
    )


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 10**10),
    st.integers(1, 10**9),
    st.sampled_from(["fp32", "fp16", "int8", "int4", "depthwise"]),
    st.integers(1, 1000),
)
def test_more_work_never_takes_less_time(macs: int, weights: int, precision: str, rows: int) -> None:
    one, more = product(macs, weights, precision, rows), product(2 * macs, 2 * weights, precision, rows)
    assert roofline.predict([more], HERE, 1e6).seconds >= roofline.predict([one], HERE, 1e6).seconds > 0


def runs(factor: float) -> list[device.Run]:
    """Components whose measured time is the prediction times a factor."""
    out = []
    for n, works in enumerate(
        ([product(10**9, 8)], [product(10**8, 10**7), *[ADD] * 4], [ADD] * 5, [product(3 * 10**9, 8, "int8")])
    ):
        seconds = roofline.predict(works, HERE, roofline.CACHE).seconds * factor
        out.append(device.Run("b", f"c{n}", "one", "text_tower", tuple(works), lambda: None, seconds * 1e3))
    return out


def test_calibration_finds_the_factor_and_tests_it_on_components_it_has_not_seen() -> None:
    factors, checked = device.calibrate(runs(1.0), HERE)
    assert factors[:2] == pytest.approx((1.0, 1.0), abs=0.01)
    assert all(abs(c.error) < 1e-6 for c in checked)
    factors, checked = device.calibrate(runs(2.0), HERE)
    assert factors[:2] == pytest.approx((2.0, 2.0), abs=0.05)
    assert all(c.error == pytest.approx(-0.5) and abs(c.calibrated_error) < 0.1 for c in checked)
    one_wrong = [*runs(1.0)[:3], replace(runs(1.0)[3], best_ms=1e6)]
    assert device.calibrate(one_wrong, HERE)[1][3].calibrated_error < -0.9  # fitted without its own time


def test_rates_are_scaled_by_the_peak_and_the_bandwidth_of_a_phone() -> None:
    phone = replace(
        devices.load()[0], cpu_fp32_gmacs=40.0, cpu_int8_gmacs=160.0, bandwidth_gbs=20 / device.STREAM_SHARE
    )
    there = device.transfer_ceilings(HERE, phone)
    assert there.rate("int8", 100) == 80
    assert there.rate("fp32", 100) == 20
    assert there.stream_gbs == pytest.approx(20)
    assert (
        device.transfer_ceilings(replace(HERE, theoretical_gmacs={}), phone).peak("fp32") == 20
    )  # half of the phone's own
    assert [device.energy(x) for x in (0.05, 0.5, 5, 50)] == ["A", "B", "C", "D"]


def test_the_profiles_describe_at_least_eight_phones_with_sources() -> None:
    profiles = devices.load()
    assert len(profiles) >= 8
    assert {p.year for p in profiles} == set(range(2021, 2027))
    assert {p.os for p in profiles} == {"Android", "iOS"}
    assert all(
        p.sources and p.cpu_int8_gmacs > p.cpu_fp32_gmacs and p.app_memory_gb < p.memory_gb for p in profiles
    )
    assert devices.choose(profiles, ["pixel 8"])[0].soc == "Google Tensor G3"
    assert devices.choose(profiles, ["google Pixel 8", "SM-S928B"])[1].name == "Galaxy S24 Ultra"
    assert devices.match(profiles, ["SM-S901B"]) is None  # that of other countries has another chip
    assert devices.match(profiles, ["Pixel 8 Pro", "husky"]) is None
    assert len({code for p in profiles for code in p.codes}) == sum(len(p.codes) for p in profiles)
    with pytest.raises(RuntimeFailure, match=r"most like 'Pixel 8'.*choose from: Pixel 6"):
        devices.choose(profiles, ["Pixel 8a"])
    with pytest.raises(RuntimeFailure, match=r"choose from: Pixel 6"):
        devices.choose(profiles, ["Nokia 3310"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"year": "2021"}, "year"),
        ({"cpu_ghz": 0}, "cpu_ghz"),
        ({"sources": []}, "sources"),
        ({"new": 1}, "new"),
        ({"npu_int8_gmacs": True}, "npu"),
    ],
)
def test_a_malformed_device_profile_is_named_in_the_error(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    raw = json.loads(devices.PROFILES.read_text())
    (tmp_path / "d.json").write_text(json.dumps([raw[0], raw[1] | change]))
    with pytest.raises(RuntimeFailure, match=rf"d\.json\[1\].*{message}"):
        devices.load(tmp_path / "d.json")
    (tmp_path / "d.json").write_text(json.dumps([raw[0], raw[0]]))
    with pytest.raises(RuntimeFailure, match="one name"):
        devices.load(tmp_path / "d.json")


def readme(heading: str, language: str) -> str:
    """The first code block of a section of bench/README.md."""
    text = (Path(device.__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    return text.split(f"### {heading}\n", 1)[1].split(f"```{language}\n", 1)[1].split("```", 1)[0]


def test_the_documented_device_profile_can_be_loaded(tmp_path: Path) -> None:
    """The block in bench/README.md has fewer than 30 lines. It is run, and the file it writes is read."""
    code = readme("Add a device profile", "python")
    assert len(code.splitlines()) < 30
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=60)
    (phone,) = devices.load(tmp_path / "my-devices.json")
    assert phone.cpu_int8_gmacs == 768
    assert device.transfer_ceilings(HERE, phone).peak("int8") == pytest.approx(40 * 768 / 80)


def test_the_documented_export_of_the_demo_apps_is_read(tmp_path: Path) -> None:
    (tmp_path / "app.json").write_text(readme("What the demo apps export", "json"))
    result = imported.read(tmp_path / "app.json")
    assert result.device == "Pixel 8"
    assert result.rows[0].samples_ns == (18000000, 20000000)


def task(name: str, bundle: str, ms: float, megabytes: float, fits: bool = True) -> device.Task:
    return device.Task("P", bundle, name, ms, ms / 2, ms * 2, 0.1, "B", megabytes, fits)


def test_a_budget_ranks_the_smallest_loss_that_fits_first() -> None:
    rules, llm = budget.QUERIES
    tasks = [
        task(rules, "small", 10, 80),
        task(llm, "small", 900, 300),
        task(rules, "large", 50, 500),
        task(llm, "large", 9000, 2000),
    ]
    lost = {("small", rules): 0.02, ("small", llm): 0.02, ("large", rules): 0.001, ("large", llm): 0.001}
    choices = budget.choices(tasks, budget.parse("3s,1.5GB"), lost)
    assert [(c.bundle, c.task, c.fits) for c in choices] == [
        ("large", rules, True),
        ("small", llm, True),
        ("small", rules, True),
        ("large", llm, False),
    ]
    assert choices[-1].why == "9.0 s, 2000 MB"
    assert [c.fits for c in budget.choices(tasks[:1], budget.parse("5 ms, 90MB"), lost)] == [False]
    with pytest.raises(ValueError, match="wanted"):
        budget.parse("soon")


@pytest.mark.slow
def test_bench_device_predicts_a_profiled_phone_and_shows_an_apps_measurement(
    bundle: Path, tmp_path: Path
) -> None:
    """With the user's own profile and an app's measurements, as bench/README.md describes."""
    (tmp_path / "mine.json").write_text(
        json.dumps([json.loads(devices.PROFILES.read_text())[0] | {"name": "My phone"}])
    )
    from gamer.bench.latency.measure import bundle_sha256

    row: dict[str, Any] = {
        "layer": "component",
        "step": "text_tower",
        "n": 2,
        "avg_ns": 4e6,
        "stddev_ns": 0,
        "p50_ns": 4e6,
        "p90_ns": 4e6,
        "samples_ns": [4000000] * 2,
    }
    export = {
        "schema": "gamer-latency/1",
        "device": "Google my phone",
        "os": "x",
        "backend": "onnx",
        "bundle_sha256": bundle_sha256(bundle),
        "rows": [row],
    }
    (tmp_path / "app.json").write_text(json.dumps(export))
    assert imported.read(tmp_path / "app.json").thermal is None
    words = ("bench", "device", "-b", bundle, "--device", tmp_path / "mine.json", "--budget", "3s,1.5GB")
    given = (*words, "--import", tmp_path / "app.json", "--output", tmp_path / "o.json", "-r", 1)
    done = gamer(*given)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "o.json").read_text())
    assert not done.stdout.rstrip().endswith("}")
    assert "Within the budget" in done.stdout
    assert {c["component"] for c in result["checked"]} >= {
        "image_tower",
        "text_tower",
        "llm_prefill",
        "llm_decode",
    }
    assert [o["measured_ms"] for o in result["outlooks"] if o["component"] == "text_tower"] == [4.0]
    refined = {o["component"]: o["refined_by"] for o in result["outlooks"]}
    assert refined.pop("text_tower") == ""
    assert set(refined.values()) == {"My phone"}
    assert {c["device"] for c in result["choices"]} == {"My phone"}
    assert all(o["cpu_ms"] > 0 and o["memory_mb"] > 0 for o in result["outlooks"])
    refused = gamer(*given, "--device", "Nokia")
    assert refused.returncode == 1
    assert "My phone" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
