"""Turns checkpoints into bundles and compares every artifact with torch.

The package can be called: `gamer.export("pocket", to="out/pocket")` is `gamer.export.door.export`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Exporter(ModuleType):
    """`import gamer.export` and `gamer.export(…)` name the same thing, so a module must take the call."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from .door import export

        return export(*arguments, **named)


sys.modules[__name__].__class__ = _Exporter
