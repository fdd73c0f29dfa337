"""The values of a running program: constants (inline, in the weight file, or compressed), inputs, results
and states.

A constant is expanded on its first use to the type that operations compute in. Expanded constants are cached
up to a total of `KEPT_BYTES` bytes; the others are expanded again at each use, so that a model of any size
runs in bounded memory.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from ...errors import ExportError
from .blob import Blob
from .program import Stored, Text

KEPT_BYTES = 4 << 30
PREFIX = "@model_path/"


class Memory:
    """Values by name. `data`: the package's data folder; `kept_bytes`: the bytes for expanded constants.

    `live`: the inputs and results of the current run. `states`: may be those of another function.
    """

    def __init__(self, data: Path, kept_bytes: int, states: dict[str, Tensor]) -> None:
        self._data, self._room = data, kept_bytes
        self._blobs: dict[str, Blob] = {}
        self._expand: dict[str, Callable[[], Tensor]] = {}
        self._texts: dict[str, str] = {}
        self._held: dict[str, Tensor] = {}
        self._wide: dict[str, Tensor] = {}
        self._states = states
        self.live: dict[str, Tensor] = {}

    def add_constant(self, name: str, value: Tensor | Text | Stored | Callable[[], Tensor]) -> None:
        if isinstance(value, Text):
            self._texts[name] = value.text
        elif isinstance(value, Tensor):
            self._expand[name] = lambda: value
        elif isinstance(value, Stored):
            self._expand[name] = lambda: self._stored(value)
        else:
            self._expand[name] = value

    def add_state(self, name: str, value: Tensor) -> None:
        self._states[name] = value

    def _stored(self, value: Stored) -> Tensor:
        relative = value.file.removeprefix(PREFIX)
        path = (self._data / relative).resolve()
        if not value.file.startswith(PREFIX) or not path.is_relative_to(self._data.resolve()):
            raise ExportError(f"{self._data}: weight file {value.file!r} leaves the package: export again")
        if relative not in self._blobs:
            self._blobs[relative] = Blob(path)
        return self._blobs[relative].read(value.offset, value.type.dtype, value.type.shape)

    def get(self, bound: str | Tensor | Stored) -> Tensor:
        """A value in the type that the program declares. Raises ExportError for a value not yet computed."""
        if isinstance(bound, Tensor):
            return bound
        if isinstance(bound, Stored):
            return self._stored(bound)
        if bound in self.live:
            return self.live[bound]
        if bound not in self._held and bound not in self._expand:
            raise ExportError(f"value {bound!r} is used before anything makes it: export again")
        if bound in self._held:
            return self._held[bound]
        return self._keep(self._held, bound, self._expand[bound]())

    def wide(self, bound: str | Tensor | Stored) -> Tensor:
        """As `get`, but in the type that operations compute in: fp16 as fp32."""
        if isinstance(bound, str) and bound in self._wide:
            return self._wide[bound]
        if not isinstance(bound, str) or bound in self.live or bound not in self._expand:
            value = self.get(bound)
            return value.float() if value.dtype == torch.float16 else value
        value = self._held[bound] if bound in self._held else self._expand[bound]()
        return self._keep(self._wide, bound, value.float() if value.dtype == torch.float16 else value)

    def _keep(self, cache: dict[str, Tensor], name: str, value: Tensor) -> Tensor:
        size = value.numel() * value.element_size()
        if size <= self._room:
            self._room -= size
            cache[name] = value
        return value

    def text(self, name: str) -> str | None:
        return self._texts.get(name)

    def constant(self, name: str) -> bool:
        return name in self._expand or name in self._texts

    def states(self) -> dict[str, Tensor]:
        return self._states
