"""Results that are committed, read back and drawn by the tables of what measured them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ..study import figures
from ..study.staleness import RESULTS
from ..study.studies import STUDIES
from ..tables import Sheet
from . import readme_tables


def read(file: str) -> dict[str, Any]:
    """The JSON of a file of bench/results."""
    document: dict[str, Any] = json.loads((RESULTS / file).read_text(encoding="utf-8"))
    return document


def recorded(kind: Any, raw: Any) -> Any:
    """The dataclass `kind` of the JSON that was written from one; what an old file lacks is empty."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if raw is None else recorded(inner[0], raw)
    if raw is None:
        return (origin or kind)()
    if isinstance(kind, type) and is_dataclass(kind):
        types: dict[str, Any] = get_type_hints(kind)
        return kind(**{f.name: recorded(types[f.name], raw.get(f.name)) for f in fields(kind)})
    if origin is tuple:
        of = [inner[0]] * len(raw) if inner[-1] is Ellipsis else inner
        return tuple(recorded(one, value) for one, value in zip(of, raw, strict=True))
    if origin is dict:
        return {inner[0](key): recorded(inner[1], value) for key, value in raw.items()}
    return raw


def tables(file: str) -> Sequence[Sheet | str]:
    """What the command that made a result prints of it. Raises KeyError for a file that none made."""
    command, *words = figures.words_of(file).split()
    if command == "study":
        work = STUDIES[words[0]].work()
        return work.tables(recorded(get_type_hints(work.measure)["return"], read(file)))
    return _DRAWN[command](read(file))


def _latency(raw: Any) -> Sequence[Sheet | str]:
    from ..latency import tables as drawn
    from ..latency.measure import Latency

    run = recorded(Latency, raw)
    return [*drawn.sheets(run), *drawn.notes(run)]


def _quality(raw: Any) -> Sequence[Sheet | str]:
    from ..retrieval import quality

    return quality.tables(recorded(quality.Quality, raw))


def _ops(raw: Any) -> Sequence[Sheet | str]:
    """With the times of `bench latency`, where a file has those of the same bundle."""
    timed = [read(file) for file in figures.FIGURES if figures.words_of(file).startswith("latency ")]
    return readme_tables.sheets(readme_tables.make([raw, *timed[:1]]))


_DRAWN = {"latency": _latency, "quality": _quality, "ops": _ops}
