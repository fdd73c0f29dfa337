"""The states of queries, from fp32 torch, as the runtime computes them on a phone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..settings import Settings
from . import components
from .language import Language

_BATCH = 32
Progress = Callable[[int, int], None]  # done, total
Encode = Callable[[list[str]], NDArray[np.float32]]


def of_queries(
    settings: Settings, query: str, texts: Sequence[str], progress: Progress | None = None
) -> NDArray[np.float32]:
    """float32 [texts, W]: the state that `query` ("text" or "llm") takes of each text.

    Raises ExportError for an encoder-decoder.
    """
    return in_batches(encoder(settings, query), texts, progress)


def encoder(settings: Settings, query: str) -> Encode:
    """A batch of texts → float32 [texts, W], by models that are built once.

    "text": the text tower's vector, of unit length. "llm": the decoder's normalised hidden state at [EOS],
    which follows the text's tokens (paper section 3.4). Raises ExportError for an encoder-decoder.
    """
    if query == "llm":
        return of_language(Language.of(settings))
    encode = components.text_encoder(settings)
    return lambda texts: np.asarray(nn.functional.normalize(encode(texts), dim=-1).numpy(), np.float32)


def of_language(language: Language) -> Encode:
    """A batch of texts → their states at [EOS], of the language model as it is when it is called."""
    return lambda texts: np.asarray(language.states(language.ids(texts)).cpu().numpy(), np.float32)


def in_batches(encode: Encode, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
    """float32 [texts, W]: what `encode` makes of each text."""
    order = sorted(range(len(texts)), key=lambda n: len(texts[n]))  # alike in length: little padding
    rows: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(texts)
    with torch.no_grad():
        for start in range(0, len(order), _BATCH):
            at = order[start : start + _BATCH]
            for n, row in zip(at, encode([texts[n] for n in at]), strict=True):
                rows[n] = row
            if progress:
                progress(start + len(at), len(order))
    return np.stack(rows)
