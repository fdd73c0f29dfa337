"""The states of queries, from fp32 torch, as the runtime computes them on a phone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..errors import ExportError
from ..networks.decoder import DecoderStep
from ..networks.sequence import hidden_states
from ..settings import Settings
from . import components

_BATCH = 32
Progress = Callable[[int, int], None]  # done, total


def of_queries(
    settings: Settings, query: str, texts: Sequence[str], progress: Progress | None = None
) -> NDArray[np.float32]:
    """float32 [texts, W]: the state that `query` ("text" or "llm") takes of each text.

    "text": the text tower's vector, of unit length. "llm": the decoder's normalised hidden state at [EOS],
    which follows the text's tokens (paper section 3.3.2). Raises ExportError for an encoder-decoder.
    """
    of_batch = _of_tower(settings) if query == "text" else _of_decoder(settings)
    order = sorted(range(len(texts)), key=lambda n: len(texts[n]))  # alike in length: little padding
    rows: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(texts)
    with torch.no_grad():
        for start in range(0, len(order), _BATCH):
            at = order[start : start + _BATCH]
            for n, row in zip(at, of_batch([texts[n] for n in at]), strict=True):
                rows[n] = row
            if progress:
                progress(start + len(at), len(order))
    return np.stack(rows)


def _of_tower(settings: Settings) -> Callable[[list[str]], NDArray[np.float32]]:
    encode = components.text_encoder(settings)
    return lambda texts: np.asarray(nn.functional.normalize(encode(texts), dim=-1).numpy(), np.float32)


def _of_decoder(settings: Settings) -> Callable[[list[str]], NDArray[np.float32]]:
    from tokenizers import Tokenizer

    text, ends = components.llm_tokenizer(settings)
    tokenizer = Tokenizer.from_str(text)
    step = components.build(settings, "llm_decoder", "fp32").module
    table = components.build(settings, "llm_embed", "fp32").module
    if not isinstance(step, DecoderStep):
        raise ExportError(
            f"recipe {settings.recipe}: no state at [EOS] of an encoder-decoder can be trained on"
        )

    def of_batch(texts: list[str]) -> NDArray[np.float32]:
        ids = [[*tokenizer.encode(t).ids, ends[-1]] for t in texts]
        lengths = torch.tensor([len(row) for row in ids])
        embeds = torch.zeros(len(ids), int(lengths.max()), step.shape.hidden)
        for n, row in enumerate(ids):
            embeds[n, : len(row)] = table(torch.tensor(row))
        hidden = hidden_states(step, embeds, lengths)
        return np.asarray(hidden[torch.arange(len(ids)), lengths - 1].numpy(), np.float32)

    return of_batch
