"""`gamer bench study`: the list, settings, what a study takes, old names, staleness, and results in parts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from gamer.bench.cli.bench import bench
from gamer.bench.cli.old_names import renamed
from gamer.bench.retrieval.withheld import Settings
from gamer.bench.study import figures, settings, staleness
from gamer.bench.study.declaration import Study
from gamer.bench.study.studies import COMMANDS, STUDIES
from tests.bench.retrieval import data_sets
from tests.paths import ROOT


def run(*words: object) -> Result:
    return CliRunner().invoke(bench, [str(word) for word in words])


def git(folder: Path, *words: str) -> str:
    names = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", *names, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_list_names_every_study_its_result_and_its_state() -> None:
    rows = json.loads(run("study", "--json").output)
    assert [row["study"] for row in rows] == list(STUDIES)
    (withheld,) = [row for row in rows if row["study"] == "withheld"]
    assert withheld["result"] == "withheld.json"
    assert withheld["takes"] == "DATA or more; -b BUNDLE"
    assert {row["beside the code"] for row in rows} <= {"current", "older", "unknown", "none"}


@pytest.mark.parametrize("study", STUDIES.values(), ids=list(STUDIES))
def test_a_study_is_declared_in_full(study: Study) -> None:
    """Its module is there, its settings can be listed, and the paths that it measures exist."""
    assert all((ROOT / path).exists() for path in study.measures), study.measures
    for one in settings.of(study.work().settings).values():
        assert one.about.what
    assert run("study", study.name, "--set", "help").output.startswith("### Settings")


def test_every_committed_result_says_how_it_is_made_and_what_it_measures() -> None:
    committed = {path.name for path in staleness.RESULTS.glob("*.json")}
    assert committed == {*figures.FIGURES, *figures.ELSEWHERE}
    for file in figures.FIGURES:
        assert figures.measured(file), file
    assert all((ROOT / path).exists() for paths in COMMANDS.values() for path in paths)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing",), "no study 'nothing'; choose one of: ablation, adapter, agent"),
        (("replay",), "replay: -b BUNDLE is wanted, 0 given"),
        (("questions", "-b", "x"), "questions: -b BUNDLE is not taken, 1 given"),
        (("events", "a", "b", "-b", "x"), "events: DATA is wanted, 2 given"),
        (("delta", "a", "-b", "x", "--set", "quries=1"), "no setting 'quries=1': give KEY=VALUE, of queries"),
        (("delta", "a", "-b", "x", "--set", "queries"), "no setting 'queries'"),
        (
            ("delta", "a", "-b", "x", "--set", "queries=ten"),
            "queries=ten: must be a whole number of 1 or more",
        ),
        (("delta", "a", "-b", "x", "--set", "queries=0"), "must be a whole number of 1 or more"),
        (("ann", "--set", "dim=5000"), "dim=5000: must be a whole number from 8 to 4096"),
        (("withheld", "a", "-b", "x", "--set", "since=May"), "since=May: must be a day such as 2024-05-31"),
        (("memory", "-b", "x", "--set", "decider=dice"), "decider=dice: must be one of rules, llm"),
        (("questions", "--set", "families=yes"), "families=yes: must be true or false"),
        (("update", "-a", "x"), "needs --set recipe=VALUE, the recipe of the checkpoint"),
    ],
)
def test_what_a_study_does_not_take_is_one_line_and_exit_2(words: tuple[str, ...], message: str) -> None:
    done = run("study", *words)
    assert done.exit_code == 2
    assert message in done.output


def test_settings_are_read_by_their_types_and_named_without_folders(tmp_path: Path) -> None:
    kind = STUDIES["alpha"].work().settings
    given = [f"base={tmp_path}/base", "queries=q.jsonl", "recipe=pocket", "alpha=0.3, 0.5", "rate=1e-3"]
    read = settings.read(kind, given)
    assert (read.alpha, read.rate, read.base) == ((0.3, 0.5), 0.001, tmp_path / "base")
    shown = settings.differing(read)
    assert "alpha=0.3,0.5" in shown
    assert "base=base" in shown
    assert str(tmp_path) not in " ".join(shown)
    assert settings.read(kind, given, quick=True).epochs == 1
    assert read.epochs == 20
    assert settings.read(kind, [*given, "epochs=3"], quick=True).epochs == 3
    assert settings.differing(settings.read(Settings, ["since=2024-05-31"])) == ["since=2024-05-31"]


def test_a_study_runs_prints_a_table_and_writes_what_every_result_carries(tmp_path: Path) -> None:
    done = run("study", "questions", "-o", tmp_path / "q.json")
    assert done.exit_code == 0
    assert done.stdout.startswith("### Questions by author")
    result = json.loads((tmp_path / "q.json").read_text())
    assert list(result)[:2] == ["machine", "command"]
    assert list(result)[-1] == "when"
    assert result["command"] == "gamer bench study questions"
    assert result["machine"]["cores"] >= 1
    assert "### Questions by family" in run("study", "questions", "--set", "families=true").output


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("withheld a -b x --since 2024-01-01", "study withheld -b x a --set since=2024-01-01"),
        ("questions --families --json", "study questions --json --set families=true"),
        ("index -b x -r 1 --photos 100,200", "study index -b x --set repetitions=1 --set photos=100,200"),
        ("agent --data d --mind rules --mind llm -b x", "study agent -b x d --set mind=rules,llm"),
        ("exports a b -o f", "study exports -b a -b b -o f"),
        ("llm-tasks a --data d --data=e", "study llm-tasks -b a d e"),
        ("llm -b x --no-quality --gguf g", "study llm -b x --set quality=false --set gguf=g"),
        ("memory -b x --data d --fit", "study memory-fit -b x d"),
        ("page -b x --keep k", "study page -b x --cache k"),
        ("fleet d --results r -m ours -b x", "study fleet --cache r -b x d --set method=ours"),
        ("update pocket -a a --work w", "study update -a a --cache w --set recipe=pocket"),
        ("table a b", "report a b"),
        ("paper --results r", "report r"),
        ("nonsense a", ""),
    ],
)  # fmt: skip
def test_an_old_name_means_what_it_meant(old: str, new: str) -> None:
    name, *args = old.split()
    assert " ".join(renamed(name, args)) == new


def test_an_old_name_runs_with_a_hint() -> None:
    done = run("questions", "--families")
    assert done.exit_code == 0
    assert "### Questions by family" in done.stdout
    hint = "gamer bench questions is now: gamer bench study questions --set families=true"
    assert done.stderr.splitlines()[0] == hint
    assert run("question").exit_code == 2


def test_a_result_is_older_once_what_it_measures_has_changed(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for name in ("measured", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    result = tmp_path / "result.json"
    result.write_text(
        json.dumps({"machine": {"build_commit": git(tmp_path, "rev-parse", "--short", "HEAD")}})
    )

    def state() -> str:
        return staleness.state(result, ("measured",), tmp_path)

    assert state() == staleness.CURRENT
    for name, expected in (("other", staleness.CURRENT), ("measured", staleness.OLDER)):
        (tmp_path / name / "a.py").write_text("2")
        git(tmp_path, "commit", "-qam", name)
        assert state() == expected
    result.write_text(json.dumps({"machine": {"build_commit": "0000000"}}))
    assert state() == staleness.UNKNOWN
    result.write_text("{}")
    assert state() == staleness.UNKNOWN
    assert staleness.state(tmp_path / "none.json", ("measured",), tmp_path) == staleness.ABSENT
    assert staleness.worst((staleness.CURRENT, staleness.UNKNOWN)) == staleness.UNKNOWN


def test_results_are_made_in_parts_and_those_of_this_commit_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {
        "a.json": "study questions",
        "b.json": "study replay -b {bundle}",
        "c.json": "study replay -b none",
        "d.json": "tools.phone_search --help",
    }
    monkeypatch.setattr(figures, "FIGURES", words)
    first = run("study", "--all", "-o", tmp_path)
    assert first.exit_code == 1
    assert "2 results were not made" in first.stderr
    assert "a.json: made" in first.stdout
    assert "b.json: left out: give bundle" in first.stdout
    assert "c.json: gamer bench study replay: none" in first.stdout
    assert "d.json: made" in first.stdout
    commit = staleness.commit_of(tmp_path / "a.json")
    parts = figures.all_parts({}, tmp_path, lambda file: None, commit)
    assert next(iter(parts)) == figures.Part("a.json", "current")


def test_the_documented_study_can_be_declared_and_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    page = whole[whole.index("### A study") : whole.index("## What there is to read")]
    code, entry = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (command,) = re.findall(r"`gamer bench (study words .*?) -o", page)
    words = ModuleType("gamer.bench.words")
    monkeypatch.setitem(sys.modules, "gamer.bench.words", words)
    exec(code, vars(words))
    (declared,) = eval(entry.strip(), {"Study": Study})
    monkeypatch.setitem(STUDIES, "words", declared)
    monkeypatch.chdir(data_sets.write(tmp_path / "lihua").parent)
    done = run(*command.split(), "-o", "words.json")
    assert done.exit_code == 0, done.output
    result = json.loads(Path("words.json").read_text())
    assert set(result["users"]) == {"ann", "bob"}
    assert result["command"] == "gamer bench study words lihua --set least=3"
