"""Opens a bundle's tokenizer.json, which a stranger may have written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BundleError
from . import token_patterns

MAX_GROWTH = 16  # characters that the normalizers may make of one; a query of a line must not fill the memory
# What a normalizer of a kind makes of one character: one, or a few where Unicode's own tables say so.
_STEADY = frozenset(
    ("BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled")
    + ("Strip", "StripAccents")
)


def open_tokenizer(path: Path) -> Any:
    """The tokenizer of a file. Raises BundleError for one that `from_text` refuses."""
    try:
        return from_text(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BundleError(
            f"{path}: must be a tokenizer ({str(error)[:100]}); export the bundle again"
        ) from None


def from_text(text: str) -> Any:
    """A tokenizers.Tokenizer that does not pad. `text`: of a tokenizer.json.

    Raises ValueError for one that is none, that makes texts grow, or that may take long to cut them.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(text)
        check(tokenizer)
        tokenizer.no_padding()  # a text is padded by who runs the model, not to what a file asks for
        tokenizer.encode("a word")  # a vocabulary without its token for unknown words fails here
    except BaseException as error:  # the library raises nothing more precise
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ValueError(str(error)) from None
    return tokenizer


def check(tokenizer: Any) -> None:
    """Raises ValueError for a tokenizers.Tokenizer that no bundle may have, which encodes nothing before."""
    if _growth(_state(tokenizer.normalizer)) > MAX_GROWTH:
        raise ValueError("its normalizers must not make a text longer")
    for part in (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder):
        for pattern in _patterns(_state(part)):
            token_patterns.check(pattern)
    _check_templates(_state(tokenizer.post_processor))


def _state(part: Any) -> Any:
    """The JSON of a tokenizer's part; None where it has none."""
    return None if part is None else json.loads(part.__getstate__())


def _patterns(state: Any) -> Iterator[str]:
    """The regular expressions in a part."""
    if isinstance(state, dict) and isinstance(state.get("Regex"), str):
        yield state["Regex"]
    for inner in state.values() if isinstance(state, dict) else state if isinstance(state, list) else ():
        yield from _patterns(inner)


def _check_templates(processor: Any) -> None:
    """Raises ValueError for a template with a token that it does not explain: the library panics there."""
    if processor and processor["type"] == "Sequence":
        for one in processor["processors"]:
            _check_templates(one)
    elif processor and processor["type"] == "TemplateProcessing":
        steps = [*processor["single"], *processor["pair"]]
        used = {step["SpecialToken"]["id"] for step in steps if "SpecialToken" in step}
        if unknown := used - processor["special_tokens"].keys():
            raise ValueError(f"its template has no ids for {min(unknown)[:40]!r}")


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
        if normalizer["content"] and any(map(token_patterns.check, _patterns(normalizer["pattern"]))):
            raise ValueError("a normalizer must not add text between letters")  # the library panics there
        return max(len(normalizer["content"]), 1)
    raise ValueError(f"normalizer {str(kind)[:40]!r} is not known")
