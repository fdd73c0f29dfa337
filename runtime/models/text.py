"""Text → unit vectors, through the bundle's tokenizer and text tower.

Long texts become several chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gamer.index.records import FloatArray

from ..backends import Session


class TextEncoder:
    """`encode` gives float32 [n, D], L2-normalised.

    Fixed-shape towers get a padded text, dynamic ones just its tokens.
    """

    def __init__(self, session: Session, tokenizer: Path, max_tokens: int) -> None:
        from tokenizers import Tokenizer

        self._session, self.max_tokens = session, max_tokens
        self._tokenizer: Any = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()

    def ids(self, text: str) -> list[int]:
        """Token ids as the tower sees them, cut at `max_tokens`."""
        return list(self._tokenizer.encode(text).ids)[: self.max_tokens]

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """float32 [len(texts), D]; each text cut at `max_tokens`.

        One text a call: int8 activations are scaled per call, so that in a batch a text's vector would depend
        on its neighbours.
        """
        if not texts:
            return np.zeros((0, int(self._session.artifact.outputs[0].shape[-1])), np.float32)
        return np.stack([self.embed(self.ids(text)) for text in texts])

    def chunks(self, text: str, words: int = 80, overlap: int = 16) -> list[str]:
        """A long text as overlapping windows of words (each fits the tower); a short one as it is."""
        parts = text.split()
        if len(parts) <= words:
            return [text]
        return [
            " ".join(parts[i : i + words]) for i in range(0, max(1, len(parts) - overlap), words - overlap)
        ]

    def embed(self, ids: list[int]) -> FloatArray:
        """Token ids, as `ids` gives them → unit vector float32 [D]."""
        return embed(self._session, ids)


def embed(session: Session, ids: list[int]) -> FloatArray:
    """Token ids → unit vector float32 [D]; a tower of fixed shape gets them padded, and no more than it
    takes.
    """
    fixed = session.artifact.inputs[0].shape[1]
    width = fixed if isinstance(fixed, int) else max(1, len(ids))
    tokens = np.zeros((1, width), np.int64)
    mask = np.zeros_like(tokens)
    tokens[0, : len(ids)], mask[0, : len(ids)] = ids[:width], 1
    out = session.run({"input_ids": tokens, "attention_mask": mask})["embedding"][0].astype(np.float32)
    vector: FloatArray = out / np.float32(max(float(np.linalg.norm(out)), 1e-12))
    return vector
