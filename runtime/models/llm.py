"""The small LLM: token ids and soft prompts in, text out, token by token.

`stream` yields pieces as they come and may be closed at any time, or cancelled from another thread;
`generate` collects them. A prefix is the kept cache of a prompt's fixed beginning (prefix.py): with one, only
the tokens after it are computed. An encoder-decoder reads the whole prompt, soft prompts included, with its
encoder, and answers from its start token on; prefixes are not for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event
from time import perf_counter_ns

import numpy as np

from gamer.index.records import FloatArray

from ..backends import Session
from ..bundle.manifest import Language
from ..errors import RuntimeFailure
from .decoder import Decoder, EncoderDecoder
from .grammar import Constraint
from .sampling import GREEDY, Sampling, pick

# Why a generation ended: an end token, a stop string, `max_new` tokens, no cache slot left, a cancel, or a
# grammar with nothing to add.
ENDS = ("end", "stop", "length", "full", "cancelled", "grammar")


@dataclass(frozen=True, eq=False)
class Prefix:
    """The kept cache [layers, 2, KV, P, Dh] of P token ids, computed by this very decoder (prefix.py checks
    that).
    """

    ids: tuple[int, ...]
    cache: FloatArray


@dataclass(frozen=True, eq=False)
class Request:
    """What to generate: prompt `ids` after `soft` prompts [P, H] (if any); at most `max_new` tokens; stop
    strings end it and are cut off.

    `constraint`: what may be said at all. `prefix`: used when the ids begin with its ids and no soft prompt
    stands before them.
    """

    ids: tuple[int, ...]
    max_new: int
    soft: FloatArray | None = None
    sampling: Sampling = GREEDY
    stop: tuple[str, ...] = ()
    constraint: Constraint | None = None
    prefix: Prefix | None = None
    cancel: Event | None = None


@dataclass(frozen=True)
class Piece:
    """One token and the text that is certain now: a stop string's beginning and half a letter are held back
    until they are decided.
    """

    token: int
    text: str


@dataclass(frozen=True)
class Generation:
    """What was generated: token ids without the end token, their text up to a stop string, why it ended, and
    the time of each part (ns).

    `computed`: prompt positions that were computed rather than taken from a prefix. `first_ns`: from the call
    to the first token's id.
    """

    ids: tuple[int, ...]
    text: str
    ended: str
    prompt_tokens: int
    computed: int
    first_ns: int
    decode_ns: int


@dataclass
class _Run:
    """The state of one generation."""

    request: Request
    begin: int = field(default_factory=perf_counter_ns)
    ids: list[int] = field(default_factory=list)
    text: str = ""
    ended: str = ""
    prompt: int = 0
    computed: int = 0
    first: int = 0


class LanguageModel:
    """Token table and decoder together. Not thread-safe: it owns one cache, so one stream at a time.

    `decode`: token ids → text. Text, and with it stop strings, needs it; without one `text` stays empty.
    """

    def __init__(
        self,
        embed: Session,
        decoder: Decoder,
        language: Language,
        decode: Callable[[Sequence[int]], str] | None = None,
    ) -> None:
        self._embed, self.decoder, self.language, self._decode = embed, decoder, language, decode

    def embed(self, ids: Sequence[int]) -> FloatArray:
        """ids → [S, H]. The table may take one id a call (fixed-shape targets) or many."""
        wanted = self._embed.artifact.inputs[0].shape[0]
        if wanted == 1 and len(ids) > 1:
            return np.concatenate([self.embed([i]) for i in ids])
        return np.asarray(self._embed.run({"ids": np.array(ids, np.int64)})["embeds"], np.float32)

    def generate(self, request: Request) -> Generation:
        """Runs a request to its end. Raises RuntimeFailure if the prompt does not fit."""
        run = _Run(request)
        for _ in self._pieces(run):
            pass
        done = perf_counter_ns()
        first = run.first or done
        return Generation(
            ids=tuple(run.ids),
            text=run.text,
            ended=run.ended,
            prompt_tokens=run.prompt,
            computed=run.computed,
            first_ns=first - run.begin,
            decode_ns=done - first,
        )

    def stream(self, request: Request) -> Generator[Piece, None, None]:
        """The same, piece by piece; closing the iterator ends the generation. The pieces' text joined is the
        generation's text.
        """
        return self._pieces(_Run(request))

    def _pieces(self, run: _Run) -> Generator[Piece, None, None]:
        logits = self._prefill(run)
        said = 0
        for token in self._tokens(run, logits):
            run.ids.append(token)
            sure = self._grow(run)
            if run.ended:  # a stop string: what stands before it is all that is left to say
                yield Piece(token, run.text[said:])
                return
            yield Piece(token, run.text[said:sure])
            said = max(said, sure)
        if run.ids and said < len(run.text):
            yield Piece(run.ids[-1], run.text[said:])

    def _prefill(self, run: _Run) -> FloatArray:
        request, prefix = run.request, run.request.prefix
        if not request.ids and request.soft is None:
            raise RuntimeFailure("nothing to go on from: the prompt is empty")
        if request.stop and self._decode is None:
            raise RuntimeFailure("stop strings need a tokenizer: this language model was opened without one")
        if isinstance(self.decoder, EncoderDecoder):
            return self._read(run, self.decoder)
        self.decoder.reset()
        known = 0
        # At least one position is always computed: its logits are where the answer begins.
        if (
            prefix is not None
            and request.soft is None
            and request.ids[: len(prefix.ids)] == prefix.ids
            and len(prefix.ids) < len(request.ids)
        ):
            self.decoder.restore(prefix.cache)
            known = len(prefix.ids)
        rest = [self.embed(request.ids[known:])] if request.ids[known:] else []
        prompt = np.concatenate(rest if request.soft is None else [request.soft, *rest])
        run.prompt, run.computed = known + len(prompt), len(prompt)
        return self.decoder.forward(prompt)[0]

    def _read(self, run: _Run, decoder: EncoderDecoder) -> FloatArray:
        if self.language.start_id is None:
            raise RuntimeFailure(
                "the bundle has an encoder but names no token to start its answers with: export it again"
            )
        ids = [self.embed(run.request.ids)] if run.request.ids else []
        prompt = np.concatenate(ids if run.request.soft is None else [run.request.soft, *ids])
        run.prompt = run.computed = len(prompt)
        decoder.read(prompt)
        return decoder.forward(self.embed([self.language.start_id]))[0]

    def _tokens(self, run: _Run, logits: FloatArray) -> Iterator[int]:
        """Chosen tokens, until one of ENDS; a token is computed only once the next one is asked for."""
        request, random = run.request, np.random.default_rng(run.request.sampling.seed)
        for step in range(request.max_new):
            if request.cancel is not None and request.cancel.is_set():
                run.ended = "cancelled"
                return
            if step:
                if self.decoder.past >= self.language.max_seq:
                    run.ended = "full"
                    return
                logits = self.decoder.forward(self.embed(run.ids[-1:]))[0]
            token = self._choose(request, logits, random)
            run.first = run.first or perf_counter_ns()
            if token is None or token in self.language.eos_ids:
                run.ended = "grammar" if token is None else "end"
                return
            yield token
        run.ended = run.ended or "length"

    def _choose(self, request: Request, logits: FloatArray, random: np.random.Generator) -> int | None:
        """The next token, or None when the grammar is complete and leaves nothing to say."""
        if request.constraint is None:
            return pick(logits, request.sampling, random)
        allowed = request.constraint.allowed()
        if request.constraint.complete:
            allowed = np.concatenate(
                [allowed, np.array(self.language.eos_ids if len(allowed) else (), np.int64)]
            )
        if not len(allowed):
            return None
        token = pick(logits, request.sampling, random, allowed)
        if token not in self.language.eos_ids:
            request.constraint.advance(token)
        return token

    def _grow(self, run: _Run) -> int:
        """Takes the newest token into the text; returns how many of its characters are certain. Sets `ended`
        at a stop string.
        """
        if self._decode is None:
            return 0
        run.text = self._decode(run.ids)
        found = [at for at in (run.text.find(stop) for stop in run.request.stop) if at >= 0]
        if found:
            run.text, run.ended = run.text[: min(found)], "stop"
            return len(run.text)
        sure = run.text.rstrip("\N{REPLACEMENT CHARACTER}")  # half a letter's bytes decode to it
        return len(sure) - max((_overlap(sure, stop) for stop in run.request.stop), default=0)


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that begins `stop`."""
    return next((n for n in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:n])), 0)
