"""Suites of the kinds of tokenizer, each a small one that is configured like those of the bundles."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tools.conformance.fixture import Answers, Case, Given, Suite

KINDS = ("wordpiece", "bpe_bytelevel", "bpe_clip", "unigram", "unigram_bytes")


def tokens(kind: str, shared: Given, folder: Path, stack: ExitStack) -> Answers:
    """Token ids of a text by the tokenizer in the file; for the byte-level one also the decoded text."""
    del stack
    from tokenizers import Tokenizer

    opened: Any = Tokenizer.from_file(str(folder / shared["tokenizer"]))
    opened.no_padding()

    def answer(given: Given) -> Given:
        ids = list(opened.encode(given["text"]).ids)
        return {"ids": ids} | ({"text": opened.decode(ids)} if kind == "bpe_bytelevel" else {})

    return {"": answer}


def asked(kind: str, tokenizer: Path, texts: Sequence[str]) -> Suite:
    cases = (Case(f"{n:04d}", {"text": text}) for n, text in enumerate(texts))
    return Suite(kind, tuple(cases), {"tokenizer": str(tokenizer)})
