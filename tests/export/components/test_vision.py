"""Vision-language models: what a picture becomes, and what is answered about it, beside transformers."""

from __future__ import annotations

import importlib.util
import json
import shutil
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="needs the export extra")
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file

from gamer.export.bundle.templates import derive
from gamer.export.checkpoints.chat_template import PICTURE, ChatTemplate
from gamer.export.checkpoints.checkpoint import open_checkpoint
from gamer.export.checkpoints.preprocessing import picture_preprocessing
from gamer.export.components import decoders, towers
from gamer.export.errors import ExportError
from gamer.export.planning import limits, plan
from gamer.export.settings import Settings
from gamer.main import main
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.errors import BundleError
from gamer.runtime.models import selfcheck
from gamer.runtime.models.image import prepare
from gamer.runtime.models.language.chat import Chat, Message, Wish
from gamer.runtime.models.models import Models
from tests.export import tiny
from tests.export.conftest import Export

KINDS = ("SmolVLM", "Idefics3")
QUESTION, NEW, END = "What is on the table?", 24, 258
PACKAGES = {"executorch": "executorch", "coreml": "coremltools"}


def photo(width: int = 83, height: int = 50) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.random.default_rng(width).integers(0, 256, (height, width, 3)).astype(np.uint8)


def processed(kind: str, folder: Path, pixels: Any) -> Any:
    """What transformers makes of a picture without tiles."""
    processor = getattr(transformers, f"{kind}ImageProcessorPil").from_pretrained(
        folder, do_image_splitting=False
    )
    return processor([Image.fromarray(pixels)], return_tensors="pt")


def model_of(kind: str, folder: Path) -> Any:
    return getattr(transformers, f"{kind}ForConditionalGeneration").from_pretrained(folder).eval()


@pytest.mark.parametrize("size", [(83, 50), (50, 83), (36, 36), (700, 2), (9, 400), (144, 97)])
def test_pixels_are_prepared_as_by_transformers(size: tuple[int, int], tmp_path: Path) -> None:
    folder = tiny.smolvlm(tmp_path)
    opened, pixels = open_checkpoint(None, str(folder)), photo(*size)
    want = processed("SmolVLM", folder, pixels)["pixel_values"][0, 0].permute(1, 2, 0).numpy()
    prepared = prepare(pixels, picture_preprocessing(opened.config, opened.processor))[0]
    assert np.abs((prepared / 255 - 0.5) / 0.5 - want).max() < 1e-6


# Of 38 patches a side, rounding gives one its neighbour's position; of 18 none.
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", [36, 76])
def test_a_picture_becomes_the_rows_that_transformers_computes(kind: str, side: int, tmp_path: Path) -> None:
    folder = tiny.smolvlm(tmp_path, kind, side=side, patch=2)
    opened, given = open_checkpoint(None, str(folder)), processed(kind, folder, photo())
    item = towers.picture_reader(opened.config, opened.weights, opened.processor)
    spec = picture_preprocessing(opened.config, opened.processor)
    with torch.no_grad():
        got = item.module(torch.from_numpy(prepare(photo(), spec)))[0]
        seen = model_of(kind, folder).model.get_image_features(
            given["pixel_values"], given["pixel_attention_mask"]
        )
    want = seen.pooler_output[0]
    assert got.shape == want.shape == tuple(item.outputs[0].shape[1:])
    assert float((got - want).abs().max()) < 1e-5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.smolvlm(tmp_path_factory.mktemp("smolvlm"))


def prompted(folder: Path, *parts: dict[str, str]) -> tuple[Any, str]:
    """(tokenizer, prompt) of a user's turn by transformers."""
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    template = json.loads((folder / "chat_template.json").read_text())["chat_template"]
    said = [{"role": "user", "content": [*parts, {"type": "text", "text": QUESTION}]}]
    return tokenizer, tokenizer.apply_chat_template(
        said, chat_template=template, add_generation_prompt=True, tokenize=False
    )


def asked(kind: str, folder: Path, pixels: Any) -> tuple[list[int], list[int]]:
    """(the prompt's tokens, the likeliest tokens after it) by transformers."""
    tokenizer, prompt = prompted(folder, {"type": "image"})
    given, model = processed(kind, folder, pixels), model_of(kind, folder)
    rows = len(
        model.model.get_image_features(given["pixel_values"], given["pixel_attention_mask"]).pooler_output[0]
    )
    # Idefics3Processor and SmolVLMProcessor for one view, which need torchvision here.
    shown = f"<fake_token_around_image><global-img>{'<image>' * rows}<fake_token_around_image>"
    ids = tokenizer(prompt.replace("<image>", shown), return_tensors="pt")["input_ids"]
    answer = model.generate(
        input_ids=ids, attention_mask=torch.ones_like(ids), **given, max_new_tokens=NEW, do_sample=False
    )
    return ids[0].tolist(), answer[0, ids.shape[1] :].tolist()


