"""Query adapters as files: what was written is read, and nothing else is taken for one."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models import query_adapter
from gamer.runtime.models.query_adapter import Header, QueryAdapter
from gamer.runtime.models.text import embed

SHAPE = (2, 2, 3, 4)
HEADER = {"format": 1, "tower": "a tower", "shape": list(SHAPE)}
VALUES = np.arange(48, dtype=np.float32).reshape(SHAPE)


def tower(adapter: tuple[int, ...] | None = SHAPE) -> Any:
    inputs = [SimpleNamespace(name="input_ids", shape=(1, "tokens"))]
    if adapter is not None:
        inputs.append(SimpleNamespace(name="adapter", shape=adapter))
    return SimpleNamespace(inputs=tuple(inputs))


def written(path: Path, header: dict[str, Any], values: bytes = VALUES.tobytes()) -> Path:
    path.write_bytes(json.dumps(header).encode() + b"\n" + values)
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = query_adapter.path_beside(tmp_path / "mine.gamer")
    query_adapter.write(path, QueryAdapter(Header(1, "a tower", SHAPE, "of titles", 0.25, 0.5), VALUES))
    found = query_adapter.read(path)
    assert path.name == "mine.gamer.adapter"
    assert found.header == Header(1, "a tower", SHAPE, "of titles", 0.25, 0.5)
    assert np.array_equal(found.values, VALUES)
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize(
    ("header", "values"),
    [
        (HEADER | {"format": 2}, VALUES.tobytes()),
        (HEADER | {"shape": [2, 3, 3, 4]}, VALUES.tobytes()),
        (HEADER | {"shape": [2, 2, 3]}, VALUES.tobytes()),
        (HEADER | {"shape": [60_000, 2, 60_000, 60_000]}, VALUES.tobytes()),
        (HEADER, VALUES.tobytes()[:-1]),
        (HEADER, VALUES.tobytes() + b"\0"),
        (HEADER, np.full(SHAPE, np.nan, np.float32).tobytes()),
        (HEADER | {"made": "x" * 5000}, VALUES.tobytes()),
        ({"format": 1, "shape": list(SHAPE)}, VALUES.tobytes()),
    ],
)
def test_another_file_is_refused_in_one_line(header: dict[str, Any], values: bytes, tmp_path: Path) -> None:
    path = written(tmp_path / "x.adapter", header, values)
    with pytest.raises(RuntimeFailure, match="not a query adapter") as raised:
        query_adapter.read(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_bytes_that_are_no_json_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.adapter"
    for content in (b"", b"\xff\xfe\n", b"[" * 4000):
        path.write_bytes(content)
        with pytest.raises(RuntimeFailure, match="not a query adapter"):
            query_adapter.read(path)
    with pytest.raises(RuntimeFailure, match="not a query adapter"):
        query_adapter.read(tmp_path / "nowhere.adapter")


def test_an_adapter_fits_its_own_tower_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "x.adapter", HEADER)
    assert np.array_equal(query_adapter.read_for(path, tower(), "a tower"), VALUES)
    for artifact, source in (
        (tower(), "another"),
        (tower((1, 2, 3, 4)), "a tower"),
        (tower(None), "a tower"),
    ):
        with pytest.raises(RuntimeFailure, match="made for the text tower 'a tower'"):
            query_adapter.read_for(path, artifact, source)


def test_a_memory_is_read_with_zeros_and_a_query_with_the_adapter() -> None:
    given: list[Any] = []

    def run(inputs: dict[str, Any]) -> dict[str, Any]:
        given.append(inputs.get("adapter"))
        return {"embedding": np.ones((1, 4), np.float32)}

    session: Any = SimpleNamespace(artifact=tower(), run=run)
    embed(session, [1, 2])
    embed(session, [1, 2], VALUES)
    assert given[0].shape == SHAPE
    assert not given[0].any()
    assert given[1] is VALUES
    embed(SimpleNamespace(artifact=tower(None), run=run), [1])
    assert given[2] is None
