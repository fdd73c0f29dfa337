"""Reads a LoRA adapter in PEFT's layout: a directory with adapter_config.json and adapter_model.safetensors.

The decoder has some maps in one that a checkpoint has apart (q, k and v): their changes are stacked, too, so
that the rank of such a map is the sum of its parts'.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from gamer.index.json_checked import Between

from ..checked import read
from ..checkpoints.decoder_weights import stacked
from ..errors import ExportError
from ..networks.decoder import DecoderStep
from ..networks.lora import Low

CONFIG, TENSORS, PICKLE = "adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"
MAX_RANK = 256  # of one matrix of the checkpoint
_TENSOR = re.compile(r"base_model\.model\.(.+)\.lora_([AB])\.weight")
_PLAIN = re.compile(r"[\w.]+")
# These begin by changing the base model itself, and their matrices belong to the changed one.
_OF_A_CHANGED_BASE = ("pissa", "olora", "corda", "loftq")
Alpha = Annotated[float, Between(0, 1e6)]


@dataclass(frozen=True)
class _AdapterConfig:
    """What an adapter_config.json says of what is computed."""

    peft_type: Literal["LORA"]
    lora_alpha: Alpha
    alpha_pattern: dict[str, Alpha] | None = None
    use_rslora: bool = False
    use_dora: bool = False
    alora_invocation_tokens: tuple[int, ...] | None = None
    lora_bias: bool = False
    bias: Literal["none"] = "none"
    init_lora_weights: bool | str | None = True
    modules_to_save: tuple[str, ...] | None = None

    def scale(self, module: str, rank: int) -> float:
        """α / r of a module, or α / √r (rank-stabilized, Kalajdzievski 2023, arXiv 2312.03732)."""
        own = (a for name, a in (self.alpha_pattern or {}).items() if f".{module}".endswith(f".{name}"))
        return next(own, self.lora_alpha) / (rank**0.5 if self.use_rslora else rank)


@dataclass(frozen=True)
class _Tensors:
    """`shapes`: of lora_A [rank, I] and lora_B [O, rank], by module and side; `get`: one as float32."""

    where: Path
    shapes: Mapping[tuple[str, str], tuple[int, ...]]
    get: Callable[[str], Tensor]

    def pair(self, module: str, rows: int, columns: int) -> tuple[Tensor, Tensor]:
        """The matrices of a module. Raises ExportError for those of a module of another size."""
        rank = self.shapes.get((module, "A"), (0,))[0]
        if not 1 <= rank <= MAX_RANK:
            raise ExportError(f"{self.where}: {module}: of rank {rank}, where 1 to {MAX_RANK} are read")
        for side, want in (("A", (rank, columns)), ("B", (rows, rank))):
            shape = self.shapes.get((module, side))
            if shape != want:
                raise ExportError(
                    f"{self.where}: {module}: lora_{side} is {list(shape or ())}, this model wants "
                    f"{list(want)}: the adapter is of another base, or not whole"
                )
        a, b = (self.get(f"base_model.model.{module}.lora_{side}.weight") for side in "AB")
        if not bool(torch.isfinite(a).all() and torch.isfinite(b).all()):
            raise ExportError(f"{self.where}: {module}: numbers that are not finite: its training failed")
        return a, b


def read_adapter(folder: Path, step: DecoderStep, config: dict[str, Any]) -> nn.ModuleList:
    """The changes of the layers of `step`, for lora.merge; `config`: of the checkpoint that `step` is of.

    `step` may be on the meta device. Raises ExportError, one line, for what is no such adapter, and for one
    of another model.
    """
    told, tensors, stacks = _configuration(folder), _tensors(folder), stacked(config, step.shape)
    known = [name.removesuffix(".weight") for parts in stacks.values() for name, _ in parts]
    if unknown := [module for module, _ in tensors.shapes if module not in known]:
        may = ", ".join(dict.fromkeys(name.rpartition(".")[2] for name in known)) or "nothing in this family"
        raise ExportError(
            f"{tensors.where}: changes {unknown[0][:100]!r}, where an adapter may change {may}, in "
            f"{step.shape.layers} layers: it is of another base, or trained for more"
        )
    changes = [nn.ModuleDict() for _ in step.layers]
    for path, parts in stacks.items():
        layer, name = path.split(".")[1:3]
        found, offset = list[tuple[int, Tensor, Tensor]](), 0
        for part, rows in parts:
            module = part.removesuffix(".weight")
            if {(module, "A"), (module, "B")} & tensors.shapes.keys():
                a, b = tensors.pair(module, rows, step.get_submodule(f"layers.{layer}.{name}").in_features)
                found.append((offset, a, b * told.scale(module, len(a))))
            offset += rows
        if found:
            changes[int(layer)][name] = _stack(found, offset)
    return nn.ModuleList(changes)


def _stack(found: list[tuple[int, Tensor, Tensor]], rows: int) -> Low:
    """One change of a map with `rows` rows from changes a, b of its rows from an offset on."""
    whole, at = torch.zeros(rows, sum(len(a) for _, a, _ in found)), 0
    for offset, a, b in found:
        whole[offset : offset + len(b), at : at + len(a)] = b
        at += len(a)
    return Low.of(torch.cat([a for _, a, _ in found]), whole)


def _configuration(folder: Path) -> _AdapterConfig:
    path = folder / CONFIG
    if not path.is_file():
        raise ExportError(f"{folder}: no {CONFIG}: give a directory that PEFT's save_pretrained wrote")
    told: _AdapterConfig = read(path, _AdapterConfig, most=1 << 20)
    more = {
        "use_dora": told.use_dora,
        "alora_invocation_tokens": bool(told.alora_invocation_tokens),
        "lora_bias": told.lora_bias,
        "modules_to_save": bool(told.modules_to_save),
        "alpha_pattern": any(not _PLAIN.fullmatch(name) for name in told.alpha_pattern or {}),
        "init_lora_weights": str(told.init_lora_weights).startswith(_OF_A_CHANGED_BASE),
    }
    if said := [name for name, given in more.items() if given]:
        raise ExportError(
            f"{path}: {said[0]}: this adapter is more than matrices beside the model: merge it into its "
            "base, and export that"
        )
    return told


def _tensors(folder: Path) -> _Tensors:
    from safetensors import SafetensorError, safe_open

    path = folder / TENSORS
    if not path.is_file():
        raise ExportError(
            f"{folder}: only a pickled adapter ({PICKLE}), which can run code: save it as safetensors"
            if (folder / PICKLE).is_file()
            else f"{folder}: no {TENSORS}: is the adapter copied whole?"
        )
    try:
        opened: Any = safe_open(str(path), framework="pt")
        shapes = {name: tuple(opened.get_slice(name).get_shape()) for name in opened.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ExportError(
            f"{path}: not a whole safetensors file ({str(error)[:120]}): fetch it again"
        ) from None
    named = {_TENSOR.fullmatch(name): shape for name, shape in shapes.items()}
    if None in named or not named:
        other = next((name for name in shapes if not _TENSOR.fullmatch(name)), "nothing")
        raise ExportError(f"{path}: has {other[:100]!r}, where lora_A and lora_B of linear maps are wanted")
    by_module = {(found[1], found[2]): shape for found, shape in named.items() if found is not None}
    return _Tensors(path, by_module, lambda name: opened.get_tensor(name).to(torch.float32))
