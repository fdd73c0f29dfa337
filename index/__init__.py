"""The album: one file per person with a K-D tree, an entity graph and vectors. Files, trees, graphs; no model, no network.

This page is the room's menu. Heavy libraries (Pillow, usearch) are imported when a function first needs them.
"""

from .album import Album
from .errors import AlbumError, IngestError
from .graph import canonical, extract
from .ingest import load_pixels, scan
from .kdtree import Box, KDTree
from .records import MEMORY_SOURCES, Cube, Encoded, EntityMatch, FloatArray, Level, Memory, Mention, Photo, RowArray, Skip
from .results import AlbumMeta, AlbumStats, ChannelStats, CubeResult, SegmentStats, TextResult, VectorResult
from .vectors import choose_plan, dequantize, quantize
from .writer import AlbumWriter

__all__ = [
    "MEMORY_SOURCES",
    "Album",
    "AlbumError",
    "AlbumMeta",
    "AlbumStats",
    "AlbumWriter",
    "Box",
    "ChannelStats",
    "Cube",
    "CubeResult",
    "Encoded",
    "EntityMatch",
    "FloatArray",
    "IngestError",
    "KDTree",
    "Level",
    "Memory",
    "Mention",
    "Photo",
    "RowArray",
    "SegmentStats",
    "Skip",
    "TextResult",
    "VectorResult",
    "canonical",
    "choose_plan",
    "dequantize",
    "extract",
    "load_pixels",
    "quantize",
    "scan",
]
