"""Lengths for the dimensions that exported graphs leave open, by the names that exporters give them.

A literal table.
"""

from __future__ import annotations

from collections.abc import Mapping

_ONE = ("batch", "batch_size", "wanted", "beams")
_TOKENS = (
    "tokens",
    "sequence",
    "sequence_length",
    "seq_len",
    "seq",
    "ids",
    "source",
    "encoder_sequence_length",
)
_PAST = ("past", "past_sequence_length", "past_tokens")
_TOTAL = ("total", "total_sequence_length", "total_tokens")
PHOTO_HEIGHT, PHOTO_WIDTH = 600, 800  # of a tower that resizes in its own graph


def dims_of(tokens: int, past: int, given: Mapping[str, int]) -> dict[str, int]:
    """A run of `tokens` tokens after `past`; `given` (a user's NAME=N) goes before the table."""
    out = (
        dict.fromkeys(_ONE, 1)
        | dict.fromkeys(_TOKENS, tokens)
        | dict.fromkeys(_PAST, past)
        | dict.fromkeys(_TOTAL, past + tokens)
    )
    return out | {"height": PHOTO_HEIGHT, "width": PHOTO_WIDTH} | dict(given)