def generated(bundle: Path, backend: str, pixels: Any) -> tuple[list[int], list[int]]:
    """(the prompt's tokens, with <image> where the picture stands; the answer's) by the runtime."""
    chat = Chat(Models.open(bundle, backend))
    shown = chat.shown([Message("user", QUESTION)], pixels)
    assert shown.soft is not None
    done = chat.generate(shown, Wish(max_new=NEW))
    marks = [chat.raw("<image>")[0]] * len(shown.soft)
    return [*shown.ids[: shown.at], *marks, *shown.ids[shown.at :]], list(done.ids)


def exported(folder: Path, out: Path, export: Export, targets: tuple[str, ...] = ("onnx",)) -> Any:
    return export(Settings("llm", "fp32", (("llm", str(folder)),)), out, targets)


@pytest.mark.parametrize("kind", KINDS)
def test_an_exported_model_answers_about_a_picture_as_transformers_does(
    kind: str, export: Export, tmp_path: Path
) -> None:
    folder, out = tiny.smolvlm(tmp_path / kind, kind), tmp_path / "out"
    manifest = exported(folder, out, export)
    assert "no tiles" in manifest.component(mf.VISION).architecture
    answers = set()
    for pixels in (photo(), photo(30, 90)):
        ids, answer = asked(kind, folder, pixels)
        assert generated(out, "onnx", pixels) == (ids, [token for token in answer if token != END])
        answers.add(tuple(answer))
    assert len(answers) == 2  # the picture decides
    models = Models.open(out)
    golden = {name: np.load(out / file.path) for name, file in manifest.golden(mf.VISION).items()}
    session = models.session(mf.VISION)
    assert selfcheck.worst_cosine(session, mf.VISION, golden, manifest, bundle=out) > 0.9999
    tokenizer, prompt = prompted(folder)
    assert list(Chat(models).ids([Message("user", QUESTION)])) == tokenizer(prompt)["input_ids"]


@pytest.mark.slow  # ExecuTorch and Core ML lower three components each
def test_the_other_targets_answer_alike(export: Export, tmp_path: Path) -> None:
    targets = tuple(t for t in ("executorch", "coreml") if importlib.util.find_spec(PACKAGES[t]))
    if not targets:
        pytest.skip("needs executorch or coremltools: the export extra")
    folder, out = tiny.smolvlm(tmp_path / "tiny", layers=1), tmp_path / "out"
    manifest = exported(folder, out, export, targets)
    assert all(manifest.artifact(mf.VISION, t).parity.minimum >= 0.9999 for t in targets)
    if "executorch" in targets:
        assert generated(out, "executorch", photo()) == asked("SmolVLM", folder, photo())


def test_the_command_answers_about_a_file(export: Export, tmp_path: Path) -> None:
    folder, out = tiny.smolvlm(tmp_path / "tiny"), tmp_path / "out"
    manifest = exported(folder, out, export)
    Image.fromarray(photo()).save(tmp_path / "photo.png")
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8 no picture")
    huge = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 90_000, 90_000, 8, 2, 0, 0, 0))
    (tmp_path / "huge.png").write_bytes(huge)

    def run(*more: str) -> Any:
        return CliRunner().invoke(
            main, ["generate", str(out), QUESTION, "--json", "--max-new", str(NEW), *more]
        )

    done = run("--image", str(tmp_path / "photo.png"))
    assert done.exit_code == 0, done.output
    tokens = asked("SmolVLM", folder, photo())
    assert json.loads(done.stdout)["new_tokens"] == len(tokens[1])
    assert json.loads(done.stdout)["prompt_tokens"] == len(tokens[0])
    for more, words in (
        (("--image", str(tmp_path / "broken.jpg")), "broken.jpg: cannot be read as a picture"),
        (("--image", str(tmp_path / "huge.png")), "huge.png: "),
        (("--image", str(tmp_path / "absent.png")), "absent.png: no such file"),
        (("--image", str(tmp_path / "photo.png"), "--raw"), "--image needs the chat template"),
    ):
        done = run(*more)
        assert (done.exit_code, len(done.stderr.splitlines())) == (1, 1), done.output
        assert words in done.stderr
    for text in ("{}", '{"resize": 4, "crop": 9}', "[]", "{"):
        spoilt = tmp_path / mf.PICTURE_FILE
        spoilt.write_text(text)
        files = (mf.DataFile(mf.PICTURE_FILE, mf.PICTURE_FILE, *mf.digest(spoilt)),)
        with pytest.raises(BundleError, match=mf.PICTURE_FILE):
            mf.picture_pixels(tmp_path, replace(manifest, files=files))


