"""Predicts an export from configurations, without reading weights: artifacts, sizes and peak memory."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from gamer.runtime import free_memory

from ..components import components
from ..errors import ExportError
from ..onnx import to_ort
from ..recipe import TARGETS
from ..settings import Settings
from . import limits, parities, sizes
from .networks import TABLE, networks, parameters

# Peak memory of a worker, fitted to bench/results: what torch and a converter take, and the fp32 weights that
# conversion and parity hold at the peak, for each byte of them. Converters hold the largest matrix, mostly a
# head, once more in other forms.
_BASE = 0.9e9
_COPIES = {"onnx": 1.3, "executorch": 1.7, "coreml": 2.4}
_OF_LARGEST = {"onnx": 1.1, "executorch": 1.1, "coreml": 4.2}
_OF_TABLE = 2.3  # a token table is quantized before it is converted
# A worker of a recipe with ConSE has 1,000 label vectors computed and photographs in memory, and keeps memory
# of the component before.
_CONSE = 1.3e9
# Components whose parity is measured on what another component gives.
_FEEDS = {"llm_decoder": "llm_encoder", "dpe": "image_tower"}


@dataclass(frozen=True)
class Planned:
    """A planned artifact. `bytes`: predicted size. `peak`: predicted peak memory of its worker, in bytes."""

    role: str
    target: str
    quant: str
    parameters: int
    bytes: int
    peak: int


@dataclass(frozen=True)
class ExportPlan:
    """`bytes`: of the bundle. `others`: its share beside the artifacts. `notes`: what the settings ask for
    and do not get, and artifacts that are likely to miss their parity.
    """

    artifacts: tuple[Planned, ...]
    bytes: int
    others: int
    peak: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Weights:
    """Numbers of parameters: all, and those of the largest tensor."""

    all: int
    largest: int


def predict(settings: Settings, targets: tuple[str, ...] = TARGETS, others: int = 0) -> ExportPlan:
    """The plan of an export; `others`: bytes of the bundle beside its artifacts (bundle/extras.py).

    Raises ExportError for unsupported settings or configurations.
    """
    notes = limits.check(settings, targets)
    built = {role: build() for role, build in networks(settings)}
    weights = {role: _weights(network) for role, network in built.items()}
    artifacts = []
    for role in components.roles(settings):
        for target in (t for t in targets if t in components.targets(settings, role)):
            quant = settings.quant_of(role, target)
            size = sizes.predict(settings, role, target, quant, built[role])
            if target == "onnx" and settings.onnx_format == "ort" and size > to_ort.MAX_BYTES:
                raise ExportError(to_ort.too_large_message(role, quant, size))
            peak = _peak(settings, role, target, size, weights)
            artifacts.append(Planned(role, target, quant, weights[role].all, size, peak))
    return ExportPlan(
        tuple(artifacts),
        sum(p.bytes for p in artifacts) + others,
        others,
        max(p.peak for p in artifacts),
        (*notes, *parities.warnings(settings, targets, built)),
    )


def more_than_free(settings: Settings, targets: tuple[str, ...], jobs: int) -> str:
    """What is said before an export whose `jobs` largest workers need more memory than is free, else ""."""
    free = free_memory.megabytes()
    if free is None:
        return ""
    peaks = sorted((p.peak / 1e9 for p in predict(settings, targets).artifacts), reverse=True)
    together = sum(peaks[:jobs])
    if together * 1000 <= free:
        return ""
    fewer = f"--jobs 1 takes {peaks[0]:.1f} GB, " if jobs > 1 and peaks[0] * 1000 <= free else ""
    return (
        f"the export may take {together:.1f} GB of memory and {free / 1000:.1f} GB are free: "
        f"{fewer}--dry-run says what takes how much, and --parts and --targets leave it out"
    )


def _weights(network: nn.Module) -> _Weights:
    tensors = (*network.parameters(), *network.buffers())
    return _Weights(parameters(network), max(tensor.numel() for tensor in tensors))


def _peak(settings: Settings, role: str, target: str, size: int, weights: dict[str, _Weights]) -> int:
    own, feeds = weights[role], _FEEDS.get("dpe" if role.startswith("dpe_") else role, "")
    if role == TABLE:
        copies = _OF_TABLE * own.all
    else:
        copies = _COPIES[target] * own.all + _OF_LARGEST[target] * own.largest
    beside = weights[feeds].all if feeds in weights else 0
    conse = _CONSE if settings.model("image") == components.CONSE else 0
    return int(_BASE + conse + 4 * (copies + beside) + size)
