"""The small language model: token ids and soft prompts in, text out, token by token.

`stream` yields each piece as soon as it is generated, and may be closed at any time or cancelled from
another thread; `generate` runs to the end, and may tell each piece meanwhile. What earlier requests computed
of a prompt is not computed again (reuse.py), and several tokens may come of one step (drafts.py): neither
changes a token. An encoder-decoder reads the complete prompt, soft prompts included, with its encoder and
generates from its start token; it uses neither.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event, Lock
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray

from ...backends import Session
from ...bundle.manifest import Language
from ...errors import RuntimeFailure
from .decoder import BoundDecoder, Decoder, EncoderDecoder, StepDecoder
from .drafts import Ahead, Drafts
from .grammar import Constraint
from .kv_cache import NO_TOKEN
from .reuse import Reuse
from .sampling import GREEDY, Sampling, pick

# Why a generation ended: an end token, a stop string, `max_new` tokens, no cache slot left, cancellation, or
# a grammar that allows no further token.
ENDS = ("end", "stop", "length", "full", "cancelled", "grammar")

WAIT_SECONDS = 0.1  # between two looks at whether a request that waits for its turn is cancelled


@dataclass(frozen=True, eq=False)
class Request:
    """A prompt and how to continue it.

    `ids`: the prompt, with the `soft` prompts [P, H], if any, after the first `soft_at` of them. `max_new`:
    the greatest number of new tokens. `stop`: strings that end the generation and are cut off. `constraint`:
    the grammar that the output must follow. `cancel`: ends the generation when set. `plain`: computes every
    position of the prompt, and one token a step: the reference for what is faster. `adapter`: the name of the
    bundle's adapter that changes the model, "" for none.
    """

    ids: tuple[int, ...]
    max_new: int
    soft: FloatArray | None = None
    sampling: Sampling = GREEDY
    stop: tuple[str, ...] = ()
    constraint: Constraint | None = None
    cancel: Event | None = None
    plain: bool = False
    soft_at: int = 0
    adapter: str = ""


@dataclass(frozen=True)
class Piece:
    """A token, and the text that has become certain with it.

    The beginning of a stop string and an incomplete character are held back until the next tokens decide.
    """

    token: int
    text: str


@dataclass(frozen=True)
class Generation:
    """The result of a generation.

    `ids`: the new tokens without the end token; `text`: their text, up to a stop string. `ended`: one of
    ENDS. `prompt_tokens`: the prompt's positions; `computed`: those that were not known from an earlier
    request. `first_ns`: time to first token, from the call to the token's id; `decode_ns`: from there to the
    end. `drafted`: tokens that were guessed and read ahead; `right`: those of them that were then chosen.
    """

    ids: tuple[int, ...]
    text: str
    ended: str
    prompt_tokens: int
    computed: int
    first_ns: int
    decode_ns: int
    drafted: int = 0
    right: int = 0


@dataclass
class _Run:
    """The state of a generation. `begin`, `first`: clock times in ns of the call and of the first token.

    `ahead`: the decoder, once it has read the prompt.
    """

    request: Request
    ahead: Ahead | None = None
    begin: int = field(default_factory=perf_counter_ns)
    ids: list[int] = field(default_factory=list)
    text: str = ""
    ended: str = ""
    prompt: int = 0
    computed: int = 0
    first: int = 0


class LanguageModel:
    """A token table and a decoder with one cache.

    Calls of `generate` from several threads wait for one another. `stream` waits for nobody: while one runs,
    nothing else may. `decode`: from token ids to text. Without it, `text` stays empty and stop strings are
    refused. `adapter`: from an adapter's name to its matrices, by the decoder's inputs.
    """

    def __init__(
        self,
        embed: Session,
        decoder: Decoder,
        language: Language,
        decode: Callable[[Sequence[int]], str] | None = None,
        adapter: Callable[[str], dict[str, FloatArray]] | None = None,
    ) -> None:
        self._embed, self.decoder, self.language, self._decode = embed, decoder, language, decode
        self.reuse = Reuse(decoder)
        self._adapter = adapter
        self._adapted: str | None = ""
        self._turn = Lock()

    def embed(self, ids: Sequence[int]) -> FloatArray:
        """The embeddings [S, H] of `ids`. The table takes one id a call (targets of fixed shape) or many."""
        batch = self._embed.artifact.inputs[0].shape[0]
        if batch == 1 and len(ids) > 1:
            return np.concatenate([self.embed([i]) for i in ids])
        return np.asarray(self._embed.run({"ids": np.array(ids, np.int64)})["embeds"], np.float32)

    def state(self, ids: Sequence[int]) -> FloatArray:
        """The hidden state float32 [H] at the last of `ids`, after an empty cache.

        An encoder-decoder reads `ids` and is asked for its first state. Raises RuntimeFailure if they do not
        fit the cache.
        """
        with self._turn:
            self._adapt("")
            embeds = self.embed(ids)
            if isinstance(self.decoder, EncoderDecoder) and self.language.start_id is not None:
                self.decoder.read(embeds)
                embeds = self.embed([self.language.start_id])
            else:
                self.reuse.begin(())
            return np.array(self.decoder.forward(embeds)[1][-1], np.float32)

    def generate(self, request: Request, tell: Callable[[Piece], None] | None = None) -> Generation:
        """Runs a request to its end; `tell` hears each piece as soon as it is generated.

        Raises RuntimeFailure if the prompt does not fit the cache.
        """
        run = _Run(request)
        if self._take_turn(request.cancel):
            try:
                for piece in self._pieces(run):
                    if tell is not None:
                        tell(piece)
            finally:
                self._turn.release()
        else:
            run.ended = "cancelled"
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
            drafted=0 if run.ahead is None else run.ahead.drafted,
            right=0 if run.ahead is None else run.ahead.right,
        )

    def _take_turn(self, cancel: Event | None) -> bool:
        """Waits for its turn; False if the request is cancelled meanwhile."""
        if cancel is None:
            return self._turn.acquire()
        while not self._turn.acquire(timeout=WAIT_SECONDS):
            if cancel.is_set():
                return False
        return True

    def stream(self, request: Request) -> Generator[Piece, None, None]:
        """Runs a request piece by piece; closing the iterator ends the generation.

        The texts of all pieces, joined, are the text that `generate` returns.
        """
        return self._pieces(_Run(request))

    def _pieces(self, run: _Run) -> Generator[Piece, None, None]:
        logits, request = self._prefill(run), run.request
        fast = not (request.plain or request.sampling.temperature or isinstance(self.decoder, EncoderDecoder))
        drafts = Drafts(request.ids) if fast else None
        run.ahead = Ahead(self.decoder, self.language.max_seq, self.embed, logits, drafts)
        sent = 0
        try:
            for token in self._tokens(run, run.ahead, fast):
                run.ids.append(token)
                certain = self._grow(run)
                if run.ended:  # a stop string: only the text before it remains to be sent
                    yield Piece(token, run.text[sent:])
                    return
                yield Piece(token, run.text[sent:certain])
                sent = max(sent, certain)
        finally:
            run.ahead.end(run.ids)
        if run.ids and sent < len(run.text):
            yield Piece(run.ids[-1], run.text[sent:])

    def _prefill(self, run: _Run) -> FloatArray:
        request = run.request
        if not request.ids and request.soft is None:
            raise RuntimeFailure("nothing to go on from: the prompt is empty")
        if request.stop and self._decode is None:
            raise RuntimeFailure("stop strings need a tokenizer: this language model was opened without one")
        self._adapt(request.adapter)
        if isinstance(self.decoder, EncoderDecoder):
            return self._read(run, self.decoder)
        if request.plain:
            self.decoder.reset()
        known = 0 if request.plain else self.reuse.begin(request.ids if request.soft is None else ())
        prompt, ids = self._prompt(request, known)
        run.prompt, run.computed = known + len(prompt), len(prompt)
        return self.decoder.forward(prompt, ids)[0]

    def _adapt(self, name: str) -> None:
        """Makes the decoder compute with an adapter, "" for none; the model is not loaded again."""
        if name == self._adapted:
            return
        if self._adapter is None or not isinstance(self.decoder, BoundDecoder | StepDecoder):
            raise RuntimeFailure(f"adapter {name!r}: this model was opened without adapters, or takes none")
        values = self._adapter(name) if name else {}
        self.reuse.switch(name)
        self._adapted = None  # until it is bound: a failure leaves it unknown
        self.decoder.adapt(name, values)
        self._adapted = name

    def _prompt(self, request: Request, known: int = 0) -> tuple[FloatArray, list[int]]:
        """The embeddings [S, H] of a prompt without its `known` first tokens, and their tokens."""
        ids = list(request.ids[known:])
        if request.soft is None:
            return self.embed(ids), ids
        before, after = ids[: request.soft_at], ids[request.soft_at :]
        rows = [self.embed(part) if part else request.soft[:0] for part in (before, after)]
        return (
            np.concatenate([rows[0], request.soft, rows[1]]),
            [*before, *[NO_TOKEN] * len(request.soft), *after],
        )

    def _read(self, run: _Run, decoder: EncoderDecoder) -> FloatArray:
        if self.language.start_id is None:
            raise RuntimeFailure(
                "the bundle has an encoder but names no token to start its answers with: export it again"
            )
        prompt, _ = self._prompt(run.request)
        run.prompt = run.computed = len(prompt)
        decoder.read(prompt)
        return decoder.forward(self.embed([self.language.start_id]))[0]

    def _tokens(self, run: _Run, ahead: Ahead, fast: bool) -> Iterator[int]:
        """Yields the chosen tokens until one of ENDS; each is computed only when it is requested."""
        request, random = run.request, np.random.default_rng(run.request.sampling.seed)
        for _ in range(request.max_new):
            if request.cancel is not None and request.cancel.is_set():
                run.ended = "cancelled"
                return
            if not ahead.has_room(run.ids):
                run.ended = "full"
                return
            allowed = self._allowed(request)
            if allowed is not None and not len(allowed):
                token = None
            elif allowed is not None and len(allowed) == 1 and fast and self.decoder.alike():
                token = int(allowed[0])  # whatever its logits are: it is read with the tokens after it
            else:
                token = pick(ahead.logits(run.ids), request.sampling, random, allowed)
            run.first = run.first or perf_counter_ns()
            if token is None or token in self.language.eos_ids:
                run.ended = "grammar" if token is None else "end"
                return
            if request.constraint is not None:
                request.constraint.advance(token)
            yield token
        run.ended = run.ended or "length"

    def _allowed(self, request: Request) -> NDArray[np.int64] | None:
        """The tokens that the grammar allows next; None without a grammar."""
        if request.constraint is None:
            return None
        allowed = request.constraint.allowed()
        if request.constraint.complete:
            allowed = np.concatenate(
                [allowed, np.array(self.language.eos_ids if len(allowed) else (), np.int64)]
            )
        return allowed

    def _grow(self, run: _Run) -> int:
        """Updates the text with the newest token; returns how many of its characters are certain.

        Cuts the text at a stop string, and then sets `ended`.
        """
        if self._decode is None:
            return 0
        run.text = self._decode(run.ids)
        stops = [at for at in (run.text.find(stop) for stop in run.request.stop) if at >= 0]
        if stops:
            run.text, run.ended = run.text[: min(stops)], "stop"
            return len(run.text)
        certain = run.text.rstrip("\N{REPLACEMENT CHARACTER}")  # incomplete characters decode to it
        return len(certain) - max((_overlap(certain, stop) for stop in run.request.stop), default=0)


def _overlap(text: str, stop: str) -> int:
    """The length of the longest end of `text` that is a beginning of `stop`, but not all of it."""
    return next((n for n in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:n])), 0)