def test_a_model_that_sees_nothing_says_so(export: Export, tmp_path: Path) -> None:
    exported(tiny.TINY["qwen2"](tmp_path / "tiny"), tmp_path / "out", export)
    Image.fromarray(photo()).save(tmp_path / "photo.png")
    done = CliRunner().invoke(
        main, ["generate", str(tmp_path / "out"), QUESTION, "--image", str(tmp_path / "photo.png")]
    )
    assert done.exit_code == 1
    assert "its language model sees no pictures" in done.stderr


def test_a_picture_is_refused_where_the_template_has_no_place_for_one() -> None:
    template = ChatTemplate(tiny.SMOLVLM_TEMPLATE.replace("'<image>'", "''"), *tiny.SMOLVLM_MARKS[:2])
    found = derive(template, False, PICTURE)
    assert "picture" not in found.turns
    assert "no place for a picture" in found.notes[0]
    whole = derive(ChatTemplate(tiny.SMOLVLM_TEMPLATE, *tiny.SMOLVLM_MARKS[:2]), False, PICTURE)
    assert whole.turns["begin"] == "<|im_start|>"
    assert not whole.notes
    assert whole.turns["picture"] == f"User:{PICTURE.written}{{query}}<end_of_utterance>\n"


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("config.json", {"model_type": "qwen2_vl"}, "with pictures: idefics3, smolvlm"),
        ("config.json", {"scale_factor": 4}, "do not divide by scale_factor 4"),
        ("config.json", {"scale_factor": 10**9}, "scale_factor"),
        ("config.json", {"vision_config": {"hidden_size": 32, "image_size": 10**9}}, "image_size"),
        ("config.json", {"vision_config": {"image_size": 4096, "patch_size": 32}}, "pictures of 4096 pixels"),
        ("config.json", {"vision_config": {"image_size": 2048, "patch_size": 1}}, "4194304 patches"),
        (
            "config.json",
            {"vision_config": {"hidden_size": 64, "image_size": 36, "patch_size": 6}},
            "disagree",
        ),
        ("config.json", {"text_config": {"model_type": "mistral"}}, "'mistral' is not supported behind"),
        ("config.json", {"text_config": [1]}, "text_config"),
        ("preprocessor_config.json", {"max_image_size": {"longest_edge": 48}}, "the tower takes 36"),
        ("preprocessor_config.json", {"size": {"longest_edge": 10**6}}, "size.longest_edge"),
        ("preprocessor_config.json", {"resample": 5}, "1 (lanczos)"),
        ("preprocessor_config.json", {"do_resize": False}, "do_resize is off"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused_in_one_line(
    file: str, change: dict[str, Any], words: str, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "spoilt")
    path = tmp_path / "spoilt" / file
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ExportError) as caught:
        opened = open_checkpoint(None, str(path.parent))
        decoders.shapes(opened.config, 64)
        towers.picture_reader(opened.config, opened.weights, opened.processor)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_weights_without_a_projector_are_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "spoilt")
    kept = load_file(folder / "model.safetensors")
    del kept["model.connector.modality_projection.proj.weight"]
    save_file(kept, tmp_path / "spoilt" / "model.safetensors", {"format": "pt"})
    opened = open_checkpoint(None, str(tmp_path / "spoilt"))
    with pytest.raises(ExportError, match=r"no tensor model\.connector.modality_projection.proj.weight"):
        towers.picture_reader(opened.config, opened.weights, opened.processor)


def test_a_dry_run_plans_the_reader_of_pictures(folder: Path) -> None:
    settings = Settings("llm", "int8", (("llm", str(folder)),))
    planned = {p.role: p for p in plan.predict(settings, ("onnx",)).artifacts}
    opened = open_checkpoint(None, str(folder))
    item = towers.picture_reader(opened.config, opened.weights, opened.processor)
    assert planned[mf.VISION].parameters == sum(p.numel() for p in item.module.parameters())


def test_a_decoder_with_too_few_slots_for_a_picture_is_refused(folder: Path) -> None:
    with pytest.raises(ExportError, match="a picture takes 9 of 8 slots"):
        limits.check(Settings("llm", "int8", (("llm", str(folder)),), max_seq=8), ("onnx",))


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
