"""Writes the catalogue's models as directories in Hugging Face's layout, which other exporters read."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..checkpoints import catalogue, clip_bpe


def write(model: str, folder: Path) -> Path:
    """The directory `folder` with `model` in safetensors, made once: packaged weights, or CLIP at random.

    Raises ExportError for weights that are not installed.
    """
    if not (folder / "config.json").is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
            _MAKERS[model](model, Path(aside) / model)
            (Path(aside) / model).rename(folder)
    return folder


def _copied(model: str, folder: Path) -> None:
    shutil.copytree(catalogue.package_dir(catalogue.model(model)) / "model", folder)


def _of_gguf(model: str, folder: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    package = catalogue.package_dir(catalogue.model(model))
    name = next(package.glob("*.gguf")).name
    kind: Any
    for kind in (AutoModelForCausalLM, AutoTokenizer):
        kind.from_pretrained(package, gguf_file=name).save_pretrained(folder)


def _random(model: str, folder: Path) -> None:
    import torch
    from transformers import CLIPConfig, CLIPModel

    torch.manual_seed(0)
    CLIPModel(CLIPConfig.from_dict(catalogue.config(model))).eval().save_pretrained(folder)
    (folder / "tokenizer.json").write_text(clip_bpe.tokenizer(), encoding="utf-8")


_MAKERS: dict[str, Callable[[str, Path], None]] = {
    "minilm-l6": _copied,
    "smollm2-135m": _of_gguf,
    "clip-vit-b32": _random,
}
