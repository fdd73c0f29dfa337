"""Scores of a segmentation on cases that can be counted by hand; the fit finds what separates events."""

from __future__ import annotations

import json
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gamer.bench.events import fit, measure
from gamer.bench.events.photos import Labelled
from gamer.bench.events.scores import Cuts, EventScores, boundaries, macro, score
from gamer.runtime.events.segment import Moment
from tests.bench.retrieval.data_sets import write_rows
from tests.fakes import unit


def cuts(text: str) -> Cuts:
    return np.array([letter == "|" for letter in text], np.bool_)


def test_f1_counts_boundaries_and_pairs() -> None:
    assert score(cuts(".|."), "aabb") == EventScores(1.0, 1.0)
    # Ours is aab b: of three pairs found, one is among the two true ones.
    assert astuple(score(cuts("..|"), "aabb")) == (0.0, pytest.approx(2 * 1 / (3 + 2)))
    assert astuple(score(cuts(".||"), "aabb")) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert score(cuts("||"), "abc") == EventScores(1.0, 1.0)  # no pair to find, none found


def test_interleaved_events_have_boundaries_that_no_stretch_can_join() -> None:
    assert boundaries("abab").tolist() == [True, True, True]
    perfect = score(boundaries("aba"), "aba")
    assert perfect.boundary == 1.0
    assert perfect.pairwise == 0.0


@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=12), st.data())
def test_pairwise_f1_agrees_with_counting_every_pair(events: list[str], data: st.DataObject) -> None:
    ours = np.array(data.draw(st.lists(st.booleans(), min_size=len(events) - 1, max_size=len(events) - 1)))
    group = np.concatenate([[0], np.cumsum(ours)])
    pairs = [(i, j) for j in range(len(events)) for i in range(j)]
    found = {(i, j) for i, j in pairs if group[i] == group[j]}
    true = {(i, j) for i, j in pairs if events[i] == events[j]}
    wanted = 2 * len(found & true) / (len(found) + len(true)) if found or true else 1.0
    assert score(ours, events).pairwise == pytest.approx(wanted)


def test_every_user_counts_the_same() -> None:
    assert macro([EventScores(1.0, 0.0), EventScores(0.0, 1.0)]) == EventScores(0.5, 0.5)


def user(name: str, seed: int, telling: str) -> Labelled:
    """Forty events of three photos, told apart by the time between them, or by their texts alone."""
    rng = np.random.default_rng(seed)
    moments, events, wall = list[Moment](), list[str](), 0
    for n in range(40):
        word = unit(bytes([seed, n]))
        for _ in range(3):
            first = not events or events[-1] != str(n)
            wall += (
                int(rng.integers(80_000, 90_000) if first and telling == "time" else rng.integers(50, 60))
                * 1000
            )
            text = word if telling == "text" else unit(b"same")
            moments.append(Moment(f"{name}{len(moments):04}", wall, text=text))
            events.append(str(n))
    return Labelled(name, tuple(moments), tuple(events))


@pytest.mark.parametrize("telling", ["time", "text"])
def test_the_fit_finds_what_separates_events_and_serves_another_user(telling: str) -> None:
    weights = fit.fit([user(name, seed, telling) for seed, name in enumerate("ab")])
    other = user("c", 7, telling)
    assert score(fit.cuts(other, weights), other.events).boundary > 0.85


def test_the_best_gap_is_chosen_for_each_figure() -> None:
    users = [user(name, seed, "time") for seed, name in enumerate("ab")]
    boundary, pairwise = measure.best_gaps(users)
    assert boundary.mean.boundary == pairwise.mean.pairwise == 1.0
    assert boundary.gap_s is not None
    assert 60 <= boundary.gap_s < 80_000


def test_days_begin_at_midnight() -> None:
    day = 86_400_000
    moments = tuple(Moment(str(n), wall) for n, wall in enumerate((day - 1, day, day + 1)))
    assert measure.by_day(Labelled("a", moments, ("a", "b", "b"))).tolist() == [True, False]


@pytest.mark.slow
def test_bench_events_writes_its_figures(bundle: Path, tmp_path: Path) -> None:
    from gamer.bench.cli.bench import bench

    for name in ("ann", "bob"):
        rows = [
            {
                "id": f"{name}{n}",
                "timestamp": f"2020-01-{n // 3 + 1:02}T10:0{n % 3}:00",
                "text": f"day {n // 3}",
                "event_id": None if n == 5 else f"e{n // 3}",
            }
            for n in range(18)
        ]
        write_rows(tmp_path / f"{name}.corpus.jsonl.gz", rows)
    out = tmp_path / "events.json"
    options = ["events", "-b", str(bundle), "--data", str(tmp_path), "--output", str(out)]
    done = CliRunner().invoke(bench, [*options, "--cache", str(tmp_path / "cache")])
    assert done.exit_code == 0, done.output
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["photos"] == {"ann": 17, "bob": 17}
    assert result["boundaries"] == {"ann": 5, "bob": 5}
    by_name = {row["name"]: row["mean"] for row in result["methods"]}
    assert by_name["day"] == {"boundary": 1.0, "pairwise": 1.0}
    assert result["ratio"]["boundary"] == pytest.approx(by_name["rules"]["boundary"], abs=1e-4)
    assert str(tmp_path) not in out.read_text(encoding="utf-8").replace(tmp_path.name, "")
    alone = CliRunner().invoke(bench, [*options, "--users", "ann"])
    assert alone.exit_code == 1
    assert "two users or more" in alone.output
