"""ORT format: what to_onnx.py writes as ONNX Runtime's own flatbuffer, for builds that hold no protobuf and
only the kernels that they need.

`write` converts, `required_operators` says what such a build has to hold; neither proves anything (see
parity.py). The graph is optimized to "extended" and no further: the next level lays tensors out for the
processor that writes the file, and phones have another. What is fused here is all that is ever fused: a
session that opens the file runs it as it stands. Weights are inside, so that one file holds at most 2 GB.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from gamer.runtime.backends import processor
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle.manifest import Language
from gamer.runtime.telemetry import load_onnxruntime

from ..components.export_module import ExportModule
from ..errors import ExportError
from ..target_options import DEFAULT, TargetOptions
from . import to_onnx
from .to_onnx import Samples, Specs

SUFFIX = ".ort"
MAX_BYTES = (1 << 31) - 1  # of a flatbuffer, whose offsets have 31 bits
CONFIG = "required_operators.config"


def write(
    item: ExportModule,
    quant: str,
    language: Language,
    samples: Samples,
    path: Path,
    options: TargetOptions = DEFAULT,
) -> Specs:
    """As to_onnx.write, but one .ort file. Raises ExportError, for weights beyond 2 GB too."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        plain = Path(folder) / f"graph{to_onnx.SUFFIX}"
        specs = to_onnx.write(item, quant, language, samples, plain, options)
        size, _ = mf.digest(plain)
        if size > MAX_BYTES:
            raise ExportError(too_large(item.role, quant, size))
        convert(plain / "model.onnx" if plain.is_dir() else plain, path, item.role)
        if processor.read().saturates and plain.is_file():
            shutil.copy2(plain, source_of(path))
    return specs


def too_large(role: str, quant: str, size: int) -> str:
    return (
        f"{role} in {quant} is {size / 1e9:.1f} GB and an ORT file holds 2: choose fewer bits, or "
        "--onnx-format onnx"
    )


def source_of(path: Path) -> Path:
    """The graph that an ORT file was made from, kept until the file is proven where this processor's kernels
    saturate: the kernels of an ORT file are chosen when it is written for all processors, so that no setting
    can spare it a saturating one here."""
    return path.with_suffix(f".source{to_onnx.SUFFIX}")


def convert(plain: Path, path: Path, role: str) -> None:
    """`plain`: an .onnx file, with its weights inside or beside it. Raises ExportError."""
    ort = load_onnxruntime()

    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.add_session_config_entry("session.save_model_format", "ORT")
    options.optimized_model_filepath = str(path)
    try:
        ort.InferenceSession(str(plain), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises many unrelated classes
        raise ExportError(
            f"{role}: ONNX Runtime cannot write it in ORT format ({str(error).splitlines()[0][:200]})"
        ) from error


def required_operators(files: Iterable[Path]) -> str:
    """What a reduced build of ONNX Runtime must hold to run `files`: the text for its build's
    --include_ops_by_config.
    """
    from onnxruntime.tools.ort_format_model import OrtFormatModelProcessor

    found: dict[str, dict[int, set[str]]] = defaultdict(dict)  # domain → version → operators
    for file in files:
        OrtFormatModelProcessor(str(file), found, None).process()
    rows = [
        f"{domain};{version};{','.join(sorted(ops))}"
        for domain, by in sorted(found.items())
        for version, ops in sorted(by.items())
    ]
    return "".join(
        f"{row}\n"
        for row in ("# domain;version;operators, for build.sh --minimal_build --include_ops_by_config", *rows)
    )
