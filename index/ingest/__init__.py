"""Reads photo folders (EXIF, sidecars, chat logs) and album JSONL files, and yields Photos.

An input that cannot be ingested yields a Skip with the reason; no content of a file makes a scan raise.
Scanning reads headers and text; pixels are read only by `load_pixels` and `load_photo`.
"""

from .picture import rendered
from .pixels import Size, load_pixels
from .remembered import Remembered
from .shown import load_photo
from .source import count, scan

__all__ = ["Remembered", "Size", "count", "load_photo", "load_pixels", "rendered", "scan"]
