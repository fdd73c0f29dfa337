"""What a target has for each matrix of a component, and the bytes of each choice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from torch import nn

from ..capabilities import writer
from ..planning import sizes
from ..quantize.calibration import convolves
from ..quantize.quantization_policy import FIRST, split
from ..recipe import LLM_ROLES, VISION
from ..settings import Settings

LEAST_SHARE = 0.01  # of the component's numbers, from which on a table is worth a choice
BLOCKS = tuple(q.removeprefix("int4") for q in writer("onnx").searched if q.startswith("int4"))
OF_TARGET = {
    "onnx": writer("onnx").searched,
    "coreml": writer("coreml").searched,
    "executorch": writer("executorch", "xnnpack").searched,
}
_LANGUAGE_ONLY = "8da4w"  # XNNPACK's 4 bits are for a language model
_MATRIX_ONLY = ("int4", "8da4w")


@dataclass(frozen=True)
class Tensor:
    """A matrix and its choices: `name`, its path in the module; `bytes`, of each of `quants`."""

    name: str
    quants: tuple[str, ...]
    bytes: tuple[float, ...]


def searchable(settings: Settings, role: str, target: str, network: nn.Module) -> bool:
    """Whether the matrices of a component can be chosen for: not those of convolutional networks, of
    encoder-decoders, of faces, of token tables, and of what a target quantizes as a whole.
    """
    if target == "executorch":
        quantized = settings.quant_of(role, target) not in ("fp32", "fp16")
        if settings.executorch_backend != "xnnpack" or not quantized:
            return False
    towers = role in ("image_tower", "text_tower", VISION) and not convolves(network)
    decoder = role == "llm_decoder" and type(network).__name__ in ("DecoderStep", "LearnedStep")
    return towers or decoder or role.startswith("dpe_expert_")


def tensors(settings: Settings, role: str, target: str, network: nn.Module) -> tuple[Tensor, ...]:
    """The matrices to choose for, each with what `target` has for it, by ascending bytes."""
    base = settings.quant_of(role, target)
    everywhere = {
        q: sizes.of_tensors(replace(settings, keep=(("", q),)), role, target, base, network)
        for q in OF_TARGET[target]
    }
    out = []
    for name, part in _parts(network):
        quants = tuple(q for q in OF_TARGET[target] if _takes(settings, role, target, part, q))
        if len(quants) > 1:
            bytes_of = {q: everywhere[q][f"{name}.weight"] for q in quants}
            ordered = sorted(quants, key=lambda q: bytes_of[q])
            out.append(Tensor(name, tuple(ordered), tuple(bytes_of[q] for q in ordered)))
    return tuple(out)


def size(
    settings: Settings, role: str, target: str, network: nn.Module, keep: tuple[tuple[str, str], ...]
) -> int:
    """Predicted bytes of the component with the pairs `keep`."""
    quant = settings.quant_of(role, target)
    return sizes.predict(replace(settings, keep=keep), role, target, quant, network)


def _parts(network: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    count = sum(p.numel() for p in network.parameters())
    for name, part in network.named_modules():
        table = isinstance(part, nn.Embedding) and part.weight.numel() >= LEAST_SHARE * count
        if (table or isinstance(part, nn.Linear)) and FIRST not in f"{name}.weight":
            yield name, part


def _takes(settings: Settings, role: str, target: str, part: nn.Module, quant: str) -> bool:
    kind, group = split(quant, settings.group_size)
    if isinstance(part, nn.Embedding):
        return "/" not in quant and kind not in _MATRIX_ONLY and target != "executorch"
    assert isinstance(part, nn.Linear)
    if kind == _LANGUAGE_ONLY and role not in LLM_ROLES:
        return False
    if target == "onnx" and settings.onnx_format == "ort" and kind == "fp16":
        return False
    if target == "coreml" and settings.deployment_target != "iOS18" and kind in writer(target).since_ios18:
        return False
    if quant == "int8" and target == "onnx" and role in LLM_ROLES:
        return bool(part.in_features % settings.group_size == 0)
    if kind == "int8" and target == "onnx" and role in LLM_ROLES:
        return False  # its int8 is in blocks as it is
    blocks = kind in _MATRIX_ONLY or "/" in quant
    return not blocks or bool(part.in_features % group == 0)
