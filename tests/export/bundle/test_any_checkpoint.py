"""A user's own checkpoint, as Hugging Face saves it, through the whole exporter: every architecture, every
target, and a search with it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from PIL import Image
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from gamer.export.bundle import contents
from gamer.export.components import components
from gamer.export.errors import ExportError
from gamer.export.settings import Settings
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.errors import BundleError, RuntimeFailure
from gamer.runtime.indexing.build import build
from gamer.runtime.models.language.llm import ENDS, Request
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine
from tests.export import tiny, tiny_encoders
from tests.export.conftest import Export
from tests.paths import ROOT

pytestmark = pytest.mark.slow


def settings(name: str, folder: Path, quant: str = "int8", **sizes: int) -> Settings:
    source = str(tiny.TINY[name](folder / name, **sizes))
    if name in ("clip", "siglip"):
        return Settings("towers", quant, (("image", source), ("text", source)))
    return Settings("llm", quant, (("llm", source),))


@pytest.mark.parametrize("name", tiny.TINY)
def test_a_checkpoint_of_every_architecture_exports_to_onnx_and_passes_parity(
    name: str, tmp_path: Path, export: Export
) -> None:
    manifest = export(settings(name, tmp_path), tmp_path / "out")
    mf.check(tmp_path / "out", mf.read(tmp_path / "out"))
    assert all(a.parity.status == "passed" and a.quant == "int8" for a in manifest.artifacts)
    assert all(c.trained and c.source == f"local:{name}" for c in manifest.components)
    assert str(tmp_path) not in (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")
    if manifest.language is not None:
        models = Models.open(tmp_path / "out")
        ids = tuple(models.llm_tokenizer.encode("a red boat").ids)
        generated = models.language_model.generate(Request(ids, 4))
        assert generated.ended in ENDS
        assert generated.prompt_tokens == len(ids)


def test_the_lines_of_the_page_on_bundles_read_towers_of_fixed_length_as_the_engine_does(
    tmp_path: Path, export: Export
) -> None:
    export(settings("siglip", tmp_path), tmp_path / "out")
    models = Models.open(tmp_path / "out")
    assert models.session("text_tower").artifact.inputs[0].shape[1] == 48
    page = (ROOT / "docs" / "bundle.md").read_text(encoding="utf-8")
    (tmp_path / "lines.py").write_text(
        re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], encoding="utf-8"
    )
    photo, query = tmp_path / "wide.png", "a red boat " * 30
    pixels = np.random.default_rng(7).integers(0, 256, (40, 90, 3), np.uint8)
    Image.fromarray(pixels).save(photo)
    command = [sys.executable, "lines.py", "out", query, photo.name]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert printed.returncode == 0, printed.stderr
    score = float(printed.stdout.splitlines()[-1].split()[0])
    engine = models.text.encode_query(query) @ models.encode_image(pixels).embedding
    assert score == pytest.approx(float(engine), abs=0.002)


@pytest.mark.parametrize(("kind", "target"), [("xlm-roberta", "onnx"), ("modernbert", "coreml")])
def test_a_sentence_encoder_exports_and_passes_parity(
    kind: str, target: str, tmp_path: Path, export: Export
) -> None:
    source = str(tiny_encoders.TINY[kind](tmp_path / kind))
    manifest = export(Settings("sentence", "int8", (("text", source),)), tmp_path / "out", (target,))
    (artifact,) = manifest.artifacts
    assert artifact.role == "text_tower"
    assert artifact.parity.status == "passed"
    if target == "onnx":  # the runtime's own code gives the vectors that the fixtures hold
        row = json.loads((tmp_path / "out" / "fixtures" / "text.json").read_text())[0]
        assert Models.open(tmp_path / "out").text.encode([row["text"]])[0] @ row["embedding"] > 0.98


def test_words_that_an_encoder_expects_before_its_texts_are_in_the_manifest(tmp_path: Path) -> None:
    folder = tiny_encoders.bert(tmp_path / "bert")
    prompts = {"query": "query: ", "passage": "passage: ", "document": "", "clustering": "cluster: "}
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    settings = Settings("sentence", "int8", (("text", str(folder)),))
    assert contents.text_prompts(settings) == mf.TextPrompts("query: ", "passage: ")
    (line,) = contents.notes(settings)
    assert "('cluster: ')" in line
    assert "query: " not in line


def test_an_encoder_without_words_before_its_texts_has_none_in_the_manifest(tmp_path: Path) -> None:
    settings = Settings("sentence", "int8", (("text", str(tiny_encoders.bert(tmp_path / "bert"))),))
    assert contents.text_prompts(settings) is None
    assert contents.notes(settings) == ()


def test_an_encoder_of_lower_case_gets_its_texts_in_lower_case(tmp_path: Path) -> None:
    ids = []
    for name, lower in (("cased", False), ("lower", True)):
        folder = tiny_encoders.xlm_roberta(tmp_path / name)
        (folder / "sentence_bert_config.json").write_text(json.dumps({"do_lower_case": lower}))
        text = components.text_tokenizer(Settings("sentence", "int8", (("text", str(folder)),)))
        ids.append(Tokenizer.from_str(text).encode("A DOG On The Beach").ids)
    plain = Tokenizer.from_str(text).encode("a dog on the beach").ids
    assert ids[1] == plain != ids[0]


def test_a_tokenizer_that_the_phone_apps_do_not_have_is_named_in_a_note(tmp_path: Path) -> None:
    folder = tiny_encoders.xlm_roberta(tmp_path / "xlm-roberta")
    settings = Settings("sentence", "int8", (("text", str(folder)),))
    assert contents.notes(settings) == ()  # Unigram
    words = Tokenizer(WordLevel({"<unk>": 0, "dog": 1}, unk_token="<unk>"))
    words.save(str(folder / "tokenizer.json"))
    components.checkpoint.cache_clear()
    (line,) = contents.notes(settings)
    assert "WordLevel" in line
    assert "phone apps" in line


@pytest.mark.parametrize("target", ["executorch", "coreml"])
@pytest.mark.parametrize(("name", "sizes"), [("clip", {"layers": 1}), ("gemma3", {})])
def test_a_clip_and_a_language_model_export_to_executorch_and_coreml(
    name: str, sizes: dict[str, int], target: str, tmp_path: Path, export: Export
) -> None:
    manifest = export(settings(name, tmp_path, "int8", **sizes), tmp_path / "out", (target,))
    assert all(a.target == target and a.parity.minimum is not None for a in manifest.artifacts)


@pytest.mark.parametrize("quant", ["fp32", "fp16", "int4"])
def test_a_clip_exports_in_each_quantization(
    quant: str, tmp_path: Path, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gamer.export import recipe

    if quant == "int4":  # a row of 32 numbers is one block: a tower this small loses more than a real one
        monkeypatch.setitem(
            recipe.THRESHOLDS, "int4", {**recipe.THRESHOLDS["int4"], "image_tower": recipe.Threshold(0.9)}
        )
    manifest = export(settings("clip", tmp_path, quant), tmp_path / "out")
    assert {a.role: a.quant for a in manifest.artifacts} == {
        "image_tower": quant,
        "text_tower": "int8" if quant == "int4" else quant,
    }


def test_photos_are_indexed_and_searched_with_a_users_own_clip(tmp_path: Path, export: Export) -> None:
    export(settings("clip", tmp_path), tmp_path / "out")
    rng, photos = np.random.default_rng(0), tmp_path / "photos"
    photos.mkdir()
    for n in range(3):
        Image.fromarray(rng.integers(0, 255, (40 + n, 60, 3), np.uint8)).save(photos / f"{n}.png")
    models = Models.open(tmp_path / "out")
    assert models.labels == ()
    assert build(photos, models, tmp_path / "a.gamer").photos == 3
    engine = Engine.open(tmp_path / "out", tmp_path / "a.gamer")
    assert len(engine.search("a boat", k=3).hits) == 3
    with pytest.raises(BundleError, match="has no language model"):
        engine.search("a boat", refined_by="llm")


def test_random_weights_are_marked_and_refused_unless_they_are_allowed(
    tmp_path: Path, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gamer.export.checkpoints import catalogue as named

    small = json.loads((tiny.clip(tmp_path / "clip") / "config.json").read_text())
    monkeypatch.setattr(named, "config", lambda name: small)
    manifest = export(
        Settings("clip-vit-b32", "int8", (("image", "random:1"), ("text", "random:1"))), tmp_path / "out"
    )
    assert manifest.random_parts == ("image", "text")
    assert not any(c.trained for c in manifest.components)
    with pytest.raises(RuntimeFailure, match=r"random weights \(image, text\).*--allow-random"):
        Models.open(tmp_path / "out")
    assert Models.open(tmp_path / "out", allow_random=True).manifest == manifest


def test_weights_that_do_not_fit_the_config_are_refused_and_leave_no_output(
    tmp_path: Path, export: Export
) -> None:
    asked = settings("qwen2", tmp_path)
    config = tmp_path / "qwen2" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"intermediate_size": 128}))
    with pytest.raises(
        ExportError,
        match=r"local:qwen2: model\.layers\.0\.mlp\.\w+\.weight has shape .* config and weights disagree",
    ):
        export(asked, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_unknown_architecture_is_named_in_the_error(tmp_path: Path, export: Export) -> None:
    asked = settings("qwen2", tmp_path)
    config = tmp_path / "qwen2" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"model_type": "mamba"}))
    with pytest.raises(
        ExportError, match=r"'mamba' is not supported; supported are: .*; as text tower: bert, "
    ):
        export(asked, tmp_path / "out")
