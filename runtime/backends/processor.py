"""The processor at hand, as far as kernels choose by it, and in which arithmetic a quantized graph runs on
it.

ONNX Runtime, XNNPACK, usearch, numkong and numpy all pick their kernels by CPUID at run time, so one file
gives different numbers on different machines. What a component was proven on is therefore named by engine,
version and these features.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from ..errors import RuntimeFailure
from ..versions import installed

X86, ARM = ("x86_64", "amd64"), ("aarch64", "arm64")
# Backend → the package whose version its kernels come with.
PACKAGES = {"onnx": "onnxruntime", "executorch": "executorch", "coreml": "coremltools"}
# Our name → numpy's. AVX-512 is the part of it that kernels ask for (F, BW, DQ, VL); numpy's own name for
# that is of the first processor.
_X86_FEATURES = {"sse4.2": "SSE42", "avx2": "AVX2", "avx512": "AVX512_SKX", "vnni": "AVX512VNNI"}
_ARM_FEATURES = {"neon": "ASIMD", "dotprod": "ASIMDDP", "sve": "SVE"}


@dataclass(frozen=True)
class Processor:
    """`architecture`: "x86_64" | "aarch64" | as the system says.

    `features`: those that int8 and float kernels choose by, weakest first.
    """

    architecture: str
    model: str
    features: tuple[str, ...]

    @property
    def described(self) -> str:
        """ "x86_64 sse4.2 avx2": what proofs are compared by. The model's name is not in it: two models with
        equal features run equal kernels.
        """
        return " ".join((self.architecture, *self.features))

    @property
    def saturates(self) -> bool:
        """Whether the fast product of unsigned and signed bytes (vpmaddubsw) may overflow its 16
        bits here.
        """
        return self.architecture == "x86_64" and "vnni" not in self.features


@cache
def read() -> Processor:
    """The processor of this process, by CPUID: an emulated process sees the emulated one."""
    machine = platform.machine().lower()
    architecture = "x86_64" if machine in X86 else "aarch64" if machine in ARM else machine or "unknown"
    return Processor(architecture, _model(), _features(architecture))


def kernels(backend: str) -> str:
    """Who computes here: "onnxruntime 1.32.0, x86_64 sse4.2 avx2 avx512 vnni".

    A figure of parity holds for exactly this.
    """
    return f"{PACKAGES[backend]} {_version(PACKAGES[backend])}, {read().described}"


@cache  # each component of a search asks
def _version(package: str) -> str:
    """Of an installed engine, under whatever name its distribution has (onnxruntime-gpu).

    Raises RuntimeFailure where there is none.
    """
    if (known := installed(package)) is not None:
        return known
    try:
        return str(import_module(package).__version__)
    except (ImportError, AttributeError):
        raise RuntimeFailure(f"{package} is not installed: pip install 'gamer-on-device[export]'") from None


def arithmetic(backend: str, quant: str, unfused: bool = False) -> str:
    """What runs a component of this quantization, for people: "int8, VNNI", "int8, precise AVX2", "int8, dot
    product of ARM".
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
    have = getattr(
        import_module("numpy._core._multiarray_umath"), "__cpu_features__", {}
    )  # what numpy.show_runtime prints
    found = [name for name, key in names.items() if have.get(key)]
    if architecture == "x86_64" and "avx2" in found and "vnni" not in found and _short_vnni():
        found.append("vnni")
    return tuple(found)


def _short_vnni() -> bool:
    """VNNI over 256 bits, of processors without AVX-512 (Alder Lake, Zen 5 mobile), which numpy does not
    list.
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
