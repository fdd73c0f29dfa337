"""Query adapters: how a text tower reads queries, as a file of its own beside the tower.

An adapter is learned from what people call their photos, so that the query's vector v_Q comes near to the
vectors of the photos meant (the GAMER paper, Eq. 3 and 4, of which the query's side alone learns). The tower
takes it as an input, zeros for a memory: the photos' vectors stay, and no model is exported again. A bundle
may have a general one for its text tower; a person's own lies beside the album and takes its place.

The file: a line of JSON (`format`, `tower`, `shape`, and how it was made), then the values, float32, little
endian. It holds nothing but numbers and these words.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from gamer.index.json_checked import Between, Items, JsonError, Text, parse, read_as
from gamer.index.records import FloatArray
from gamer.index.replacing import replacing

from ..bundle.manifest import ADAPTER, Artifact
from ..errors import RuntimeFailure

FORMAT = 1
SUFFIX = ".adapter"  # of a person's own, after the album's name
MAX_HEADER = 4096  # bytes of the line
MAX_VALUES = 8 << 20
Side = Annotated[int, Between(1, 65_536)]


@dataclass(frozen=True)
class Header:
    """`tower`: the source of the text tower's weights. `shape`: [layers, 2, rank, H].

    `made`: how, for people. `before`, `after`: recall@5 of queries that were not learned from, without and
    with it and earlier searches; 0 where nothing was measured. `earlier`: what the owner's earlier searches
    weigh beside it (search/stages/earlier.py), in log-odds.
    """

    format: Annotated[int, Between(FORMAT, FORMAT)]
    tower: Annotated[str, Text(most=500)]
    shape: Annotated[tuple[Side, ...], Items(4)]
    made: Annotated[str, Text(most=500)] = ""
    before: Annotated[float, Between(0, 1)] = 0.0
    after: Annotated[float, Between(0, 1)] = 0.0
    earlier: Annotated[float, Between(0, 20)] = 0.0


@dataclass(frozen=True, eq=False)
class QueryAdapter:
    """`values`: float32, of the header's shape; [l, 0] and [l, 1] change layer l by x · [l, 0]ᵀ · [l, 1]."""

    header: Header
    values: FloatArray


def path_beside(album: Path) -> Path:
    """Where a person's own adapter lies."""
    return album.with_name(album.name + SUFFIX)


def read(path: Path) -> QueryAdapter:
    """Raises RuntimeFailure, one line, for a file that is no adapter."""
    try:
        with path.open("rb") as file:
            line = file.readline(MAX_HEADER)
            header: Header = read_as(Header, parse(line.decode("utf-8")), "adapter")
            count = int(np.prod(header.shape, dtype=np.int64))
            if not 0 < count <= MAX_VALUES or header.shape[1] != 2:
                raise ValueError(f"shape {list(header.shape)}")
            data = file.read(4 * count + 1)
        if len(data) != 4 * count:
            raise ValueError(f"{len(data)} bytes of values instead of {4 * count}")
        values = np.frombuffer(data, "<f4").reshape(header.shape).astype(np.float32)
        if not np.isfinite(values).all():
            raise ValueError("a value is not a number")
    except (OSError, ValueError, JsonError) as error:
        raise RuntimeFailure(
            f"{path}: not a query adapter ({str(error)[:100]}): delete it or train it again"
        ) from None
    return QueryAdapter(header, values)


def weight_of_earlier(path: Path) -> float:
    """What earlier searches weigh by a person's own adapter; 0 without one, or where the file is none."""
    try:
        return read(path).header.earlier if path.is_file() else 0.0
    except RuntimeFailure:
        return 0.0  # `Models.query_adapter` warns of it


def write(path: Path, adapter: QueryAdapter) -> None:
    """Writes the file aside, then renames it. Raises RuntimeFailure if it cannot be written."""
    line = json.dumps(asdict(adapter.header), ensure_ascii=False) + "\n"

    def failure(why: str) -> RuntimeFailure:
        return RuntimeFailure(f"{path}: cannot be written ({why}): free space, or say another place")

    with replacing(path, failure) as aside:
        aside.write_bytes(line.encode() + adapter.values.astype("<f4").tobytes())


def shape_of(artifact: Artifact) -> tuple[int, ...] | None:
    """[layers, 2, rank, H] of the adapters that a text tower takes; None for one that takes none."""
    found = next((spec.shape for spec in artifact.inputs if spec.name == ADAPTER), None)
    return None if found is None else tuple(int(side) for side in found)


def read_for(path: Path, artifact: Artifact, tower: str) -> FloatArray:
    """The values of the adapter in a file, for this text tower. Raises RuntimeFailure for that of another."""
    adapter = read(path)
    shape, header = shape_of(artifact), adapter.header
    if header.tower != tower or header.shape != shape:
        raise RuntimeFailure(
            f"{path}: made for the text tower {header.tower!r} {list(header.shape)}, not for {tower!r} "
            f"{'which takes no adapter' if shape is None else list(shape)}: train it again with this "
            "bundle's recipe"
        )
    return adapter.values
