"""The scales of a decoder's 8-bit cache: for each channel of a head the greatest size of its values while the
decoder reads a text. Rotation mixes two channels of a key by an angle that grows with the position, so both
get the greatest length of the pair, which no position changes.
"""

from __future__ import annotations

import numpy as np
import torch

from gamer.index.records import FloatArray

from ..components.export_module import ExportModule
from ..networks.decoder import DecoderStep
from ..networks.sequence import Cache, hidden_states
from ..settings import Settings
from .calibrated import LENGTH, pieces

_LEAST = 1e-6  # of a channel that is always zero


def scales(settings: Settings, item: ExportModule, target: str) -> FloatArray | None:
    """float32 [layers, 2, KV, Dh], of keys and values; None for a component without a cache of 8 bits."""
    step = item.module
    if settings.cache_of(target) != "int8" or not isinstance(step, DecoderStep):
        return None
    s, half = step.shape, step.shape.head_dim // 2
    peaks = torch.full((s.layers, 2, s.kv_heads, s.head_dim), _LEAST)
    with torch.no_grad():
        for piece in pieces(settings, min(LENGTH, settings.slots, s.positions or LENGTH)):
            cache = Cache()
            hidden_states(step, piece, torch.tensor([piece.shape[1]]), cache=cache)
            for n in range(s.layers):
                keys, values = (x[0].abs() for x in cache.of(n))  # [KV, S, Dh]
                if not s.positions:
                    keys = torch.hypot(keys[..., :half], keys[..., half:]).repeat(1, 1, 2)
                peaks[n] = torch.maximum(peaks[n], torch.stack([keys, values]).amax(2))
    return np.asarray(peaks.numpy() / np.float32(127), np.float32)
