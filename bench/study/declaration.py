"""What a study is: its place in the list (`Study`), its code (`Work`), and what a run of it is given (`Run`).

A study's module ends with a `Work`. The list in studies.py names it, so that listing imports no measurement.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ..tables import Sheet

if TYPE_CHECKING:
    from gamer.runtime.models.models import Models

S = TypeVar("S")
R = TypeVar("R")
Tell = Callable[[str], None]
# How many of a thing a study takes → the least and the most.
COUNTS = {"": (0, 0), "?": (0, 1), "1": (1, 1), "+": (1, 1000), "*": (0, 1000)}


@dataclass(frozen=True)
class About:
    """What is known of a setting beside its type and its default, as an annotation of its field.

    `least`, `most`: of numbers; `choices`: of texts; `quick`: the value in a quick run, None for the default.
    """

    what: str
    least: float = -math.inf
    most: float = math.inf
    choices: tuple[str, ...] = ()
    quick: object = None


@dataclass(frozen=True)
class NoSettings:
    """Of a study that has none of its own."""


@dataclass(frozen=True)
class Run(Generic[S]):
    """What a study is given.

    `home`: an existing folder for what is worth keeping between runs. `tell`: shows what is being done.
    """

    settings: S
    bundles: tuple[Path, ...] = ()
    data: tuple[Path, ...] = ()
    album: Path | None = None
    home: Path = Path()
    threads: int = 1
    tell: Tell = lambda text: None

    @property
    def bundle(self) -> Path:
        return self.bundles[0]

    @cached_property
    def models(self) -> Models:
        """The models of the first bundle, with ONNX Runtime. Raises BundleError."""
        from gamer.runtime.models.models import Models

        return Models.open(self.bundle, "onnx", self.threads)

    @property
    def recipe(self) -> str:
        """The first bundle's recipe and quantization, as results name them."""
        return f"{self.models.manifest.recipe} {self.models.manifest.quant}"


@dataclass(frozen=True)
class Work(Generic[S, R]):
    """`settings`: a frozen dataclass, read by settings.py. `measure`: returns a dataclass,
    which the driver writes with the machine, the command and the time. `tables`: what is printed of it.
    """

    settings: type[S]
    measure: Callable[[Run[S]], R]
    tables: Callable[[R], Sequence[Sheet | str]]


@dataclass(frozen=True)
class Study:
    """`what`: one line. `where`: "module:NAME" of its Work, below gamer.bench.

    `bundles`, `data`, `album`: how many it takes, of COUNTS. `measures`: files and folders of the repository
    whose change makes a result old. `extra`: what is to be installed for it.
    """

    name: str
    what: str
    where: str
    measures: tuple[str, ...]
    bundles: str = "1"
    data: str = ""
    album: str = ""
    extra: str = "bench"

    def work(self) -> Work[Any, Any]:
        """Imports the measurement. Raises ImportError without the packages that it needs."""
        module, _, name = self.where.partition(":")
        package = __name__.rsplit(".", 2)[0]
        return cast(Work[Any, Any], getattr(importlib.import_module(f"{package}.{module}"), name or "WORK"))
