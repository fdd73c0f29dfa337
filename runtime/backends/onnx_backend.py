"""ONNX Runtime on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..bundle.manifest import Artifact
from ..errors import RuntimeFailure
from ..telemetry import load_onnxruntime
from . import Array, processor


class OnnxSession:
    """An ONNX Runtime session; `native` is the InferenceSession, for callers that bind memory themselves (the
    decoder's cache).
    """

    def __init__(self, path: Path, artifact: Artifact, threads: int, unfused: bool) -> None:
        ort, options = load_onnxruntime(), session_options(threads, unfused)
        path = (
            path / "model.onnx" if path.is_dir() else path
        )  # with weights beside it: more than one file can hold
        try:
            self.native: Any = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises many unrelated classes
            raise RuntimeFailure(
                f"{path}: ONNX Runtime refuses it ({str(error).splitlines()[0][:200]}): export again"
            ) from None
        self.artifact = artifact

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        names = [spec.name for spec in self.artifact.outputs]
        return dict(zip(names, self.native.run(names, inputs), strict=True))


def session_options(threads: int, unfused: bool = False) -> Any:
    """ONNX Runtime's SessionOptions, as every session of a bundle has them."""
    ort = load_onnxruntime()
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = True
    # Operators are short: to wake a sleeping thread for each would cost more than they do.
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if threads > 1 else "0")
    # They wait for the next operator, not for the session to be loaded: the default takes 45 ms of another
    # core from each start.
    options.add_session_config_entry("session.intra_op.spin_duration_us", "200")
    # But a session that has answered leaves the cores to the next one: its waiting threads took half of the
    # experts' time.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    if processor.read().saturates:
        # Without VNNI, products of unsigned and signed bytes saturate in 16 bits (EfficientNet-Lite0: worst
        # cosine 0.907 instead of 0.994). This turns signed weights into unsigned ones as the graph is loaded,
        # for kernels that do not; on AVX2 they take the same time. Where VNNI is they would cost much and
        # gain nothing (on Zen 4: 2.1 times the image tower's time, 1.5 the text tower's, 1.3 an expert's).
        options.add_session_config_entry("session.x64quantprecision", "1")
    if unfused:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def open_session(path: Path, artifact: Artifact, threads: int, units: str) -> OnnxSession:
    """Loads an .onnx file with `threads` intra-op threads. `units` "unfused": every operator by itself and
    convolutions in floats, two to six times slower: what is left where the fast kernels are wrong. Raises
    RuntimeFailure."""
    return OnnxSession(path, artifact, threads, units == "unfused")
