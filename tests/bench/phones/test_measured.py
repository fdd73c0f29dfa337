"""Measurements beside made-up predictions: whom they are matched to, what they refine, and what is said of
them.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import geometric_mean

import pytest

from gamer.bench.latency.imported import Before, Imported, component_row
from gamer.bench.phones import measured
from gamer.bench.phones.device import Outlook, next_ratio
from gamer.export.planning import devices
from gamer.runtime.errors import RuntimeFailure

pytest.importorskip("scipy", reason="needs the bench extra")
KNOWN = devices.load()
PIXEL = devices.choose(KNOWN, ["Pixel 8"])[0]
SISTER = replace(PIXEL, name="Pixel 8a", codes=("akita",))  # of the same chip
OTHER = devices.choose(KNOWN, ["Galaxy S25"])[0]
PHONES = (PIXEL, SISTER, OTHER)
STEPS = ("text_tower", "image_tower", "llm_prefill")
DIGESTS = {"ab" * 32: "pocket"}
OUTLOOKS = [
    Outlook(p.name, "pocket", step, "100 tokens", 10.0, 5.0, 20.0, 0.1, "A", None, None, 1.0)
    for p in PHONES
    for step in STEPS
]


def run(times: dict[str, float], device: str = "Google Pixel 8", **more: str) -> Imported:
    """A phone's run: component → ms."""
    rows = tuple(component_row(step, [ms * 1e6]) for step, ms in times.items())
    made = Imported(device, "Android 16", "onnx", "ab" * 32, rows)
    return replace(made, **more)  # type: ignore[arg-type]


def refine(*runs: Imported) -> tuple[dict[tuple[str, str], Outlook], list[str]]:
    matched = measured.matched(runs, PHONES, DIGESTS)
    out = measured.refined(OUTLOOKS, matched, PHONES)
    return {(o.device, o.component): o for o in out}, list(measured.notes(out, matched))


def test_a_phone_is_matched_by_any_name_that_it_gives() -> None:
    by_code, by_model = run({}, "somebody's", codename="shiba"), run({}, "x", model="Pixel 8")
    for one in (run({}), by_code, run({}, "PIXEL 8"), by_model):
        assert measured.profile_of(one, KNOWN) is PIXEL
    with pytest.raises(RuntimeFailure, match=r"Pro \(husky\), which has no profile; the nearest is Pixel 8"):
        measured.profile_of(run({}, "Google Pixel 8 Pro", codename="husky"), KNOWN)


def test_a_bundle_that_did_not_run_is_named() -> None:
    with pytest.raises(RuntimeFailure, match=r"ran bundle cdcdcdcdcdcd, .* none of pocket \(abababababab\)"):
        measured.matched([run({}, bundle_sha256="cd" * 32)], PHONES, DIGESTS)
    with pytest.raises(RuntimeFailure, match="a model that the report does not name"):
        measured.matched([run({}, bundle_sha256="")], PHONES, DIGESTS | {"cd" * 32: "other"})
    assert measured.matched([run({}, bundle_sha256="")], PHONES, DIGESTS)[0].bundle == "pocket"


def test_a_component_that_took_no_time_is_refused() -> None:
    with pytest.raises(RuntimeFailure, match="text_tower has p50_ns 0"):
        measured.matched([run({"text_tower": 0.0})], PHONES, DIGESTS)


def test_what_was_not_measured_is_refined_by_the_others_of_its_chip() -> None:
    out, notes = refine(run({"text_tower": 20.0, "image_tower": 80.0}))
    unmeasured, sister = out["Pixel 8", "llm_prefill"], out["Pixel 8a", "text_tower"]
    low, high = next_ratio([2.0, 8.0])
    for o in (unmeasured, sister):
        assert o.measured_ms is None
        assert o.refined_by == "Pixel 8"
        assert o.refined_ms == pytest.approx(10 * geometric_mean([2, 8]))
        assert (o.refined_low_ms, o.refined_high_ms) == pytest.approx((10 * low, 10 * high))
        assert o.best == (o.refined_ms, o.refined_low_ms, o.refined_high_ms)
    own = out["Pixel 8", "text_tower"]
    assert own.measured_ms == 20
    assert own.best == (20, 20, 20)
    assert own.refined_ms == pytest.approx(80)  # by the other alone, with which it can be compared
    assert (own.refined_low_ms, own.refined_high_ms) == pytest.approx((40, 160))
    assert out["Galaxy S25", "text_tower"] == next(o for o in OUTLOOKS if o.device == "Galaxy S25")
    assert notes == [
        "Pixel 8: 1 of 2 measurements lie outside of their 95 %: image_tower of pocket.",
        "Pixel 8 took 4.00 times what is predicted, over 2 components (geometric mean). What was not "
        "measured, "
        "there and on phones of its chip, is refined by that.",
    ]


def test_what_ran_on_an_accelerator_is_shown_and_refines_nothing() -> None:
    out, notes = refine(run({"text_tower": 1.0}, backend="onnx:nnapi"))
    o = out["Pixel 8", "text_tower"]
    assert (o.measured_ms, o.measured_on, o.best) == (1.0, "onnx:nnapi", (10.0, 5.0, 20.0))
    assert measured.within(o) is None
    assert not any(o.refined_by for o in out.values())
    assert len(notes) == 1
    assert "onnx:nnapi" in notes[0]
    both, _ = refine(run({"text_tower": 9.0}), run({"text_tower": 1.0}, backend="onnx:nnapi"))
    assert both["Pixel 8", "text_tower"].measured_ms == 9


def test_a_prompt_of_another_length_is_scaled_to_ours() -> None:
    made = run({})
    out, _ = refine(replace(made, rows=(component_row("llm_prefill", [50e6], tokens=500),)))
    assert out["Pixel 8", "llm_prefill"].measured_ms == pytest.approx(10)


def test_a_phone_that_was_slowed_down_and_what_has_no_prediction_are_said() -> None:
    hot = replace(run({"dpe": 3.0}), thermal="severe", before=Before(thermal="light", saver=True))
    _, notes = refine(hot)
    assert notes == [
        "Google Pixel 8 was slowed down (thermal state severe, battery saver on): let it cool and "
        "measure again",
        "Pixel 8: measured, and not predicted: dpe.",
    ]
    assert not replace(run({}), thermal="light", after=Before(thermal="none", saver=False)).slowed()
