"""The committed fixtures hold what the reference gives now, and the comparison notices what it should."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.conformance import table
from tools.conformance.fixture import COMMITTED, FORMAT, Case, Given, Suite, answered, read
from tools.conformance.registry import RENEWED
from tools.conformance.replay import differences, replay
from tools.conformance.table import Tally, absent, cases_of

LARGEST = 1_950_000  # bytes of all fixtures together: everyone who clones the repository downloads them


def test_every_committed_case_passes_when_it_is_replayed() -> None:
    failed = [line for line in replay(COMMITTED) if line[2] != "pass"]
    assert not failed, failed[:5]


@pytest.mark.parametrize("name", RENEWED)
def test_the_committed_inputs_have_what_other_code_adds_to_them(name: str) -> None:
    suite = read(COMMITTED / f"{name}.json")
    assert RENEWED[name](suite) == suite, "run python -m tools.conformance.write committed"


def test_a_new_case_gets_its_output_and_an_error_keeps_the_part_that_all_languages_say() -> None:
    cases = (Case("sum", {}), Case("wrong", {"op": "bad"}, error="too"), Case("new", {"op": "bad"}))

    def refuse(given: Given) -> None:
        raise ValueError("5 is too many")

    now = answered(Suite("x", cases), lambda *_: {"": lambda given: 3, "bad": refuse}, COMMITTED)
    assert [case.out for case in now.cases] == [3, None, None]
    assert [case.error for case in now.cases] == [None, "too", "5 is too many"]


def test_fixtures_stay_small_and_every_suite_has_cases_and_errors_where_it_can_fail() -> None:
    suites = [read(path) for path in sorted(COMMITTED.glob("*.json"))]
    assert sum(path.stat().st_size for path in COMMITTED.rglob("*") if path.is_file()) < LARGEST
    assert all(suite.cases for suite in suites)
    with_errors = {suite.name for suite in suites if any(case.error for case in suite.cases)}
    assert with_errors == {
        "album",
        "errors",
        "glosses",
        "hnsw",
        "kdtree",
        "manifest",
        "prefix",
        "printed",
        "resize",
        "routing",
    }


@pytest.mark.parametrize(
    ("wanted", "actual", "differ"),
    [
        (1.0, 1.001, False),
        (1.0, 1.1, True),
        (1, 1, False),
        (1, 2, True),
        ("a", "b", True),
        ([1, 2], [1, 2, 3], True),
        ([1, 2], [2, 1], True),
        ({"a": 1}, {"b": 1}, True),
        ({"a": [None]}, {"a": [0.0]}, True),
        (1.0, True, True),
    ],
)
def test_floats_are_compared_within_the_tolerance_and_all_else_exactly(
    wanted: object, actual: object, differ: bool
) -> None:
    assert bool(list(differences(wanted, actual, 0.01))) == differ


def test_a_case_that_a_port_did_not_print_has_not_passed(tmp_path: Path) -> None:
    Suite("x", (Case("a", {}, 1), Case("b", {}, 2))).write(tmp_path)
    cases = cases_of(tmp_path)
    assert cases == [("x", "a"), ("x", "b")]
    assert Tally({("x", "a"): "pass", ("y", "b"): "pass"}).passed(cases) == 1
    assert Tally({("x", "a"): "skip", ("x", "b"): "fail"}).passed(cases) == 0


def test_missing_tools_are_named_by_the_command_that_installs_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GAMER_TOOLS", str(tmp_path))
    assert absent("Kotlin") == "mobile-setup-kotlin"
    assert absent("Swift") == "mobile-setup-swift"
    assert absent("Python") == ""


def test_a_fixture_of_another_format_or_with_two_cases_of_one_name_is_refused(tmp_path: Path) -> None:
    path = Suite("x", (Case("a", {}, 1),)).write(tmp_path)
    assert read(path).cases[0].out == 1
    path.write_text(path.read_text().replace(f'"format": {FORMAT}', '"format": 99'))
    with pytest.raises(ValueError, match="format 99"):
        read(path)
    with pytest.raises(ValueError, match="two cases"):
        Suite("x", (Case("a", {}, 1), Case("a", {}, 2))).write(tmp_path)


def test_a_port_that_prints_no_case_is_one_failure_that_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Something that it needs is not installed: thousands of failed cases would hide that."""
    whole = Tally(dict.fromkeys(cases_of(COMMITTED), "pass"))
    tallies = {"Python": whole, "Kotlin": Tally()}
    monkeypatch.setattr(table, "run", lambda port, folder, bound: tallies[port])
    assert table.show({"committed": COMMITTED}, [], list(tallies)) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "Kotlin\tcommitted\tprinted no case"
