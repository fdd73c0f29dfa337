"""The README is short, its snippet runs, and the files that it links to exist; the documentation builds and
loads nothing from other hosts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from gamer.index import Album
from tests.paths import ROOT

PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
README = PAGES[0].read_text(encoding="utf-8")


def test_the_readme_has_at_most_150_lines() -> None:
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("page", [*PAGES, *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name)
def test_every_file_that_a_page_links_to_exists(page: Path) -> None:
    generated = {"benchmarks.md"}
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert target in generated or (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "docs" / "bundle.md"], ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = r"`((?:index|runtime|export|bench|tests|tools|src|android_demo|ios_demo)/[\w/.-]+\.\w+)"
    for path in re.findall(named, page.read_text(encoding="utf-8")):
        assert (ROOT / path).exists(), f"{page.name}: {path}"


@pytest.mark.slow
def test_the_python_in_the_readme_runs_and_finds_the_cat(
    bundle: Path, sample_album: Path, tmp_path: Path
) -> None:
    album, pictures = Path(shutil.copy(sample_album, tmp_path)), tmp_path / "Pictures"
    pictures.mkdir()
    Image.new("RGB", (64, 48), "red").save(pictures / "red.png")
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(code.splitlines()) <= 11
    code = code.replace("out/album.gamer", str(album))
    names = os.environ | {"GAMER_BUNDLE": str(bundle), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=names
    )
    assert done.returncode == 0, done.stderr
    assert "chelsea" in done.stdout.splitlines()[1]
    with Album.open(album) as grown, Album.open(sample_album) as before:
        assert len(grown) == len(before) + 1


@pytest.mark.slow
def test_the_python_in_the_page_on_text_runs(chat_bundle: Path) -> None:
    page = (ROOT / "docs" / "generate.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code.replace("out/smol", str(chat_bundle))],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"(end|stop|length) [1-9]\d* [1-9]\d*\n$", done.stdout), done.stdout


@pytest.mark.slow
def test_the_documentation_builds_and_its_pages_load_nothing_from_other_hosts(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="needs the docs extra")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    loads = re.compile(
        r"<(?:script|img|link|iframe)[^>]*(?:src|href)=\"(?:https?:)?//(?!127)[^\"]*", re.IGNORECASE
    )
    for page in (tmp_path / "site").rglob("*.html"):
        foreign = [
            tag for tag in loads.findall(page.read_text(encoding="utf-8")) if 'rel="canonical"' not in tag
        ]
        assert foreign == [], page
    for sheet in (tmp_path / "site").rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_the_benchmarks_page_shows_our_recall_and_names_its_result_files() -> None:
    pytest.importorskip("mkdocs", reason="needs the docs extra")
    from tools.docs import benchmarks

    page = benchmarks.page()
    quality = json.loads((benchmarks.RESULTS / "quality-baselines-lihua.json").read_text())
    ours = next(row for row in quality["methods"] if row["method"] == "ours")
    (row,) = re.findall(r"^\| ours  .*$", page.partition("### lihua: ")[2].partition("###")[0], re.M)
    assert f"| {ours['scores']['recall5']['mean']:.3f} |" in row
    for section in benchmarks.SECTIONS:
        assert f"## {section.title}\n" in page
        for name in section.files:
            assert f"`bench/results/{name}`" in page
            assert benchmarks.drawn(name)


def test_the_readmes_figures_are_those_of_the_result_files() -> None:
    results = ROOT / "bench" / "results"

    def load(name: str) -> Any:
        return json.loads((results / name).read_text())

    means = [row["scores"]["recall5"]["mean"] for row in load("quality-baselines-lihua.json")["methods"]]
    assert f"{means[0]:.3f}, {max(means[1:]):.3f}" in README
    search = next(row for row in load("latency-pocket.json")["rows"] if row["layer"] == "search")
    assert f"{search['p50_ns'] / 1e6:.1f} ms" in README
    assert f"{load('index.json')['sizes'][-1]['search_encoding']['p95_ms']:.0f} ms" in README
    wanted = ("clip-vit-l14", "image_tower", "onnx")
    rows = load("exports-full-size.json")["rows"]
    clip = next(row for row in rows if (row["recipe"], row["role"], row["target"]) == wanted)
    assert f"{clip['share_of_fp32']:.0%}, {clip['cosine']:.4f}".replace("%", " %") in README
    kinds = load("processors.json")["rows"].values()
    assert f"{min(kind['components']['image_tower']['cosine'] for kind in kinds):.4f}" in README


def test_the_readme_says_of_which_pictures_its_figure_of_the_image_encoder_is() -> None:
    """The manifest's figure is of other pictures, and lower: neither is given without its pictures."""
    fixtures = pytest.importorskip("gamer.export.components.fixtures", reason="needs the export extra")
    (row,) = re.findall(r"\| (`pocket`'s image encoder in 8 bits, .*) \|", README)
    assert "the self-check's inputs on six kinds of processor" in row
    assert f"(the manifest's figure is of {len(fixtures.paths())} photographs)" in row
    assert len(json.loads((ROOT / "bench/results/processors.json").read_text())["rows"]) == 6


def test_the_worked_examples_of_contributing_stand_in_the_code() -> None:
    """But for the study, which is made up, and which the tests of the driver run."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    begin = page.index("### A field")
    blocks = re.findall(
        r"```(?:python|json|text)\n(.*?)```", page[begin : page.index("### A study")], re.DOTALL
    )
    files = (
        "index/fields.py",
        "export/recipe.py",
        "export/checkpoints/catalogue.py",
        "runtime/cues/cue_rules.json",
        "tests/runtime/cues/test_parse.py",
    )
    code = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in files)
    assert len(blocks) == 6
    for line in "".join(blocks).splitlines():
        assert line.strip().rstrip(",") in code, line
