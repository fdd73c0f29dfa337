"""A BLIP-2 that judges r1: its cosines are those of transformers, it learns, and damaged ones are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
transformers = pytest.importorskip("transformers", reason="needs the export extra")
from gamer.export.errors import ExportError
from gamer.export.training import blip2
from gamer.export.training.pairs import Pairs
from tests.export.training import tiny_blip2
from tests.export.training.tiny_blip2 import SIDE, WORDS

COLOURS = {"red": (200, 20, 20), "green": (20, 180, 30), "blue": (20, 40, 210), "grey": (120, 120, 120)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_blip2.write(tmp_path_factory.mktemp("blip2"))


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    from PIL import Image

    place = tmp_path_factory.mktemp("photos")
    paths = []
    for name, colour in COLOURS.items():
        noise = np.random.default_rng(len(name)).integers(-20, 20, (SIDE, SIDE, 3))
        Image.fromarray((np.array(colour) + noise).clip(0, 255).astype(np.uint8)).save(place / f"{name}.png")
        paths.append(place / f"{name}.png")
    broken = place / "broken.png"
    broken.write_bytes(b"none")
    told = tuple((f"a photo of {name}",) for name in COLOURS)
    return Pairs((*paths, broken), (*told, ("a photo",)), ((),) * 5, 0, ((),) * 5)


def silent(*_: Any) -> None:
    pass


def test_its_cosine_is_that_of_transformers(folder: Path, photos: Pairs) -> None:
    fit = blip2.Blip2Fit(folder)
    model = transformers.Blip2ForImageTextRetrieval.from_pretrained(folder)
    processor = transformers.BlipImageProcessorPil(size={"height": SIDE, "width": SIDE}, resample=3)
    from PIL import Image

    for path, colour in zip(photos.paths, COLOURS, strict=False):
        pixels = processor(Image.open(path).convert("RGB"), return_tensors="pt").pixel_values
        ids = torch.tensor([[2, 10, 8, 9, WORDS.index(colour), 3]])
        with torch.no_grad():
            wanted = float(
                model(
                    pixel_values=pixels, input_ids=ids, attention_mask=torch.ones_like(ids)
                ).logits_per_image
            )
        assert fit(f"a photo of {colour}", path) == pytest.approx((1 + wanted) / 2, abs=2e-3)


def test_it_learns_the_persons_pairs_and_keeps_what_it_learned(
    folder: Path, photos: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blip2, "EPOCHS", 60)
    monkeypatch.setattr(blip2, "RATE", 1e-2)
    fit, said = blip2.Blip2Fit(folder), list[str]()
    blip2.fine_tune(fit, photos, tmp_path, silent, said.append)
    assert "on 4 memories" in said[0]  # the photo that cannot be read is left out
    for path, own in zip(photos.paths, COLOURS, strict=False):
        scores = {colour: fit(f"a photo of {colour}", path) for colour in COLOURS}
        assert max(scores, key=lambda colour: scores[colour]) == own, scores
    again = blip2.Blip2Fit(folder)
    blip2.fine_tune(again, photos, tmp_path, silent, said.append)
    assert len(said) == 1
    assert again("a photo of red", photos.paths[0]) == fit("a photo of red", photos.paths[0])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda at: (at / "config.json").write_text('{"model_type": "clip"}'), "no BLIP-2 checkpoint"),
        (lambda at: (at / "tokenizer.json").write_text("{"), "cannot be read as BLIP-2"),
        (lambda at: (at / "model.safetensors").write_bytes(b"x" * 20), "cannot be read as BLIP-2"),
        (lambda at: (at / "model.safetensors").unlink(), "cannot be read as BLIP-2"),
    ],
)
def test_what_is_no_whole_blip2_is_refused_in_one_line(
    folder: Path, tmp_path: Path, damage: Any, said: str
) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    damage(copy)
    with pytest.raises(ExportError, match=said) as caught:
        blip2.Blip2Fit(copy)
    assert "\n" not in str(caught.value)


def test_a_part_that_is_missing_is_named(folder: Path, tmp_path: Path) -> None:
    import shutil

    from safetensors.torch import load_file, save_file

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    tensors = load_file(copy / "model.safetensors")
    del tensors["text_projection.weight"]
    save_file(tensors, copy / "model.safetensors")
    with pytest.raises(ExportError, match=r"no fitting text_projection\.weight"):
        blip2.Blip2Fit(copy)


def test_one_pair_is_too_few(folder: Path, photos: Pairs, tmp_path: Path) -> None:
    few = Pairs(photos.paths[:1], photos.memories[:1], ((),), 0, ((),))
    with pytest.raises(ExportError, match="two photos with a memory"):
        blip2.fine_tune(blip2.Blip2Fit(folder), few, tmp_path, silent, silent)
