"""The `runner` layout: ExecuTorch's own LLM runner says what the bundle's own runtime says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("executorch", reason="needs the export extra")

import torch
from executorch.runtime import Runtime

from gamer.export.errors import ExportError
from gamer.export.executorch import runner
from gamer.export.settings import Settings
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle import packed
from gamer.runtime.models.language.llm import Request
from gamer.runtime.models.models import Models
from tests.export import tiny
from tests.export.conftest import Export

SLOTS = 128
# In a process of its own, because it prints.
STOCK = """
import json, sys
from executorch.extension.llm.runner import GenerationConfig, TextLLMRunner
folder, prompt, new = sys.argv[1], sys.argv[2], int(sys.argv[3])
theirs, said = TextLLMRunner(f"{folder}/model.pte", f"{folder}/tokenizer.json"), []
config = GenerationConfig(echo=False, max_new_tokens=new, temperature=0.0)
for _ in range(2):
    theirs.generate(prompt, config, said.append)
    theirs.reset()
print("said " + json.dumps(said))
"""


@pytest.fixture(scope="module")
def exported(
    shared_export: Export, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], tuple[Path, Settings]]:
    """The bundle of a family in a quantization with the layout, and what it was exported with."""

    @cache
    def make(family: str, quant: str) -> tuple[Path, Settings]:
        folder = tmp_path_factory.mktemp(family)
        source = tiny.TINY[family](folder / family)
        settings = Settings("llm", quant, sources=(("llm", str(source)),), layout=("runner",), max_seq=SLOTS)
        shared_export(settings, folder / "out", ("executorch",))
        return folder / "out", settings

    return make


def loop(program: Path, ids: list[int], new: int) -> list[int]:
    """The greedy tokens of the runner's loop: one token and its position at a time."""
    loaded = Runtime.get().load_program(str(program))
    forward = loaded.load_method("forward")
    assert forward is not None
    out: list[int] = []
    for position in range(len(ids) + new - 1):
        token = [*ids, *out][position]
        logits = forward.execute([torch.tensor([[token]]), torch.tensor([position])])
        if position >= len(ids) - 1:
            out.append(int(logits[0].argmax()))
    return out


@pytest.mark.parametrize(("family", "quant"), [("qwen2", "int4"), ("gemma3", "int8"), ("gpt2", "fp32")])
def test_the_runner_s_loop_gives_our_tokens(
    exported: Callable[[str, str], tuple[Path, Settings]], family: str, quant: str
) -> None:
    out, _ = exported(family, quant)
    models = Models.open(out, "executorch")
    for text in ("a cat on the sofa", "photo of"):
        ids = models.llm_tokenizer.encode(text, add_special_tokens=False).ids
        want = models.language_model.generate(Request(tuple(ids), 8, plain=True))
        got = loop(out / runner.PROGRAM, ids, 8)
        assert want.ids == tuple(got[: len(want.ids)])
        assert len(want.ids) > 2


def test_the_stock_runner_reads_the_program_and_says_our_text(
    exported: Callable[[str, str], tuple[Path, Settings]],
) -> None:
    """Twice, because it forgets a text by going back to position 0, and leaves the cache as it is."""
    import json

    out, _ = exported("gemma3", "int8")
    manifest, program = mf.read(out), Runtime.get().load_program(str(out / runner.PROGRAM))
    constants = {
        name: method.execute([])
        for name in program.method_names - {"forward"}
        if (method := program.load_method(name)) is not None
    }
    assert constants == {
        "get_max_seq_len": [SLOTS],
        "get_max_context_len": [SLOTS],
        "get_vocab_size": [tiny.VOCAB],
        "get_bos_id": [2],
        "get_eos_ids": list(manifest.decoder().eos_ids),
        "use_kv_cache": [True],
        "use_sdpa_with_kv_cache": [False],
        "enable_dynamic_shape": [False],
    }
    run = subprocess.run(
        [sys.executable, "-c", STOCK, str(out / mf.RUNNER), "a cat on the sofa", "8"],
        capture_output=True,
        text=True,
        errors="replace",
    )
    said = json.loads(next(line for line in run.stdout.splitlines() if line.startswith("said "))[5:])
    models = Models.open(out, "executorch")
    ids = models.llm_tokenizer.encode("a cat on the sofa", add_special_tokens=False).ids
    tokens = loop(out / runner.PROGRAM, ids, 8)
    want = [models.llm_tokenizer.decode([token]) for token in tokens]
    assert len(said) == 16
    assert said[:8] == said[8:]
    assert [a for a, b in zip(said, want, strict=False) if b.isascii()] == [b for b in want if b.isascii()]


def test_a_bundle_has_both_layouts_and_is_packed_without_them(
    exported: Callable[[str, str], tuple[Path, Settings]], export: Export, tmp_path: Path
) -> None:
    before, settings = exported("qwen2", "int4")
    out = shutil.copytree(before, tmp_path / "out")
    manifest = export(replace(settings, layout=("genai",)), out, ("onnx",))
    folders = {Path(file.path).parts[0] for file in manifest.files}
    assert {"genai", "runner"} <= folders
    assert not {"genai", "runner"} & {Path(f.path).parts[0] for f in packed.chosen(manifest, (), ()).files}
    mf.check(out, manifest)


@pytest.mark.parametrize(
    ("family", "changed", "targets", "says"),
    [
        ("t5", {}, ("executorch",), "is for decoders"),
        ("qwen2", {}, ("onnx",), "executorch into --targets"),
        ("qwen2", {"executorch_backend": "coreml"}, ("executorch",), "leave --executorch-backend out"),
    ],
)
def test_what_the_runner_cannot_run_is_refused_before_anything_is_written(
    export: Export, tmp_path: Path, family: str, changed: dict[str, Any], targets: tuple[str, ...], says: str
) -> None:
    source = tiny.TINY[family](tmp_path / family)
    settings = Settings("llm", "fp32", sources=(("llm", str(source)),), layout=("runner",), **changed)
    with pytest.raises(ExportError, match=says):
        export(settings, tmp_path / "out", targets)
    assert not list(tmp_path.glob("out*"))
