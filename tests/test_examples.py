"""The scripts in examples/ do what their first lines say, run as a new user would run them."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gamer.runtime.backends import processor
from gamer.runtime.telemetry import OPT_OUT, load_onnxruntime
from tests.paths import GOLDEN, ROOT

EXAMPLES = ROOT / "examples"


def run(name: str, *arguments: str, cwd: Path) -> str:
    """What an example prints, in a new user's environment: an empty home, which stays empty of telemetry, and
    none of the switches that the tests set.
    """
    home = cwd / "home"
    home.mkdir(exist_ok=True)
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in OPT_OUT and not name.startswith("XDG_")
    }
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=600,
        env=inherited | {"HOME": str(home)},
    )
    assert done.returncode == 0, done.stderr
    assert not [path for path in home.rglob("*") if "onnxruntime" in path.name or "Microsoft" in path.name]
    return done.stdout


def imports(name: str) -> set[str]:
    tree = ast.parse((EXAMPLES / name).read_text(encoding="utf-8"))
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return modules | {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


@pytest.mark.slow
def test_the_export_example_indexes_a_folder_and_ranks_the_cat_first(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the export extra")
    from gamer.export.components import fixtures

    photos = tmp_path / "photos"
    photos.mkdir()
    for path in fixtures.paths()[:4]:
        shutil.copy(path, photos)
    printed = run("export_and_search.py", str(photos), "a cat", cwd=tmp_path)
    assert "index: 4 photos, 0 skipped" in printed
    hits = [line for line in printed.splitlines() if line[:1].isdigit()]
    assert len(hits) == 4
    assert "chelsea" in hits[0]


def test_the_page_on_bundles_holds_the_whole_example() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "bundle.md").read_text(), re.DOTALL)
    assert (EXAMPLES / "rank_without_gamer.py").read_text().endswith(f'"""\n\n{code}')


