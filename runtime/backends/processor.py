"""The features of this processor that kernels depend on, and the arithmetic of a quantized graph on it.

ONNX Runtime, XNNPACK, usearch, numkong and numpy choose their kernels by CPUID at run time, so that the same
file gives different numbers on different machines. A parity figure therefore names the engine, its version
and these features.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from gamer.index.installing import install

from ..errors import RuntimeFailure
from ..telemetry import load_onnxruntime

X86, ARM = ("x86_64", "amd64"), ("aarch64", "arm64")
# Backend → the package that contains its kernels.
PACKAGES = {"onnx": "onnxruntime", "executorch": "executorch", "coreml": "coremltools"}
# Name here → numpy's name. "avx512" means the parts of AVX-512 that kernels require (F, BW, DQ, VL), which
# numpy names after the first processor that had them.
_X86_FEATURES = {"sse4.2": "SSE42", "avx2": "AVX2", "avx512": "AVX512_SKX", "vnni": "AVX512VNNI"}
_ARM_FEATURES = {"neon": "ASIMD", "dotprod": "ASIMDDP", "sve": "SVE"}


@dataclass(frozen=True)
class Processor:
    """A processor, as kernels distinguish it.

    `architecture`: "x86_64" | "aarch64" | the system's name for another one. `features`: the instruction sets
    by which int8 and float kernels are chosen, weakest first.
    """

    architecture: str
    model: str
    features: tuple[str, ...]

    @property
    def described(self) -> str:
        """Architecture and features, such as "x86_64 sse4.2 avx2", by which parity figures are compared.

        The model's name is not part of it: two models with equal features run equal kernels.
        """
        return " ".join((self.architecture, *self.features))

    @property
    def saturates(self) -> bool:
        """Whether its fast product of unsigned and signed bytes (vpmaddubsw) may overflow 16 bits."""
        return self.architecture == "x86_64" and "vnni" not in self.features


@cache
def read() -> Processor:
    """The processor of this process, by CPUID: in an emulated process, the emulated one."""
    machine = platform.machine().lower()
    architecture = "x86_64" if machine in X86 else "aarch64" if machine in ARM else machine or "unknown"
    return Processor(architecture, _model(), _features(architecture))


def kernels(backend: str) -> str:
    """Engine, version and processor: "onnxruntime 1.32.0, x86_64 sse4.2 avx2 avx512 vnni".

    A parity figure is valid for this combination only.
    """
    return f"{PACKAGES[backend]} {_version(PACKAGES[backend])}, {read().described}"


@cache  # called for each component of a search
def _version(package: str) -> str:
    """The version of an installed engine, whatever its distribution is called (onnxruntime-gpu).

    Raises RuntimeFailure if it is not installed.
    """
    try:
        if package == PACKAGES["onnx"]:  # a search loads it anyway, and metadata take 13 ms to read
            return str(load_onnxruntime().__version__)
        from ..versions import installed

        return installed(package) or str(import_module(package).__version__)
    except (ImportError, AttributeError):
        raise RuntimeFailure(f"{package} is not installed: {install('export')}") from None


def arithmetic(backend: str, quant: str, unfused: bool = False) -> str:
    """The arithmetic that runs a component of this quantization, for display.

    For example "int8, VNNI", "int8, precise AVX2", "int8, dot product of ARM".
    """
    if backend != "onnx":
        return f"{quant}, {'XNNPACK' if backend == 'executorch' else 'Core ML'}"
    if quant in ("fp32", "fp16"):
        return quant
    return f"{quant}, unfused" if unfused else f"{quant}, {_integer_kernels(read())}"


def _integer_kernels(processor: Processor) -> str:
    have = processor.features
    if processor.architecture == "aarch64":
        return "dot product of ARM" if "dotprod" in have else "NEON"
    if "vnni" in have:
        return "VNNI"
    widest = next(
        (
            name
            for key, name in (("avx512", "AVX-512"), ("avx2", "AVX2"), ("sse4.2", "SSE4.2"))
            if key in have
        ),
        "SSE2",
    )
    return f"precise {widest}" if processor.architecture == "x86_64" else processor.architecture


def _features(architecture: str) -> tuple[str, ...]:
    names = _X86_FEATURES if architecture == "x86_64" else _ARM_FEATURES if architecture == "aarch64" else {}
    # The table that numpy.show_runtime prints.
    have = getattr(import_module("numpy._core._multiarray_umath"), "__cpu_features__", {})
    features = [name for name, key in names.items() if have.get(key)]
    if architecture == "x86_64" and "avx2" in features and "vnni" not in features and _has_avx_vnni():
        features.append("vnni")
    return tuple(features)


def _has_avx_vnni() -> bool:
    """Whether the processor has VNNI for 256 bits, as some without AVX-512 do; numpy does not list it.

    Alder Lake is an example.
    """
    return bool(import_module("numkong").get_capabilities().get("alder"))


def _model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
