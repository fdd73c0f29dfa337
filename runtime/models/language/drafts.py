"""Several tokens a step: what will probably come next is read with what has come, and checked by its logits.

A refinement, a quotation and a tool call repeat what they read. So the tokens that followed the last few
where these stood before are a good guess ("prompt lookup", Saxena 2023; checked as in Leviathan et al. 2023,
arXiv 2211.17192, section 2). The model's choice at each of them is known after one call; a wrong guess is cut
from the cache. That is the same text only if a token's numbers do not depend on those computed with it
(`Decoder.alike`); elsewhere no guess is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gamer.index.records import FloatArray

from .decoder import Decoder
from .reuse import common

LONGEST, SHORTEST = 3, 2  # tokens that must have stood together before
MOST = 7  # tokens of a guess
LONGEST_PAUSE = 32  # steps without a guess after one that was wrong


class Drafts:
    """Guesses from a text that grows. Right ones make the next longer, wrong ones shorter and rarer."""

    def __init__(self, ids: Sequence[int]) -> None:
        self._ids: list[int] = []
        self._after: dict[tuple[int, ...], int] = {}  # tokens that stood together → the place after them
        self._size, self._pause, self._wait = 3, 1, 0
        self._grow(ids)

    def guess(self, new: Sequence[int], most: int) -> tuple[int, ...]:
        """At most `most` tokens that may follow the text, which goes on with `new`; often none."""
        self._grow(new)
        self._wait -= 1
        if self._wait > 0:
            return ()
        for count in range(LONGEST, SHORTEST - 1, -1):
            place = self._after.get(tuple(self._ids[-count:]))
            if place is not None and place < len(self._ids):
                return tuple(self._ids[place : place + min(self._size, most)])
        return ()

    def judge(self, guessed: int, right: int) -> None:
        """Learns how many tokens of a guess were right."""
        if right == guessed:
            self._size = min(MOST, 2 * self._size + 1)
        elif right < guessed:
            self._size = max(1, right)
        if right:
            self._pause = 1
        else:
            self._wait, self._pause = self._pause + 1, min(LONGEST_PAUSE, 2 * self._pause)

    def _grow(self, new: Sequence[int]) -> None:
        for token in new:
            # What ended before this token is now followed by it; the newest place is the best guess.
            for count in range(SHORTEST, LONGEST + 1):
                if len(self._ids) >= count:
                    self._after[tuple(self._ids[-count:])] = len(self._ids)
            self._ids.append(token)


class Ahead:
    """A decoder behind a prompt: reads the tokens that were chosen, and with them a guess at the next.

    `drafts`: None reads one token a call. `drafted`, `right`: tokens that were guessed, and those of them
    that were chosen.
    """

    def __init__(
        self,
        decoder: Decoder,
        slots: int,
        embed: Callable[[Sequence[int]], FloatArray],
        logits: FloatArray,
        drafts: Drafts | None,
    ) -> None:
        self._decoder, self._embed, self._drafts = decoder, embed, drafts
        self._slots, self._begin = slots, decoder.past
        self._read: list[int] = []  # tokens after the prompt that the decoder holds
        self._rows: dict[int, FloatArray] = {0: logits}  # count of tokens → the logits after them
        self._guess, self._told = range(0), 0
        self.drafted = self.right = 0

    def has_room(self, ids: Sequence[int]) -> bool:
        """Whether the decoder can read all of `ids`, the tokens chosen so far."""
        return self._begin + len(ids) <= self._slots

    def logits(self, ids: Sequence[int]) -> FloatArray:
        """The logits [V] after `ids`, the tokens chosen so far."""
        known = common(ids, self._read)
        row = self._rows.get(known)
        if known == len(ids) and row is not None:
            return row
        self._judge(known)
        self._decoder.cut(self._begin + known)
        unread = list(ids[known:])
        if len(unread) > 1 and self._begin + len(ids) == self._slots:
            # No token shares a call with the last slot's, so that it always has the same numbers.
            self._decoder.rows(self._embed(unread[:-1]), unread[:-1], 1)
            unread = unread[-1:]
        guess = self._guessed(ids)
        chunk = [*unread, *guess]
        rows = self._decoder.rows(self._embed(chunk), chunk, 1 + len(guess))
        self._read = [*ids, *guess]
        self._rows = {len(ids) + n: row for n, row in enumerate(rows)}
        self._guess = range(len(ids), len(self._read))
        return self._rows[len(ids)]

    def end(self, ids: Sequence[int]) -> None:
        """Cuts what was guessed and not chosen."""
        known = common(ids, self._read)
        self._judge(known)
        self._decoder.cut(self._begin + known)

    def _guessed(self, ids: Sequence[int]) -> tuple[int, ...]:
        if self._drafts is None:
            return ()
        new, self._told = ids[self._told :], len(ids)
        guess = self._drafts.guess(new, min(MOST, self._slots - 1 - self._begin - len(ids)))
        return guess if guess and self._decoder.alike() else ()

    def _judge(self, known: int) -> None:
        if self._drafts is not None and self._guess:
            right = min(known, self._guess.stop) - self._guess.start
            self._drafts.judge(len(self._guess), right)
            self.drafted, self.right = self.drafted + len(self._guess), self.right + right
            self._guess = range(0)
