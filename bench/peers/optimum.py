"""optimum as a peer of the exporter: the same checkpoints by both, in fp32 for ONNX, one after the other.

optimum-onnx needs an older transformers than GAMER: `make optimum-peer` gives it an environment of its own.
Checkpoints and what optimum wrote stay in that folder, where tests read them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gamer.export.components import components, fixtures, published
from gamer.export.errors import ExportError
from gamer.export.parity import reference
from gamer.export.settings import Settings
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.models.language.decoder import StepDecoder
from gamer.runtime.telemetry import load_onnxruntime

from .row import PeerRow

FOLDER = Path(os.environ.get("GAMER_OPTIMUM", ".optimum"))
# Model of the catalogue → (optimum's task, the exporter's recipe).
MODELS = {
    "minilm-l6": ("feature-extraction", "sentence"),
    "smollm2-135m": ("text-generation-with-past", "llm"),
    "clip-vit-b32": ("zero-shot-image-classification", "towers"),
}
LONGEST = 3600.0  # seconds of a command
CHECKPOINTS, EXPORTS = "checkpoints", "exports"


def compare(models: Sequence[str], tell: Any) -> tuple[PeerRow, ...]:
    """Two rows for each of `models`. Raises ExportError without optimum, or if a command fails."""
    command = FOLDER / "bin" / "optimum-cli"
    if not command.is_file():
        raise ExportError(f"{command}: not there: make optimum-peer installs optimum beside, into {FOLDER}")
    rows = []
    for model in models:
        tell(f"{model}, by optimum and by gamer")
        source = published.write(model, FOLDER / CHECKPOINTS / model)
        rows += [_theirs(command, model, source), _ours(model, source)]
    return tuple(rows)


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
    return PeerRow(model, "optimum", seconds, seconds, size, worst)


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
    graphs = round(sum(a.export_seconds for a in manifest.artifacts), 1)
    return PeerRow(model, "gamer", seconds, graphs, sum(a.bytes for a in manifest.artifacts), worst)


def _timed(*words: str) -> float:
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
    except subprocess.TimeoutExpired:
        raise ExportError(
            f"{Path(words[0]).name} {words[1]}: not done after {LONGEST:g} s: run it by hand"
        ) from None
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
        module, graph = (components.build(s, f"{part}_tower", "fp32") for s in (torch_side, theirs))
        for sample in fixtures.samples(torch_side, module, False):
            pair = (components.reference(item.module, sample)[0] for item in (graph, module))
            worst.append(float(reference.cosines(*pair).min()))
    return round(min(worst), 6)


def _logits(folder: Path, source: Path) -> float:
    """optimum's decoder takes a whole text with an empty cache; torch reads it token by token."""
    settings = Settings("llm", "fp32", (("llm", str(source.resolve())),))
    item = components.build(settings, "llm_decoder", "fp32")
    language = reference.language_of(settings)
    embeds = reference.prose_of(settings, item)
    want = reference.trace(StepDecoder(reference.TorchSession(item), language), embeds)[1]
    ids = np.array([fixtures.prose_ids(settings)[: len(embeds)]], np.int64)
    session = load_onnxruntime().InferenceSession(
        str(folder / "model.onnx"), providers=["CPUExecutionProvider"]
    )
    past = np.zeros((1, language.kv_heads, 0, language.head_dim), np.float32)
    given = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "position_ids": np.arange(ids.shape[1], dtype=np.int64)[None],
    }
    names = [value.name for value in session.get_inputs()]
    got = session.run(["logits"], {name: given.get(name, past) for name in names})[0]
    return round(float(reference.cosines(got, want).min()), 6)
