"""What a decoder computed for earlier requests, for those that begin with the same tokens.

A request goes on from the longest beginning that is known: of what the decoder's own cache holds, as in a
dialogue's next turn, or of a stored cache, as where several dialogues take turns. A bundle's prefix
(prefix.py) is a stored cache from the start. Only slots with the very numbers that the request would compute
itself are taken (`Held.sure`), so that no answer depends on what was asked before. What was computed with an
adapter serves requests with the same one alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from .decoder import Decoder
from .kv_cache import NO_TOKEN, CacheArray

MOST_BYTES = 128 << 20  # of all stored caches; 2,900 tokens of SmolLM2-135M
# Slots that a cache must lose to be stored before: fewer are sooner computed again than copied.
WORTH_STORING = 64
# A token is chosen from logits, and a product of one row may add up in another order than one of several.
LEAST_COMPUTED = 2


@dataclass(frozen=True, eq=False)
class Prefix:
    """The KV cache [layers, 2, KV, P, Dh] of P token ids, computed with the same decoder.

    `adapter`: the name of the one that it was computed with, "" for none.
    """

    ids: tuple[int, ...]
    cache: CacheArray
    adapter: str = ""


class Reuse:
    """The stored caches of one decoder, of at most `most` bytes together: the longest unused goes first."""

    def __init__(self, decoder: Decoder, most: int = MOST_BYTES) -> None:
        self._decoder, self._most, self._lock = decoder, most, Lock()
        self._adapter = ""
        # By adapter and token ids, the longest unused first.
        self._stored: dict[tuple[str, tuple[int, ...]], Prefix] = {}

    def begin(self, ids: Sequence[int]) -> int:
        """Makes the decoder hold the longest known beginning of `ids`, and nothing else; returns its length.

        At least two tokens of `ids` remain to be computed.
        """
        held, most = self._decoder.held, max(0, len(ids) - LEAST_COMPUTED)
        own = min(common(ids, held.ids), most)
        if own > held.sure and self._decoder.alike():
            held.sure = len(held.ids)
        own = min(own, held.sure)
        with self._lock:
            fitting = (prefix for prefix in self._stored.values() if prefix.adapter == self._adapter)
            best = max(fitting, key=lambda prefix: common(ids, prefix.ids), default=None)
            known = 0 if best is None else min(common(ids, best.ids), most)
            if best is not None and known > own:
                self._put(best)
        self._keep(own)
        if best is None or known <= own:
            self._decoder.cut(own)
            return own
        self._decoder.restore(best.cache[..., :known, :], ids[:known])
        return known

    def switch(self, adapter: str) -> None:
        """Empties the decoder's own cache: what it computes from now on, it computes with this adapter."""
        self._keep(0)
        self._decoder.cut(0)
        self._adapter = adapter

    def offer(self, prefix: Prefix) -> None:
        """Stores a cache; those of the same adapter that it begins with are dropped for it."""
        with self._lock:
            same = [ids for adapter, ids in self._stored if adapter == prefix.adapter]
            if all(prefix.ids != ids[: len(prefix.ids)] for ids in same):
                for ids in [ids for ids in same if ids == prefix.ids[: len(ids)]]:
                    del self._stored[prefix.adapter, ids]
                self._put(prefix)

    def forget(self) -> None:
        """Drops all stored caches and empties the decoder's own."""
        with self._lock:
            self._stored.clear()
        self._decoder.reset()

    def _keep(self, own: int) -> None:
        """Stores the decoder's own cache if it is about to lose much of it, all but `own` slots."""
        held = self._decoder.held
        if held.sure - own >= WORTH_STORING and held.ids[0] != NO_TOKEN:
            self._decoder.cut(held.sure)
            self.offer(Prefix(tuple(held.ids), self._decoder.keep(), self._adapter))

    def _put(self, prefix: Prefix) -> None:
        """Stores a cache as the one used last, and drops what is too much."""
        key = prefix.adapter, prefix.ids
        self._stored.pop(key, None)
        self._stored[key] = prefix
        while sum(kept.cache.nbytes for kept in self._stored.values()) > self._most:
            del self._stored[next(iter(self._stored))]


def common(a: Sequence[int], b: Sequence[int]) -> int:
    """The length of the longest common beginning."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
