"""The `genai` layout: ONNX Runtime GenAI generates from it what the bundle's own runtime generates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")

from gamer.export.errors import ExportError
from gamer.export.onnx import genai
from gamer.export.settings import Settings
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle import packed
from gamer.runtime.models.language.llm import Request
from gamer.runtime.models.models import Models
from tests.export import tiny
from tests.export.conftest import Export

PROMPTS = ("a cat on the sofa", "photo of", "the dog at the lake in summer, twice")


def exported(
    export: Export,
    family: str,
    folder: Path,
    quant: str = "fp32",
    layout: tuple[str, ...] = ("genai",),
    cache: str = "fp32",
) -> Path:
    source = tiny.TINY[family](folder / family)
    settings = Settings("llm", quant, sources=(("llm", str(source)),), layout=layout, kv_cache=cache)
    export(settings, folder / "out")
    return folder / "out"


def theirs(folder: Path, ids: list[int], slots: int) -> list[int]:
    """The greedy tokens of ONNX Runtime GenAI, in a cache of `slots`."""
    og = pytest.importorskip("onnxruntime_genai", reason="needs the dev extra")
    model = og.Model(str(folder))
    parameters = og.GeneratorParams(model)
    parameters.set_search_options(max_length=slots, do_sample=False)
    generator = og.Generator(model, parameters)
    generator.append_tokens(ids)
    out: list[int] = []
    while not generator.is_done():
        generator.generate_next_token()
        out.append(int(generator.get_next_tokens()[0]))
    return out


def ours(bundle: Path, ids: list[int], slots: int) -> list[int]:
    """The greedy tokens of the bundle's own runtime, one at a time, in as many slots."""
    model = Models.open(bundle, threads=1).language_model
    return list(model.generate(Request(tuple(ids), slots - len(ids), plain=True)).ids)


@pytest.mark.parametrize(
    ("family", "quant", "cache"),
    [
        ("qwen2", "int4", "fp32"),
        ("qwen2", "int8", "int8"),
        ("qwen2", "int8", "fp16"),
        ("gemma3", "int8", "fp32"),
        ("gpt2", "fp32", "fp32"),
    ],
)
def test_each_family_generates_what_our_runtime_generates(
    export: Export, tmp_path: Path, family: str, quant: str, cache: str
) -> None:
    out = exported(export, family, tmp_path, quant, cache=cache)
    tokenizer = Models.open(out).llm_tokenizer
    for text in PROMPTS:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        got = theirs(out / "genai", ids, len(ids) + 8)
        assert len(got) == 8
        assert got == ours(out, ids, len(ids) + 8)


@pytest.mark.slow
def test_pocket_s_model_answers_in_genai_as_here(bundle: Path, tmp_path: Path) -> None:
    """Also with fewer slots than the bundle has, and text becomes the same tokens."""
    og = pytest.importorskip("onnxruntime_genai", reason="needs the dev extra")
    manifest, models = mf.read(bundle), Models.open(bundle, threads=1)
    (tmp_path / "onnx").mkdir()
    for role in ("llm_embed", "llm_decoder"):
        artifact = manifest.artifact(role, "onnx")
        (tmp_path / artifact.path).symlink_to(bundle / artifact.path)
    text = (bundle / "llm_tokenizer.json").read_text(encoding="utf-8")
    genai.write(tmp_path, manifest.artifacts, manifest.decoder(), text, None)
    tokenizer = og.Tokenizer(og.Model(str(tmp_path / "genai")))
    ends = manifest.decoder().eos_ids
    for asked in ("What is the capital of France?", "Name three colours.", "Où est le château? 東京 🙂"):
        prompt = f"<|im_start|>user\n{asked}<|im_end|>\n<|im_start|>assistant\n"
        ids = models.llm_tokenizer.encode(prompt, add_special_tokens=False).ids
        assert tokenizer.encode(prompt).tolist() == ids
        got = theirs(tmp_path / "genai", ids, len(ids) + 24)
        assert [token for token in got if token not in ends] == ours(bundle, ids, len(ids) + 24)


def test_genai_is_told_the_tokens_that_end_an_answer(export: Export, tmp_path: Path) -> None:
    out = exported(export, "qwen2", tmp_path)
    config = json.loads((out / genai.CONFIG).read_text(encoding="utf-8"))
    assert config["model"]["eos_token_id"] == list(mf.read(out).decoder().eos_ids)


def test_a_bundle_gets_the_layout_later_and_keeps_it(export: Export, tmp_path: Path) -> None:
    out = exported(export, "qwen2", tmp_path, layout=())
    assert not (out / "genai").exists()
    before = (out / "onnx/llm_decoder.onnx").read_bytes()
    settings = Settings("llm", "fp32", sources=(("llm", str(tmp_path / "qwen2")),))
    export(Settings(**{**vars(settings), "layout": ("genai",)}), out)
    manifest = export(settings, out)
    assert manifest.has_file(genai.CONFIG)
    assert (out / "onnx/llm_decoder.onnx").read_bytes() == before
    mf.check(out, manifest)


def test_a_bundle_is_packed_for_the_apps_without_the_copy_that_they_do_not_read(
    export: Export, tmp_path: Path
) -> None:
    manifest = mf.read(exported(export, "qwen2", tmp_path))
    left = packed.chosen(manifest, (), ()).files
    assert any(f.path.startswith("genai/") for f in manifest.files)
    assert left
    assert not any(f.path.startswith("genai/") for f in left)


@pytest.mark.parametrize(
    ("family", "changed", "says"),
    [("t5", {}, "is for decoders"), ("qwen2", {"onnx_format": "ort"}, "leave --onnx-format out")],
)
def test_what_cannot_be_laid_out_is_refused_before_anything_is_written(
    export: Export, tmp_path: Path, family: str, changed: dict[str, Any], says: str
) -> None:
    source = tiny.TINY[family](tmp_path / family)
    settings = Settings("llm", "fp32", sources=(("llm", str(source)),), layout=("genai",), **changed)
    with pytest.raises(ExportError, match=says):
        export(settings, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out.partial").exists()
