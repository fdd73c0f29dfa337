"""What earlier requests computed changes no token, saves what it should, and stays within its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.runtime.models.language import reuse
from gamer.runtime.models.language.chat import Chat, Message
from gamer.runtime.models.language.decoder import Decoder, open_decoder
from gamer.runtime.models.language.grammar import Constraint, Grammar, Vocabulary
from gamer.runtime.models.language.llm import LanguageModel, Request
from gamer.runtime.models.language.reuse import Prefix, Reuse, common
from gamer.runtime.models.language.sampling import GREEDY
from gamer.runtime.models.models import Models
from tests.runtime.models.toy import END, LIVELY, TOKENS, ToyDecoder, model

VOCABULARY = Vocabulary({i: text for i, text in TOKENS.items() if i != END})
SMALL = st.integers(1, 4)
KINDS = ("free", "sampled", "stopped", "soft", "grammar", "closed", "cancelled")


def request(kind: str, ids: Sequence[int], lm: LanguageModel, plain: bool = False) -> Request:
    constraint = None
    if kind == "grammar":
        constraint = Constraint(
            Grammar().literal('{"').span_of(["dog on a dog"]).literal('"}').done(), VOCABULARY
        )
    return Request(
        tuple(ids),
        12,
        soft=lm.embed([9, 9]) if kind == "soft" else None,
        sampling=LIVELY if kind == "sampled" else GREEDY,
        stop=("a", "e") if kind == "stopped" else (),
        constraint=constraint,
        plain=plain,
    )


@given(
    st.lists(
        st.tuples(st.sampled_from(KINDS), st.booleans(), st.lists(SMALL, min_size=1, max_size=30)),
        min_size=1,
        max_size=8,
    ),
    st.booleans(),
    st.integers(36, 64),
)
def test_every_request_gets_the_tokens_of_a_decoder_that_has_done_nothing_before(
    asked: list[tuple[str, bool, list[int]]], alike: bool, slots: int
) -> None:
    lm = model(ToyDecoder(slots, alike=alike))
    said: tuple[int, ...] = ()
    for kind, goes_on, words in asked:
        ids = ((*said, *words) if goes_on else tuple(words))[: slots - 4]
        want = model(ToyDecoder(slots, alike=alike)).generate(request(kind, ids, lm, plain=True))
        if kind == "closed":
            stream = lm.stream(request(kind, ids, lm))
            assert [piece.token for _, piece in zip(range(3), stream, strict=False)] == list(want.ids[:3])
            stream.close()
        elif kind == "cancelled":
            cancel = Event()
            cancel.set()
            lm.generate(Request(ids, 12, cancel=cancel))
        else:
            got = lm.generate(request(kind, ids, lm))
            assert (got.ids, got.text, got.ended) == (want.ids, want.text, want.ended)
        said = (*ids, *want.ids)


@pytest.mark.parametrize(("alike", "computed"), [(True, 3), (False, 12)])
def test_a_dialogue_computes_what_was_said_last(alike: bool, computed: int) -> None:
    lm = model(ToyDecoder(alike=alike))
    first = lm.generate(Request((5, 9, 1, 7), 10, sampling=LIVELY))
    assert first.computed == 4
    second = lm.generate(Request((5, 9, 1, 7, *first.ids, 2, 8), 1))
    # The answer's last token was not read yet. One by one, tokens may get other numbers than in a prompt.
    assert (second.prompt_tokens, second.computed) == (16, computed)
    assert lm.generate(Request((6, 9, 1), 1)).computed == 3


def test_a_dialogue_that_another_interrupts_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "WORTH_STORING", 5)
    lm = model(ToyDecoder())
    one, two = (5, 9, 1, 8, 2, 2, 30), (6, 6, 9, 1, 8, 2, 2)
    assert [lm.generate(Request(ids, 1)).computed for ids in (one, two)] == [7, 7]
    assert [lm.generate(Request((*ids, 4, 5), 1)).computed for ids in (one, two)] == [2, 2]
    lm.reuse.forget()
    assert lm.generate(Request((*one, 4, 5), 1)).computed == 9


def test_a_little_that_is_lost_is_not_stored() -> None:
    lm = model(ToyDecoder())
    for ids in ((5, 9, 1, 8), (6, 9, 1, 8)):
        assert lm.generate(Request(ids, 1)).computed == 4
    assert lm.generate(Request((5, 9, 1, 8), 1)).computed == 4


def test_a_prefix_is_the_first_that_is_stored() -> None:
    ids = (5, 9, 1, 8, 2, 2, 30)
    computing, lm = model(), model()
    computing.decoder.forward(computing.embed(ids[:4]), ids[:4])
    lm.reuse.offer(Prefix(ids[:4], computing.decoder.keep()))
    want = computing.generate(Request(ids, 12, plain=True))
    got = lm.generate(Request(ids, 12))
    assert (got.ids, got.text) == (want.ids, want.text)
    assert (got.prompt_tokens, got.computed, want.computed) == (7, 3, 7)


def cache(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.zeros((1, 2, 1, count, 8), np.float32)


def test_the_longest_unused_cache_goes_first() -> None:
    decoder = ToyDecoder()
    stored = Reuse(decoder, most=3 * cache(4).nbytes)
    for first in (1, 2, 3):
        stored.offer(Prefix((first, 9, 9, 9), cache(4)))
    assert stored.begin((1, 9, 9, 9, 5, 5)) == 4  # used
    stored.offer(Prefix((4, 9, 9, 9), cache(4)))
    decoder.reset()
    assert [stored.begin((first, 9, 9, 9, 5, 5)) for first in (1, 2, 3, 4)] == [4, 0, 4, 4]
    stored.offer(Prefix((8,) * 20, cache(20)))  # too large alone
    decoder.reset()
    assert stored.begin((8,) * 20) == 0


def test_a_cache_that_another_continues_is_not_stored_twice() -> None:
    stored = Reuse(ToyDecoder(), most=cache(6).nbytes)
    stored.offer(Prefix((1, 2, 3, 4), cache(4)))
    stored.offer(Prefix((1, 2, 3, 4, 5, 6), cache(6)))
    stored.offer(Prefix((1, 2), cache(2)))
    assert stored.begin((1, 2, 3, 4, 5, 6, 7, 8)) == 6


def test_two_tokens_remain_to_be_computed() -> None:
    lm = model(ToyDecoder())
    assert [lm.generate(Request((5, 9, 1, 8), 1)).computed for _ in range(2)] == [4, 2]


@given(st.lists(SMALL), st.lists(SMALL))
def test_the_common_beginning_is_the_longest(a: list[int], b: list[int]) -> None:
    n = common(a, b)
    assert (a[:n] == b[:n] and a[: n + 1] != b[: n + 1]) or n == len(a) == len(b)


@pytest.mark.slow
def test_a_dialogue_with_the_bundle_gets_the_same_answers_for_a_quarter_of_the_work(
    chat_bundle: Path,
) -> None:
    models = Models.open(chat_bundle)
    chat, lm, said = Chat(models), models.language_model, [Message("system", "You are brief and kind.")]
    for text in (
        "I was in Porto with Anna.",
        "What should I photograph?",
        "And at night?",
        "Why?",
        "Thanks!",
    ):
        said.append(Message("user", text))
        ids = chat.ids(said)
        got = lm.generate(Request(ids, 40))
        said.append(Message("assistant", got.text))
        other = LanguageModel(models.session("llm_embed"), decoder_of(models), lm.language)
        want = other.generate(Request(ids, 40, plain=True))
        assert got.ids == want.ids
    assert got.computed < 0.3 * got.prompt_tokens


def decoder_of(models: Models) -> Decoder:
    """Another decoder on the same session, so that both have caches of their own."""
    return open_decoder(models.session("llm_decoder"), models.manifest.decoder())
