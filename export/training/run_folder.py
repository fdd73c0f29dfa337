"""The folder of a training: its state after each epoch, its log, and the checkpoint that comes out.

`DIR/config.json` and `DIR/model.safetensors` are the checkpoint (components/experts.py). `DIR/training/`
holds what a killed training goes on from: `told.json` (the settings and data that it is of),
`state.safetensors` (epochs done, parameters and Adam's moments), the photos' features, and `log.csv`. Files
are written aside and renamed. One training at a time has the folder.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gamer.index.json_checked import JsonError, read, read_as
from gamer.index.replacing import replacing

from ..components.experts import ALL, MODEL_TYPE
from ..errors import ExportError
from ..networks import lora
from ..networks.ranks import WHOLE
from .projection import Projection

Told = dict[str, Any]


class RunFolder:
    """`told`: what the training is of, as JSON values; a state of something else is not continued."""

    def __init__(self, out: Path, told: Told) -> None:
        self.out, self.inner, self.told = out, out / "training", told

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the folder. Raises ExportError if another training has it, or if it cannot be written."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.inner / "lock", timeout=0)
        try:
            self.inner.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout:
            raise ExportError(
                f"{self.out}: another training writes here: wait for it, or give another -o"
            ) from None
        except OSError as error:
            raise _cannot_write(self.out, str(error.strerror)) from None
        try:
            yield
        finally:
            lock.release()

    def check(self) -> None:
        """Raises ExportError if the folder holds a training of something else. Writes nothing."""
        path = self.inner / "told.json"
        if not path.exists():
            return
        try:
            found = read_as(dict[str, Any], read(path), str(path))
        except JsonError as error:
            raise ExportError(f"{error}: delete {self.inner}") from None
        other = [name for name, value in self.told.items() if found.get(name) != value]
        if other:
            raise ExportError(
                f"{self.out}: a training with another {', '.join(other)} is there: give another -o, or "
                "delete it"
            )

    def begin(self) -> None:
        """The folder is this training's. Raises ExportError as `check` does, and on a full disk."""
        self.check()
        write_json(self.inner / "told.json", self.told)

    def resume(self, model: nn.Module, optimiser: torch.optim.Optimizer | None = None) -> int:
        """The epochs that an interrupted training finished, after loading its state; 0 for none.

        Without an `optimiser`, the model's part alone.
        """
        state = self.inner / "state.safetensors"
        return self._load(state, model, optimiser) if state.exists() else 0

    def _load(self, path: Path, model: nn.Module, optimiser: torch.optim.Optimizer | None) -> int:
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            tensors = load_file(path)
            for name, parameter in model.named_parameters():
                with torch.no_grad():
                    parameter.copy_(tensors[f"model.{name}"])
                if optimiser is None or f"step.{name}" not in tensors:  # Adam never saw a gradient of it
                    continue
                optimiser.state[parameter] = {
                    "step": tensors[f"step.{name}"],  # Adam counts on the processor
                    **{
                        key: tensors[f"{key}.{name}"].to(parameter.device)
                        for key in ("exp_avg", "exp_avg_sq")
                    },
                }
            return int(tensors["epochs"])
        except (OSError, KeyError, RuntimeError, SafetensorError) as error:
            raise ExportError(f"{path}: not a whole state ({str(error)[:80]}): delete {self.inner}") from None

    def keep(self, model: nn.Module, optimiser: torch.optim.Optimizer, epochs: int) -> None:
        """Stores the state after `epochs`."""
        tensors = {"epochs": torch.tensor(epochs)}
        tensors |= {f"model.{name}": p.detach().contiguous() for name, p in model.named_parameters()}
        for name, parameter in model.named_parameters():
            for key, value in optimiser.state.get(parameter, {}).items():
                tensors[f"{key}.{name}"] = value.contiguous()
        save_tensors(self.inner / "state.safetensors", tensors)

    def log(self, row: dict[str, float]) -> None:
        """Appends a row to log.csv, with a heading if the file is new."""
        path = self.inner / "log.csv"
        fresh = not path.exists()
        try:
            with path.open("a", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, list(row))
                if fresh:
                    writer.writeheader()
                writer.writerow(row)
        except OSError as error:
            raise _cannot_write(path, str(error.strerror)) from None

    def publish(self, model: Projection, **more: object) -> None:
        """Writes the checkpoint: tensors first, so that a config.json means a whole one.

        `more`: what its config.json says of the training beside `told`, or instead of it.
        """
        sizes, side = model.sizes, model.side
        tensors = {name: p.detach().contiguous() for name, p in model.named_parameters()}
        save_tensors(self.out / "model.safetensors", tensors)
        config: Told = {"model_type": MODEL_TYPE, **dataclasses.asdict(sizes), "query": side.query}
        if side.width:
            config["head"] = {"width": side.width, "slots": side.slots}
        if model.llm_decoder is not None:
            config |= _changes_told(model.llm_decoder)
        write_json(self.out / "config.json", config | {"training": self.told | more})


def _changes_told(changes: nn.ModuleList) -> Told:
    """What config.json says of the language model's changes."""
    rank = lora.rank_of(changes)
    if rank != WHOLE:
        return {"lora": rank}
    sha = hashlib.sha256()
    for parameter in changes.parameters():
        sha.update(parameter.detach().cpu().contiguous().numpy().tobytes())
    return {"lora": ALL, "changes": sha.hexdigest()[:8]}


def save_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Writes safetensors aside, then renames them. Raises ExportError if they cannot be written.

    The library writes aside, too, under a name that nobody knows: in a folder of its own, which is deleted
    before and after, so that a killed training leaves nothing for good.
    """
    from safetensors.torch import save_file

    folder = path.with_name(f"{path.name}.saving")
    try:
        with replacing(path) as aside:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            save_file(tensors, folder / path.name)
            shutil.copymode(aside, folder / path.name)  # the library's is for its owner alone
            (folder / path.name).replace(aside)
            folder.rmdir()
    except Exception as error:  # safetensors raises its own class for a full disk
        raise ExportError(f"{path}: cannot be written ({str(error)[:80]}): the last state is kept") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_json(path: Path, value: Told) -> None:
    """Writes JSON aside, then renames it. Raises ExportError if it cannot be written."""
    with replacing(path, partial(_cannot_write, path)) as aside:
        aside.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _cannot_write(path: Path, why: str) -> ExportError:
    return ExportError(f"{path}: cannot be written ({why}): free space, or give another -o")
