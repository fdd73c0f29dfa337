"""optimum as a peer of the exporter: the same checkpoints by both, in fp32 for ONNX, one after the other.

optimum-onnx needs an older transformers than GAMER: `make optimum-peer` gives it an environment of its own.
Checkpoints and what optimum wrote stay in that folder, where tests read them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gamer.export.checkpoints import catalogue, clip_bpe
from gamer.export.components import components, fixtures
from gamer.export.errors import ExportError
from gamer.export.parity.reference import cosines
from gamer.export.settings import Settings
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.telemetry import load_onnxruntime

FOLDER = Path(os.environ.get("GAMER_OPTIMUM", ".optimum"))
# Model of the catalogue → (optimum's task, the exporter's recipe).
MODELS = {
    "minilm-l6": ("feature-extraction", "sentence"),
    "smollm2-135m": ("text-generation-with-past", "llm"),
    "clip-vit-b32": ("zero-shot-image-classification", "towers"),
}
CHECKPOINTS, EXPORTS = "checkpoints", "exports"


@dataclass(frozen=True)
class PeerRow:
    """One checkpoint by one exporter. `seconds`: of the whole command. `bytes`: of the graphs.

    `cosine`: the worst with torch in fp32, over the inputs of parity: of vectors, or of a language model's
    logits.
    """

    model: str
    exporter: str
    seconds: float
    bytes: int
    cosine: float


def compare(models: Sequence[str], tell: Any) -> tuple[PeerRow, ...]:
    """Two rows for each of `models`. Raises ExportError without optimum, or if a command fails."""
    command = FOLDER / "bin" / "optimum-cli"
    if not command.is_file():
        raise ExportError(f"{command}: not there: make optimum-peer installs optimum beside, into {FOLDER}")
    rows = []
    for model in models:
        tell(f"{model}, by optimum and by gamer")
        source = _checkpoint(model)
        rows += [_theirs(command, model, source), _ours(model, source)]
    return tuple(rows)


def _checkpoint(model: str) -> Path:
    """A directory of `model` in safetensors, made once: packaged weights as they are, CLIP's random."""
    folder = FOLDER / CHECKPOINTS / model
    if not (folder / "config.json").is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
            _MAKERS[model](catalogue.config(model), Path(aside) / model)
            (Path(aside) / model).rename(folder)
    return folder


def _minilm(config: dict[str, Any], folder: Path) -> None:
    shutil.copytree(catalogue.package_dir(catalogue.model("minilm-l6")) / "model", folder)


def _smollm2(config: dict[str, Any], folder: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    package = catalogue.package_dir(catalogue.model("smollm2-135m"))
    name = next(package.glob("*.gguf")).name
    for kind in (AutoModelForCausalLM, AutoTokenizer):
        kind.from_pretrained(package, gguf_file=name).save_pretrained(folder)


def _clip(config: dict[str, Any], folder: Path) -> None:
    import torch
    from transformers import CLIPConfig, CLIPModel

    torch.manual_seed(0)
    CLIPModel(CLIPConfig.from_dict(config)).eval().save_pretrained(folder)
    (folder / "tokenizer.json").write_text(clip_bpe.tokenizer(), encoding="utf-8")


_MAKERS = {"minilm-l6": _minilm, "smollm2-135m": _smollm2, "clip-vit-b32": _clip}


def _theirs(command: Path, model: str, source: Path) -> PeerRow:
    folder = FOLDER / EXPORTS / model
    shutil.rmtree(folder, ignore_errors=True)
    task, recipe = MODELS[model]
    seconds = _timed(
        str(command),
        "export",
        "onnx",
        "--model",
        str(source.resolve()),
        "--task",
        task,
        str(folder.resolve()),
    )
    for name in (
        "tokenizer.json",
        "preprocessor_config.json",
    ):  # optimum leaves out what has no class beside it
        if (source / name).is_file() and not (folder / name).is_file():
            shutil.copy2(source / name, folder)
    size = sum(file.stat().st_size for file in folder.glob("*.onnx*"))
    worst = _logits(folder, source) if recipe == "llm" else _vectors(recipe, folder, source)
    return PeerRow(model, "optimum", seconds, size, worst)


def _ours(model: str, source: Path) -> PeerRow:
    recipe = MODELS[model][1]
    with tempfile.TemporaryDirectory(dir=FOLDER) as aside:
        out = Path(aside) / "bundle"
        words = (
            "-m",
            str(source.resolve()),
            "--quant",
            "none",
            "--targets",
            "onnx",
            "-o",
            str(out.resolve()),
        )
        seconds = _timed(sys.executable, "-m", "gamer", "export", recipe, *words, "--json")
        manifest = mf.read(out)
    figures = [a.parity.outputs.get("logits", a.parity.minimum) for a in manifest.artifacts]
    worst = min(figure for figure in figures if figure is not None)
    return PeerRow(model, "gamer", seconds, sum(a.bytes for a in manifest.artifacts), worst)


def _timed(*words: str) -> float:
    begin = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    if done.returncode:
        line = (done.stderr.strip() or "no message").splitlines()[-1][:200]
        raise ExportError(f"{Path(words[0]).name} {words[1]}: exit code {done.returncode} ({line})")
    return round(time.perf_counter() - begin, 1)


def _vectors(recipe: str, folder: Path, source: Path) -> float:
    parts = ("image", "text") if recipe == "towers" else ("text",)
    theirs, torch_side = (
        Settings(recipe, "fp32", tuple((part, str(path.resolve())) for part in parts))
        for path in (folder, source)
    )
    worst = []
    for part in parts:
        reference, graph = (components.build(s, f"{part}_tower", "fp32") for s in (torch_side, theirs))
        for sample in fixtures.samples(torch_side, reference, False):
            pair = (components.reference(item.module, sample)[0] for item in (graph, reference))
            worst.append(float(cosines(*pair).min()))
    return round(min(worst), 6)


def _logits(folder: Path, source: Path) -> float:
    """optimum's decoder takes a whole text with an empty cache."""
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModelForCausalLM

    ids = np.array([Tokenizer.from_file(str(source / "tokenizer.json")).encode(fixtures.PROSE).ids], np.int64)
    with torch.no_grad():
        model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
        want = model(torch.from_numpy(ids)).logits.numpy()
    session = load_onnxruntime().InferenceSession(
        str(folder / "model.onnx"), providers=["CPUExecutionProvider"]
    )
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    width = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    past = np.zeros((1, config["num_key_value_heads"], 0, width), np.float32)
    given = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "position_ids": np.arange(ids.shape[1], dtype=np.int64)[None],
    }
    names = [value.name for value in session.get_inputs()]
    got = session.run(["logits"], {name: given.get(name, past) for name in names})[0]
    return round(float(cosines(got, want).min()), 6)
