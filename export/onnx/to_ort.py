"""ORT format: the graphs of to_onnx.py as ONNX Runtime's own flatbuffer, for reduced builds of ONNX Runtime,
which have no protobuf and only the kernels that they need.

`write` converts, `required_operators` lists the kernels that such a build needs; export/parity checks the
result. The graph is optimized to the level "extended" and no further: the next level arranges tensors for the
processor that writes the file, and a phone has another. A session that opens the file fuses nothing more.
Weights are inside the file, so a file holds at most 2 GB.
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

from ..components.export_module import ExportModule, Samples, Specs
from ..errors import ExportError
from ..target_options import DEFAULT, TargetOptions
from . import to_onnx

SUFFIX = ".ort"
MAX_BYTES = (1 << 31) - 1  # a flatbuffer's offsets have 31 bits
CONFIG = "required_operators.config"


def write(
    item: ExportModule,
    quant: str,
    language: Language,
    samples: Samples,
    path: Path,
    options: TargetOptions = DEFAULT,
) -> Specs:
    """As to_onnx.write, but always one .ort file. Raises ExportError, also for weights over 2 GB."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        plain = Path(folder) / f"graph{to_onnx.SUFFIX}"
        specs = to_onnx.write(item, quant, language, samples, plain, options)
        size, _ = mf.digest(plain)
        if size > MAX_BYTES:
            raise ExportError(too_large_message(item.role, quant, size))
        convert(plain / "model.onnx" if plain.is_dir() else plain, path, item.role)
        if processor.read().saturates and plain.is_file():
            shutil.copy2(plain, source_graph(path))
    return specs


def too_large_message(role: str, quant: str, size: int) -> str:
    return (
        f"{role} in {quant} is {size / 1e9:.1f} GB and an ORT file holds 2: choose fewer bits, or "
        "--onnx-format onnx"
    )


def source_graph(path: Path) -> Path:
    """The path of the .onnx file that the ORT file `path` was converted from.

    It is kept until parity has been measured, if this processor's int8 kernels saturate. The kernels of an
    ORT file are chosen when it is written, for all processors, so that no setting can avoid a saturating
    kernel at parity. If the ORT file then misses its threshold, parity is measured on the .onnx file.
    """
    return path.with_suffix(f".source{to_onnx.SUFFIX}")


def convert(plain: Path, path: Path, role: str) -> None:
    """Converts `plain`, an .onnx file with its weights inside or beside it, to `path`. Raises ExportError."""
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
    """The operators that a reduced build of ONNX Runtime needs to run `files`.

    The text is a file for the build's option --include_ops_by_config.
    """
    from onnxruntime.tools.ort_format_model import OrtFormatModelProcessor

    operators: dict[str, dict[int, set[str]]] = defaultdict(dict)  # domain → version → operators
    for file in files:
        OrtFormatModelProcessor(str(file), operators, None).process()
    rows = [
        f"{domain};{version};{','.join(sorted(ops))}"
        for domain, versions in sorted(operators.items())
        for version, ops in sorted(versions.items())
    ]
    return "".join(
        f"{row}\n"
        for row in ("# domain;version;operators, for build.sh --minimal_build --include_ops_by_config", *rows)
    )