@pytest.mark.parametrize("name", ["rank_without_gamer.py", "bundle_without_gamer.py"])
@pytest.mark.parametrize("machine", ["x86_64", "AMD64", "aarch64", "arm64"])
@pytest.mark.parametrize("features", ["avx2", "avx2 avx_vnni", "avx512f avx512_vnni", None])
def test_an_examples_session_has_the_option_for_x86_where_the_engine_has_it(
    name: str, machine: str, features: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    (lines,) = re.findall(r"^ *options = .*?(?=^ *(?:towers|session) = )", text, re.DOTALL | re.MULTILINE)
    if features is not None:
        (tmp_path / "cpuinfo").write_text(f"flags : sse4_2 {features}\n", encoding="utf-8")
    monkeypatch.setattr(platform, "machine", lambda: machine)
    lines = textwrap.dedent(lines).replace("/proc/cpuinfo", str(tmp_path / "cpuinfo"))
    given: dict[str, Any] = {"onnxruntime": load_onnxruntime(), "platform": platform, "Path": Path}
    exec(lines, given)
    architecture = "x86_64" if machine.lower() in processor.X86 else machine
    vnni = ("vnni",) if "vnni" in (features or "") else ()
    engine = replace(processor.read(), architecture=architecture, features=vnni)
    try:
        value = given["options"].get_session_config_entry("session.x64quantprecision")
    except RuntimeError:  # it has no such entry
        value = "0"
    assert (value == "1") == engine.saturates


def test_the_page_on_bundles_shows_the_examples_that_the_mobile_suites_run() -> None:
    page = (ROOT / "docs" / "bundle.md").read_text(encoding="utf-8")
    for language, name, suite in (
        ("kotlin", "Rank.kt", "android_demo/core/test.sh"),
        ("swift", "Rank.swift", "ios_demo/PhotoCore/test.sh"),
    ):
        assert f'```{language}\n--8<-- "examples/{language}/{name}"\n```' in page
        assert f'examples/check.sh" {language}' in (ROOT / suite).read_text(encoding="utf-8")
    target = ROOT / "ios_demo" / "PhotoCore" / "Sources" / "rank-example" / "main.swift"
    assert target.resolve() == EXAMPLES / "swift" / "Rank.swift"


def test_the_bundle_example_pads_and_cuts_texts_for_a_tower_of_fixed_length(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="needs the export extra")
    ints, floats, shape = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT, [1, 6]
    inputs = [onnx.helper.make_tensor_value_info(n, ints, shape) for n in ("input_ids", "attention_mask")]
    nodes = [
        onnx.helper.make_node("Mul", ["input_ids", "attention_mask"], ["kept"]),
        onnx.helper.make_node("Cast", ["kept"], ["embedding"], to=floats),
    ]
    outputs = [onnx.helper.make_tensor_value_info("embedding", floats, shape)]
    graph = onnx.helper.make_graph(nodes, "tower", inputs, outputs)
    opsets = [onnx.helper.make_opsetid("", 20)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "tower.onnx")
    shutil.copy(GOLDEN / "conformance" / "tokenizers" / "wordpiece.json", tmp_path / "text_tokenizer.json")
    specs = [{"name": value.name, "shape": shape} for value in inputs]
    digest = hashlib.sha256((tmp_path / "tower.onnx").read_bytes()).hexdigest()
    tower = {"role": "text_tower", "target": "onnx", "path": "tower.onnx", "sha256": digest, "inputs": specs}
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": [tower]}), encoding="utf-8")
    printed = run("bundle_without_gamer.py", str(tmp_path), "a cat", "a cat", "a dog " * 50, cwd=tmp_path)
    same, other = (float(line.split()[0]) for line in printed.splitlines())
    assert same == 1 > other


@pytest.mark.slow
def test_the_bundle_example_compares_sentences_without_importing_gamer(bundle: Path, tmp_path: Path) -> None:
    assert not any(name.startswith("gamer") for name in imports("bundle_without_gamer.py"))
    printed = run(
        "bundle_without_gamer.py", str(bundle), "my cat", "a bowl of soup", "a cat on the sofa", cwd=tmp_path
    )
    soup, cat = (float(line.split()[0]) for line in printed.splitlines())
    assert cat > soup + 0.2


@pytest.mark.slow
def test_the_ranking_example_reproduces_the_golden_files_and_finds_the_cat_without_gamer(
    contract_bundle: Path, tmp_path: Path
) -> None:
    folder = Path(pytest.importorskip("skimage", reason="its photographs").__file__).parent / "data"
    name = "rank_without_gamer.py"
    assert imports(name) - sys.stdlib_module_names <= {
        "__future__",
        "numpy",
        "onnxruntime",
        "PIL",
        "tokenizers",
    }
    photos = [str(folder / photo) for photo in ("rocket.jpg", "chelsea.png", "coffee.png")]
    printed = run(name, str(contract_bundle), "a cat", *photos, cwd=tmp_path).splitlines()
    assert [line.split(",")[0] for line in printed[:2]] == [
        "image_tower: golden files reproduced",
        "text_tower: golden files reproduced",
    ]
    assert "chelsea" in printed[2]
    assert float(printed[2].split()[0]) > float(printed[3].split()[0]) + 0.2


@pytest.mark.slow
def test_the_ranking_example_notices_code_that_normalises_the_pixels_again(
    contract_bundle: Path, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.py"
    text = (EXAMPLES / "rank_without_gamer.py").read_text(encoding="utf-8")
    wrong.write_text(text.replace("pixels[None]", "(pixels[None] - 127) / 128"), encoding="utf-8")
    assert wrong.read_text(encoding="utf-8") != text
    done = subprocess.run(
        [sys.executable, str(wrong), str(contract_bundle), "a cat"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 1
    assert "image_tower: cosine" in done.stderr


@pytest.mark.slow
def test_the_album_example_searches_with_the_standard_library_alone(
    sample_album: Path, tmp_path: Path
) -> None:
    assert imports("album_with_sqlite.py") <= sys.stdlib_module_names | {"__future__"}
    printed = run("album_with_sqlite.py", str(sample_album), "espresso", cwd=tmp_path)
    assert printed.startswith("coffee: 2026-")
