"""The code blocks of bench/README.md are short and work as they are written there."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gamer.bench.cli.bench import bench
from gamer.bench.retrieval import methods
from gamer.bench.retrieval.baselines import Baseline
from tests.bench.retrieval.data_sets import write
from tests.paths import ROOT

README = ROOT / "bench" / "README.md"


def blocks(title: str) -> list[str]:
    """The Python blocks of a section."""
    section = README.read_text(encoding="utf-8").split(f"### {title}\n")[1].split("\n#")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


@pytest.mark.slow
def test_the_documented_baseline_can_be_added_and_measured(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, line = blocks("Add a baseline")
    assert len((code + line).splitlines()) < 30
    (tmp_path / "newest.py").write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(
        "gamer.bench.retrieval.baselines.newest", tmp_path / "newest.py"
    )
    assert spec is not None
    assert spec.loader is not None
    newest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(newest)
    entry = re.fullmatch(r'    "newest": Baseline\(newest\.rank, "(.*)"\),\n', line)
    assert entry is not None
    monkeypatch.setitem(methods.METHODS, "newest", Baseline(newest.rank, entry[1]))
    folder = write(tmp_path / "small")
    # The command's choices were read before the test added a method, so the function behind it is called.
    from gamer.bench.retrieval.quality import evaluate

    result, runs = evaluate(bundle, folder, ("ours", "newest"), "ours", 1, tmp_path / "cache", print)
    assert [row.method for row in result.methods] == ["ours", "newest"]
    assert result.methods[1].what == entry[1]
    assert (
        runs["newest"]["ann-q4"][0] == "ann7"
    )  # "boats in the harbour": two photos say harbour, and this is the newer one


@pytest.mark.slow
def test_the_documented_data_set_can_be_added_and_measured(bundle: Path, tmp_path: Path) -> None:
    (code,) = blocks("Add a data set")
    assert len(code.splitlines()) < 30
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=60)
    command = ["quality", str(tmp_path / "my-set"), "-b", str(bundle), "--output", str(tmp_path / "q.json")]
    done = CliRunner().invoke(bench, command)
    assert done.exit_code == 0, done.output
    result = json.loads((tmp_path / "q.json").read_text(encoding="utf-8"))
    assert result["dataset"] == "my-set"
    assert result["methods"][0]["scores"]["recall5"]["mean"] == 1.0
