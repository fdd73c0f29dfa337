"""Turns what people have into Photos: folders with EXIF, sidecars and chat logs, and album JSONL. What cannot
be taken is a Skip with its reason.

Reads headers and text; pixels only when `load_pixels` is called. Knows no model and no album file. Nothing
that a file holds makes it raise.
"""

from .picture import rendered
from .pixels import load_pixels
from .source import count, scan

__all__ = ["count", "load_pixels", "rendered", "scan"]
