"""Texts of strangers on their way to a screen, a prompt or a log."""

from __future__ import annotations


def one_line(text: str, most: int, more: str = "") -> str:
    """`text` in one line of at most `most` printable characters; cut ones end with `more`."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return flat if len(flat) <= most else flat[: most - len(more)] + more
