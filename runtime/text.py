"""Text → unit vectors, through the bundle's tokenizer and text tower. Long texts become several chunks. Knows no search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .backends import Session

Floats = NDArray[np.float32]


class TextEncoder:
    """`encode` gives float32 [n, D], L2-normalised. Fixed-shape towers take one padded text a call, dynamic ones a batch of equal-ish lengths."""

    def __init__(self, session: Session, tokenizer: Path, max_tokens: int) -> None:
        from tokenizers import Tokenizer

        self._session, self.max_tokens = session, max_tokens
        self._tokenizer: Any = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        fixed = session.artifact.inputs[0].shape[1]
        self._fixed = fixed if isinstance(fixed, int) else None

    def ids(self, text: str) -> list[int]:
        """Token ids as the tower sees them, cut at `max_tokens`."""
        return list(self._tokenizer.encode(text).ids)[: self.max_tokens]

    def encode(self, texts: Sequence[str], batch: int = 32) -> Floats:
        """float32 [len(texts), D]; each text cut at `max_tokens`."""
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        out: list[Floats | None] = [None] * len(texts)
        step = 1 if self._fixed else batch
        for start in range(0, len(order), step):
            rows = order[start : start + step]
            for row, vector in zip(rows, self._run([self.ids(texts[i]) for i in rows]), strict=True):
                out[row] = vector
        kept = [v for v in out if v is not None]
        return np.stack(kept) if kept else np.zeros((0, int(self._session.artifact.outputs[0].shape[-1])), np.float32)

    def chunks(self, text: str, words: int = 80, overlap: int = 16) -> list[str]:
        """A long text as overlapping windows of words (each fits the tower); a short one as it is."""
        parts = text.split()
        if len(parts) <= words:
            return [text]
        return [" ".join(parts[i : i + words]) for i in range(0, max(1, len(parts) - overlap), words - overlap)]

    def _run(self, batch: list[list[int]]) -> Floats:
        width = self._fixed or max(1, *(len(ids) for ids in batch))
        tokens = np.zeros((len(batch), width), np.int64)
        mask = np.zeros_like(tokens)
        for row, ids in enumerate(batch):
            cut = ids[:width]
            tokens[row, : len(cut)] = cut
            mask[row, : len(cut)] = 1
        out = self._session.run({"input_ids": tokens, "attention_mask": mask})["embedding"].astype(np.float32)
        vectors: Floats = out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)
        return vectors
