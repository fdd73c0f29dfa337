"""Generation: a stream gives the whole text, stop strings never leak, cancelling stops, sampling follows its
distribution. What is faster than that is in test_reuse.py and test_drafts.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.index.records import FloatArray
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.language.grammar import Constraint, Grammar, Vocabulary
from gamer.runtime.models.language.llm import Piece, Request
from gamer.runtime.models.language.sampling import Sampling, distribution, pick
from tests.runtime.models.toy import END, LIVELY, PROMPT, TOKENS, ToyDecoder, decode, model, spell


class Script(ToyDecoder):
    """A decoder that gives a fixed sequence of tokens for any prompt."""

    def __init__(self, tokens: Sequence[int]) -> None:
        super().__init__()
        self._tokens = list(tokens)

        self._at = 0

    def cut(self, tokens: int) -> None:
        super().cut(tokens)
        if not tokens:
            self._at = 0

    def rows(self, embeds: FloatArray, ids: Sequence[int] | None, last: int) -> FloatArray:
        logits = super().rows(embeds, ids, last)
        logits[:] = 0.0
        logits[0, self._tokens[min(self._at, len(self._tokens) - 1)]] = 1.0
        self._at += 1
        return logits


def test_a_stream_gives_the_text_of_a_generation() -> None:
    request = Request(PROMPT, 20, sampling=LIVELY)
    generation = model().generate(request)
    pieces = list(model().stream(request))
    assert "".join(p.text for p in pieces) == generation.text == decode(generation.ids)
    assert generation.prompt_tokens == generation.computed == 3
    assert generation.first_ns > 0


def test_a_generation_tells_its_pieces_as_they_come() -> None:
    request, told = Request(PROMPT, 20, sampling=LIVELY), list[Piece]()
    model().generate(request, told.append)
    assert told == list(model().stream(request))


def test_generations_of_several_threads_wait_for_one_another() -> None:
    lm, started, go_on, texts = model(), Event(), Event(), list[str]()
    alone = model().generate(Request(PROMPT, 20, sampling=LIVELY)).text

    def slowly(_: Piece) -> None:
        started.set()
        assert go_on.wait(20)

    def run(tell: Callable[[Piece], None] | None) -> None:
        texts.append(lm.generate(Request(PROMPT, 20, sampling=LIVELY), tell).text)

    first, second = Thread(target=run, args=(slowly,)), Thread(target=run, args=(None,))
    first.start()
    assert started.wait(20)
    second.start()
    cancelled = Event()
    cancelled.set()
    waiting = lm.generate(Request(PROMPT, 20, cancel=cancelled))
    assert (waiting.ended, waiting.ids, waiting.text) == ("cancelled", (), "")
    assert texts == []
    go_on.set()
    first.join(20)
    second.join(20)
    assert texts == [alone, alone]


def test_greedy_takes_the_likeliest_token_after_all_tokens_so_far() -> None:
    lm = model()
    generated = lm.generate(Request(PROMPT, 5)).ids
    ids = list(PROMPT)
    for token in generated:
        lm.decoder.reset()
        logits, _ = lm.decoder.forward(lm.embed(ids))
        assert token == int(np.argmax(logits))
        ids.append(token)


@pytest.mark.parametrize(("tokens", "ended", "count"), [([3, 4, END], "end", 2), ([3], "length", 6)])
def test_a_generation_ends_at_an_end_token_or_at_its_length(
    tokens: list[int], ended: str, count: int
) -> None:
    generation = model(Script(tokens)).generate(Request(PROMPT, 6))
    assert (generation.ended, len(generation.ids)) == (ended, count)


def test_a_full_cache_ends_a_generation() -> None:
    generation = model(ToyDecoder(slots=5, bias=3)).generate(Request(PROMPT, 50))
    assert generation.ended == "full"
    assert len(generation.ids) == 3


@given(st.text("abc", min_size=1, max_size=12), st.lists(st.text("abc", min_size=1, max_size=4), max_size=3))
def test_stop_strings_cut_the_text_and_never_appear_in_a_stream(text: str, stops: list[str]) -> None:
    request = Request(PROMPT, len(text), stop=tuple(stops))
    # The text ends when a first stop is complete, and is cut where the earliest of the stops in it begins.
    first = next((n for n in range(1, len(text) + 1) if any(s in text[:n] for s in stops)), len(text))
    until_stop = text[:first]
    want = until_stop[
        : min((at for stop in stops if (at := until_stop.find(stop)) >= 0), default=len(until_stop))
    ]
    generation = model(Script(spell(text))).generate(request)
    assert generation.text == want
    streamed = ""
    for piece in model(Script(spell(text))).stream(request):
        streamed += piece.text
        assert want.startswith(streamed)  # nothing is shown that is cut later
    assert streamed == want
    assert (generation.ended == "stop") == any(stop in text for stop in stops)


def test_an_incomplete_letter_is_held_back() -> None:
    pieces = list(model(Script(spell("aéb"))).stream(Request(PROMPT, 4)))
    assert [p.text for p in pieces] == ["a", "", "é", "b"]


def test_stop_strings_need_a_tokenizer() -> None:
    with pytest.raises(RuntimeFailure, match="need a tokenizer"):
        model(text=False).generate(Request(PROMPT, 3, stop=("x",)))


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(RuntimeFailure, match="prompt is empty"):
        model().generate(Request((), 3))


def test_closing_a_stream_computes_no_more_tokens() -> None:
    decoder = ToyDecoder(bias=3)
    stream = model(decoder).stream(Request(PROMPT, 50))
    assert next(stream) == Piece(3, decode([3]))
    assert next(stream).token == 3
    stream.close()
    assert decoder.computed == len(PROMPT) + 1  # the prompt, and the first token to find the second


def test_another_thread_can_cancel_a_generation() -> None:
    cancel, halfway = Event(), Event()

    class Slow(ToyDecoder):
        def rows(self, embeds: Any, ids: Any, last: int) -> Any:
            if self.past > 10:
                halfway.set()
                assert cancel.wait(10)
            return super().rows(embeds, ids, last)

    def stop() -> None:
        halfway.wait(10)
        cancel.set()

    thread = Thread(target=stop)
    thread.start()
    generation = model(Slow(bias=3)).generate(Request(PROMPT, 50, cancel=cancel))
    thread.join()
    assert generation.ended == "cancelled"
    assert 0 < len(generation.ids) < 50


def test_soft_prompts_come_before_the_tokens() -> None:
    lm = model()
    assert lm.generate(Request((9, 1), 6, soft=lm.embed([5]))).ids == lm.generate(Request((5, 9, 1), 6)).ids


@given(st.integers(0, 1000), st.sampled_from(["dog on a dog", "time", "é b"]))
def test_a_constraint_holds_whatever_is_sampled(seed: int, source: str) -> None:
    vocabulary = Vocabulary({i: text for i, text in TOKENS.items() if i != END})
    constraint = Constraint(
        Grammar().literal('{"').span_of([source]).literal('"').one_of(["}", ",}"]).done(), vocabulary
    )
    generation = model().generate(
        Request(PROMPT, 40, sampling=Sampling(2.0, seed=seed), constraint=constraint)
    )
    assert constraint.complete
    assert generation.ended == "grammar"
    assert generation.text[:2] == '{"'
    assert generation.text.endswith(('"}', '",}'))
    assert generation.text.rstrip(",}")[2:-1] in source


def test_equal_seeds_give_equal_tokens_and_another_seed_does_not() -> None:
    generated = [
        model().generate(Request(PROMPT, 15, sampling=Sampling(1.5, seed=seed))).ids for seed in (1, 1, 2)
    ]
    assert generated[0] == generated[1] != generated[2]


@given(
    st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=30),
    st.floats(0.05, 5),
    st.integers(0, 35),
    st.floats(0.01, 1),
)
def test_top_k_and_top_p_keep_the_likeliest_tokens(
    logits: list[float], temperature: float, top_k: int, top_p: float
) -> None:
    scores = np.array(logits, np.float32)
    chosen, shares = distribution(scores, Sampling(temperature, top_k, top_p))
    full = np.exp((scores.astype(np.float64) - scores.max()) / temperature)
    assert np.isclose(shares.sum(), 1)
    assert len(set(chosen.tolist())) == len(chosen)
    assert scores[chosen].min() >= np.delete(scores, chosen).max(
        initial=-np.inf
    )  # the likeliest, without gaps
    assert len(chosen) <= (top_k or len(scores))
    np.testing.assert_allclose(shares, full[chosen] / full[chosen].sum(), rtol=1e-6)
    among = np.sort(full)[::-1][: top_k or len(full)]
    mass = np.cumsum(among / among.sum())
    assert mass[len(chosen) - 1] >= top_p - 1e-9
    assert len(chosen) == 1 or mass[len(chosen) - 2] < top_p + 1e-9


def test_sampling_follows_the_shares() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32))
    random = np.random.default_rng(0)
    drawn = np.bincount([pick(logits, Sampling(1.0), random) for _ in range(4000)], minlength=4) / 4000
    np.testing.assert_allclose(drawn, [0.5, 0.3, 0.15, 0.05], atol=0.03)
    assert {pick(logits, Sampling(1.0, top_k=2), random) for _ in range(200)} == {0, 1}
    assert {pick(logits, Sampling(1.0), random, np.array([2, 3])) for _ in range(200)} == {2, 3}
    assert pick(logits, Sampling(), random, np.array([2, 3])) == 2


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": -1.0}, {"top_p": 0.0}, {"top_k": -1}, {"temperature": float("nan")}, {"seed": -1}],
)
def test_an_impossible_sampling_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(RuntimeFailure, match="are wanted"):
        Sampling(**wrong)
