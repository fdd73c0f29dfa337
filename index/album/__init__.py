"""The album file: its tables, its one writer, its read-only view, and its check, repair and compaction
(FORMAT.md).
"""
