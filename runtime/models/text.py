"""Encodes texts as unit vectors with the bundle's tokenizer and text tower; splits long texts into chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gamer.index.records import FloatArray

from ..backends import Array, Session
from ..bundle.manifest import ADAPTER, TextPrompts
from .query_adapter import shape_of
from .tokenizers import open_tokenizer


class TextEncoder:
    """A text tower with its tokenizer; vectors are float32 and L2-normalised.

    A tower of fixed shape gets the padded text, one of dynamic shape only its tokens. `prompts`: words that
    the tower gets before a query, and before a memory or a name.
    """

    def __init__(
        self,
        session: Session,
        tokenizer: Path,
        max_tokens: int,
        prompts: TextPrompts | None = None,
    ) -> None:
        self._session, self.max_tokens = session, max_tokens
        self._prompts = prompts or TextPrompts()
        self._tokenizer: Any = open_tokenizer(tokenizer)

    @cached_property
    def words(self) -> dict[str, int]:
        """The whole words of the vocabulary in lower case, with their ids: the commoner, the smaller."""
        return whole_words(self._tokenizer.get_vocab())

    def ids(self, query: str) -> list[int]:
        """The token ids that the tower gets for a query, cut at `max_tokens`."""
        return self._ids(self._prompts.query + query)

    def encode_query(self, query: str) -> FloatArray:
        """The unit vector float32 [D] of a query, which is cut at `max_tokens`."""
        return self.embed(self.ids(query))

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors float32 [len(texts), D] of memories or names; each is cut at `max_tokens`.

        The tower runs once for each different text: int8 activations are scaled per call, so that in a batch
        a text's vector would depend on the other texts.
        """
        if not texts:
            return np.zeros((0, int(self._session.artifact.outputs[0].shape[-1])), np.float32)
        vectors = {text: self.embed(self._ids(self._prompts.memory + text)) for text in dict.fromkeys(texts)}
        return np.stack([vectors[text] for text in texts])

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text).ids)[: self.max_tokens]

    def chunks(self, text: str, words: int = 80, overlap: int = 16) -> list[str]:
        """A long text as overlapping windows of words (each fits the tower); a short one unchanged."""
        parts = text.split()
        if len(parts) <= words:
            return [text]
        return [
            " ".join(parts[i : i + words]) for i in range(0, max(1, len(parts) - overlap), words - overlap)
        ]

    def embed(self, ids: list[int], adapter: FloatArray | None = None) -> FloatArray:
        """The unit vector float32 [D] of token ids, as `ids` returns them.

        `adapter`: makes it a query's v_Q, near to the photos that are meant (query_adapter.py).
        """
        return embed(self._session, ids, adapter)


def embed(session: Session, ids: list[int], adapter: FloatArray | None = None) -> FloatArray:
    """The unit vector float32 [D] of token ids, which are padded or cut for a tower of fixed shape."""
    fixed = session.artifact.inputs[0].shape[1]
    width = fixed if isinstance(fixed, int) else max(1, len(ids))
    tokens = np.zeros((1, width), np.int64)
    mask = np.zeros_like(tokens)
    tokens[0, : len(ids)], mask[0, : len(ids)] = ids[:width], 1
    inputs: dict[str, Array] = {"input_ids": tokens, "attention_mask": mask}
    if (shape := shape_of(session.artifact)) is not None:
        inputs[ADAPTER] = np.zeros(shape, np.float32) if adapter is None else adapter
    out = session.run(inputs)["embedding"][0].astype(np.float32)
    vector: FloatArray = out / np.float32(max(float(np.linalg.norm(out)), 1e-12))
    return vector


def whole_words(vocabulary: Mapping[str, int]) -> dict[str, int]:
    """The whole words of a tokenizer's vocabulary in lower case, with their ids: the commoner, the less."""
    out: dict[str, int] = {}
    for token, number in vocabulary.items():
        word = token.removesuffix("</w>").lstrip("\u0120\u2581").lower()
        if word.isalpha() and number < out.get(word, number + 1):
            out[word] = number
    return out
