"""Encodes the names of entities and the texts of events that have no vector yet. Runs in the caller's
transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import apsw
import numpy as np

from ...errors import AlbumError
from ...records import FloatArray
from ...vectors.quantize import quantize
from ..declarations import event_tables
from ..declarations.sealed import ENTITIES
from . import event_rows

Encode = Callable[[Sequence[str]], FloatArray]  # texts → float32 [n, dim]
_TEXTS_A_CALL = 512  # texts given to the encoder at once, so that memory stays bounded
# By table: the rows without a vector, what their text is made of, and what seals a row afterwards.
_TODO = {
    "entities": "SELECT row, name FROM entities WHERE data IS NULL AND same_as IS NULL ORDER BY row",
    "events": "SELECT row, name, summary FROM events WHERE data IS NULL ORDER BY row",
}


def embed(db: apsw.Connection, where: str, dim: int, encode: Encode) -> None:
    """Gives every entity and event its vector, float32 [dim] before quantization.

    Raises AlbumError for vectors of another shape, or that are not finite.
    """
    entities: list[Any] = db.execute(_TODO["entities"]).fetchall()
    for row, scale, data in _vectors(
        where, "entity", [(row, str(name)) for row, name in entities], dim, encode
    ):
        db.execute("UPDATE entities SET scale=?, data=? WHERE row=?", (scale, data, row))
        ENTITIES.seal(db, row)
    events: list[Any] = db.execute(_TODO["events"]).fetchall()
    texts = [(row, event_rows.text_of(name, summary)) for row, name, summary in events]
    for row, scale, data in _vectors(where, "event", texts, dim, encode):
        db.execute("UPDATE events SET scale=?, data=? WHERE row=?", (scale, data, row))
        event_tables.SEALED.seal(db, row)


def _vectors(
    where: str, subject: str, texts: Sequence[tuple[int, str]], dim: int, encode: Encode
) -> Iterator[tuple[int, float, bytes]]:
    """Row, scale and signed bytes of each text's vector."""
    for start in range(0, len(texts), _TEXTS_A_CALL):
        part = texts[start : start + _TEXTS_A_CALL]
        array = np.asarray(encode([text for _, text in part]), np.float32)
        if array.shape != (len(part), dim) or not np.isfinite(array).all():
            wanted = f"finite [{len(part)}, {dim}]"
            raise AlbumError(
                f"{where}: {subject} vectors {array.shape} where {wanted} is needed; check the encoder"
            )
        codes, scales = quantize(array)
        for at, (row, _) in enumerate(part):
            yield row, float(scales[at]), codes[at].tobytes()
