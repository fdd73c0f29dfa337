"""Checks, before weights are read, that a model's tokenizer knows words and gives ids that the model has."""

from __future__ import annotations

import json
from typing import Any

from ..checked import read_as
from ..components import components, fixtures
from ..errors import ExportError
from ..settings import Settings

MAX_UNKNOWN = 0.01  # share of the fixtures' English words that may be unknown: none is, to a real tokenizer
MIN_TOKENS = 0.6  # share of the model's tokens; those that only fill its table are 2 %


def check(settings: Settings) -> None:
    """Raises ExportError for a text encoder or a language model whose tokenizer is not its own."""
    for part, text in (
        ("text", components.text_tokenizer),
        ("llm", lambda s: components.llm_tokenizer(s)[0]),
    ):
        if part in settings.chosen.parts():
            opened = components.checkpoint(settings, part)
            if opened.tokenizer is not None:
                source = opened.weights.source
                rows = components.text_half(opened).get("vocab_size")
                rows = read_as(int | None, rows, f"{source}: config.json: vocab_size")
                check_tokenizer(text(settings), rows, source)


def check_tokenizer(text: str, rows: int | None, source: str) -> None:
    """`text`: of tokenizer.json. `rows`: of the model's table of tokens. Raises ExportError."""
    from tokenizers import Tokenizer

    tokenizer: Any = Tokenizer.from_str(text)
    tokenizer.no_truncation()
    words = sorted(
        {word for line in (*fixtures.TEXTS, fixtures.PROSE) if line.isascii() for word in line.split()}
    )
    encoded = [tokenizer.encode(word, add_special_tokens=False).ids for word in words]
    model = json.loads(text)["model"]
    mark = model.get("unk_id", tokenizer.token_to_id(model.get("unk_token") or ""))
    unknown = [word for word, ids in zip(words, encoded, strict=True) if not ids or mark in ids]
    if len(unknown) > MAX_UNKNOWN * len(words):
        raise ExportError(
            f"{source}: its tokenizer does not know {len(unknown)} of {len(words)} common English words "
            f"({', '.join(unknown[:3])}): copy the tokenizer.json that belongs to the weights beside them"
        )
    if rows is not None and tokenizer.get_vocab_size() < MIN_TOKENS * rows:
        raise ExportError(
            f"{source}: its tokenizer has {tokenizer.get_vocab_size()} tokens, and the model {rows}: copy "
            "the tokenizer.json that belongs to the weights beside them"
        )
    greatest = max(max(ids) for ids in encoded if ids)
    if rows is not None and greatest >= rows:
        raise ExportError(
            f"{source}: its tokenizer gives the id {greatest}, and the model has {rows} tokens: copy the "
            "tokenizer.json that belongs to the weights beside them"
        )
