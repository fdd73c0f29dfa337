"""The album: one file per person with a K-D tree, an entity graph and vectors.

This room runs no model and uses no network. This module is its public interface: a name's module is imported
when the name is first used, so that a search does not pay for importing ingestion; heavy libraries (Pillow,
usearch) are imported when a function first needs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .album.album import Album
    from .album.ids import event_id, image_id
    from .album.preferences import Preferences, reorder
    from .album.results import AlbumMeta, AlbumStats, ChannelStats, SegmentStats, TextResult
    from .album.sharing import leaving, may_leave
    from .album.writing.writer import AlbumWriter
    from .entities.extract import Extractor, canonical, extract
    from .errors import AlbumError, IngestError
    from .ingest import Size, load_photo, load_pixels, scan
    from .opened import Opened, OpenedLog
    from .records import (
        MEMORY_SOURCES,
        Clip,
        Cube,
        Encoded,
        EntityMatch,
        Event,
        FloatArray,
        IndexedPhoto,
        Level,
        Memory,
        Mention,
        Photo,
        RowArray,
        Skip,
    )
    from .row_sets import RowSet, distinct
    from .space.cubes import CubeResult
    from .space.kdtree import Box, KDTree
    from .vectors.nearest import VectorResult
    from .vectors.quantize import dequantize, greatest, quantize, top

__all__ = [
    "MEMORY_SOURCES",
    "Album",
    "AlbumError",
    "AlbumMeta",
    "AlbumStats",
    "AlbumWriter",
    "Box",
    "ChannelStats",
    "Clip",
    "Cube",
    "CubeResult",
    "Encoded",
    "EntityMatch",
    "Event",
    "Extractor",
    "FloatArray",
    "IndexedPhoto",
    "IngestError",
    "KDTree",
    "Level",
    "Memory",
    "Mention",
    "Opened",
    "OpenedLog",
    "Photo",
    "Preferences",
    "RowArray",
    "RowSet",
    "SegmentStats",
    "Size",
    "Skip",
    "TextResult",
    "VectorResult",
    "canonical",
    "dequantize",
    "distinct",
    "event_id",
    "extract",
    "greatest",
    "image_id",
    "leaving",
    "load_photo",
    "load_pixels",
    "may_leave",
    "quantize",
    "reorder",
    "scan",
    "top",
]

_HOME = {
    "Album": "album.album",
    "AlbumError": "errors",
    "AlbumMeta": "album.results",
    "AlbumStats": "album.results",
    "AlbumWriter": "album.writing.writer",
    "Box": "space.kdtree",
    "ChannelStats": "album.results",
    "Clip": "records",
    "Cube": "records",
    "CubeResult": "space.cubes",
    "Encoded": "records",
    "EntityMatch": "records",
    "Event": "records",
    "Extractor": "entities.extract",
    "FloatArray": "records",
    "IngestError": "errors",
    "KDTree": "space.kdtree",
    "IndexedPhoto": "records",
    "Level": "records",
    "MEMORY_SOURCES": "records",
    "Memory": "records",
    "Mention": "records",
    "Opened": "opened",
    "OpenedLog": "opened",
    "Photo": "records",
    "Preferences": "album.preferences",
    "RowArray": "records",
    "RowSet": "row_sets",
    "SegmentStats": "album.results",
    "Size": "ingest",
    "Skip": "records",
    "TextResult": "album.results",
    "VectorResult": "vectors.nearest",
    "canonical": "entities.extract",
    "dequantize": "vectors.quantize",
    "distinct": "row_sets",
    "event_id": "album.ids",
    "extract": "entities.extract",
    "greatest": "vectors.quantize",
    "image_id": "album.ids",
    "leaving": "album.sharing",
    "load_photo": "ingest",
    "load_pixels": "ingest",
    "may_leave": "album.sharing",
    "quantize": "vectors.quantize",
    "reorder": "album.preferences",
    "scan": "ingest",
    "top": "vectors.quantize",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value
