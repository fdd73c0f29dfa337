"""Opens a bundle's tokenizer.json, which a stranger may have written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import BundleError

MAX_GROWTH = 16  # characters that the normalizers may make of one; a query of a line must not fill the memory
# What a normalizer of a kind makes of one character: one, or a few where Unicode's own tables say so.
_STEADY = frozenset(
    ("BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled")
    + ("Strip", "StripAccents")
)


def open_tokenizer(path: Path) -> Any:
    """A tokenizers.Tokenizer that does not pad.

    Raises BundleError for a file that is none, or that would make texts grow.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
        state = b"null" if tokenizer.normalizer is None else tokenizer.normalizer.__getstate__()
        growth = _growth(json.loads(state))
        tokenizer.no_padding()  # a text is padded by who runs the model, not to what a file asks for
        if growth <= MAX_GROWTH:
            tokenizer.encode("a word")  # a vocabulary without its token for unknown words fails here
    except Exception as error:  # the library raises nothing more precise
        raise BundleError(
            f"{path}: must be a tokenizer ({str(error)[:100]}); export the bundle again"
        ) from None
    if growth > MAX_GROWTH:
        raise BundleError(f"{path}: its normalizers must not make a text longer; export the bundle again")
    return tokenizer


def _growth(normalizer: Any) -> int:
    """How many characters become of one, at most. Raises ValueError for a kind that is not known."""
    kind = normalizer["type"] if normalizer else None
    if kind is None or kind in _STEADY:
        return 1
    if kind == "Sequence":
        total = 1
        for one in normalizer["normalizers"]:
            total = min(total * _growth(one), MAX_GROWTH + 1)
        return total
    if kind == "Prepend":
        return 1 + len(normalizer["prepend"])
    if kind == "Replace":
        return max(len(normalizer["content"]), 1)
    raise ValueError(f"normalizer {str(kind)[:40]!r} is not known")
