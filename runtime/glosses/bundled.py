"""The tables of glosses of an open bundle, opened when the first query is read."""

from __future__ import annotations

from functools import cached_property

from ..models.models import Models
from .guess import ranks
from .reading import Reader
from .table import GlossTable

BEGINNING = "glosses-"  # of the files' names


class Bundled:
    """`reader`: what reads queries in other languages than English; None for a bundle without tables."""

    def __init__(self, models: Models) -> None:
        self._models = models

    @cached_property
    def reader(self) -> Reader | None:
        """Raises BundleError for a damaged table."""
        names = _tables(self._models)
        if not names:
            return None
        tables = [GlossTable(self._models.data(name)) for name in names]
        return Reader(tables, ranks(self._models.text.words))


def has_tables(models: Models) -> bool:
    """Whether a bundle reads other languages than English by glosses."""
    return bool(_tables(models))


def _tables(models: Models) -> list[str]:
    return [file.name for file in models.manifest.files if file.name.startswith(BEGINNING)]
