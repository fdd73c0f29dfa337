"""The album file: its tables, the one writer, the read-only view, and what checks, repairs and compacts it
(FORMAT.md).
"""
