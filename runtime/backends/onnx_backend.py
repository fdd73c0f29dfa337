"""ONNX Runtime on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gamer.index.records import FloatArray

from ..bundle.manifest import Artifact
from ..errors import BundleError, RuntimeFailure
from ..telemetry import load_onnxruntime
from . import Array, Session, processor


class OnnxSession:
    """An ONNX Runtime session.

    `native`: the InferenceSession, for callers that bind memory themselves (the decoder's cache).
    """

    def __init__(self, path: Path, artifact: Artifact, threads: int, unfused: bool) -> None:
        ort, options = load_onnxruntime(), session_options(threads, unfused)
        # A pattern would be kept for each size of a picture: 830 MB after five sizes of a page, 530 without.
        options.enable_mem_pattern = not any("width" in tensor.shape for tensor in artifact.inputs)
        # A directory holds a model with external weights, because they exceed what one ONNX file can hold.
        path = path / "model.onnx" if path.is_dir() else path
        try:
            self.native: Any = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises many unrelated classes
            raise RuntimeFailure(
                f"{path}: ONNX Runtime refuses it ({str(error).splitlines()[0][:200]}): export again"
            ) from None
        self.artifact = artifact

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        names = [spec.name for spec in self.artifact.outputs]
        try:
            return dict(zip(names, self.native.run(names, inputs), strict=True))
        except Exception as error:
            if not type(error).__module__.startswith("onnxruntime."):
                raise
            why = str(error).partition(" : ")[2].splitlines()[0][:160]
            raise RuntimeFailure(f"{self.artifact.path}: ONNX Runtime cannot run it ({why})") from None


def read_adapter(path: Path, session: Session) -> dict[str, FloatArray]:
    """The matrices of an adapter in ONNX Runtime's format, by the optional inputs that they are for.

    Raises BundleError for a file that is none, or that is for another model.
    """
    ort, native = load_onnxruntime(), getattr(session, "native")  # noqa: B009 - of ONNX sessions only
    try:
        stored = ort.AdapterFormat.read_adapter(str(path))  # whose memory the values are in
        values = {name: np.array(value.numpy()) for name, value in stored.get_parameters().items()}
    except Exception as error:  # onnxruntime raises many unrelated classes
        reason = (str(error) or repr(error)).splitlines()[0].replace(str(path), path.name)[-120:]
        raise BundleError(f"{path.name}: not an adapter ({reason}): export the bundle again") from None
    taken = {spec.name: spec.shape for spec in native.get_overridable_initializers()}
    for name, value in values.items():
        fits = value.dtype == np.float32 and all(
            isinstance(want, str) or want == size
            for want, size in zip(taken.get(name, ()), value.shape, strict=False)
        )
        if name not in taken or len(taken[name]) != value.ndim or not fits:
            raise BundleError(
                f"{path.name}: {name[:60]!r} {list(value.shape)} does not fit this model: it is of another"
            )
    for name in values:
        stem = name.rpartition(".")[0]
        down, up = (values.get(f"{stem}.lora_{side}") for side in "ab")  # [I, rank], [rank, O]
        if down is None or up is None or down.shape[1] != len(up):
            raise BundleError(f"{path.name}: {name[:60]!r} has no other half of its rank: export it again")
    return values


def session_options(threads: int, unfused: bool = False) -> Any:
    """The SessionOptions of every ONNX Runtime session of a bundle."""
    ort = load_onnxruntime()
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = True
    # Operators are short: waking a sleeping thread for each would cost more than the operator.
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if threads > 1 else "0")
    # Long enough to wait for the next operator, but not while the session is loaded: the default duration
    # takes 45 ms of another core at each start.
    options.add_session_config_entry("session.intra_op.spin_duration_us", "200")
    # After a run the threads leave the cores to the next session: their spinning took half of the experts'
    # time.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    if processor.read().saturates:
        # Without VNNI, products of unsigned and signed bytes saturate in 16 bits (EfficientNet-Lite0: worst
        # cosine 0.907 instead of 0.994). This option converts signed weights to unsigned ones when the graph
        # is loaded, for kernels that do not saturate; on AVX2 those take the same time. With VNNI they would
        # gain nothing and be slower (on Zen 4: the image tower 2.1 times, the text tower 1.5, an expert 1.3).
        options.add_session_config_entry("session.x64quantprecision", "1")
    if unfused:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def open_session(path: Path, artifact: Artifact, threads: int, units: str) -> OnnxSession:
    """Loads an .onnx file, to run with `threads` intra-op threads. Raises RuntimeFailure.

    `units` "unfused": operators are not fused and convolutions run in float, two to six times slower, for
    processors on which the fast kernels are wrong.
    """
    return OnnxSession(path, artifact, threads, units == "unfused")
