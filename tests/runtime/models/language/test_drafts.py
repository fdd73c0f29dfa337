"""Guesses change no token, cost no more calls than reading one by one, and are taken back where they are
wrong.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gamer.runtime.models.language.drafts import LONGEST_PAUSE, MOST, Drafts
from gamer.runtime.models.language.grammar import Constraint, Grammar, Vocabulary
from gamer.runtime.models.language.llm import Request
from tests.runtime.models.toy import END, PROMPT, TOKENS, ToyDecoder, decode, model, spell

VOCABULARY = Vocabulary({i: text for i, text in TOKENS.items() if i != END})


class Copyist(ToyDecoder):
    """Goes on as its text did where the last token stood first; else by itself."""

    def _logits(self, end: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        logits = super()._logits(end)
        said = self.held.ids[:end]
        place = said.index(said[-1]) + 1
        if place < end:
            logits[said[place]] += 1e4
        return logits


SENTENCE = spell("the dog on a big hill")
UNIQUE = tuple(dict.fromkeys(SENTENCE))


def test_a_text_that_is_repeated_takes_few_steps() -> None:
    decoder = Copyist(alike=True)
    request = Request((*UNIQUE, 40, UNIQUE[0], UNIQUE[1]), len(UNIQUE) - 2)
    want = model(Copyist(alike=True)).generate(Request(request.ids, request.max_new, plain=True))
    got = model(decoder).generate(request)
    assert got.ids == want.ids == UNIQUE[2:]
    assert (want.drafted, want.right) == (0, 0)
    assert got.right >= len(UNIQUE) - 6
    assert decoder.calls <= 5
    assert decoder.held.ids == [*request.ids, *got.ids]  # what was guessed beyond is taken back


def test_no_guess_is_made_where_a_token_alone_has_other_numbers() -> None:
    request = Request((*UNIQUE, 40, UNIQUE[0], UNIQUE[1]), 5)
    decoder = Copyist(alike=False)
    assert model(decoder).generate(request).drafted == 0
    assert decoder.calls == 5


@given(st.lists(st.integers(1, 3), min_size=1, max_size=30), st.integers(1, 40), st.integers(32, 64))
def test_the_tokens_are_those_of_one_a_step(ids: list[int], count: int, slots: int) -> None:
    want = model(Copyist(slots, alike=True)).generate(Request(tuple(ids), count, plain=True))
    decoder = Copyist(slots, alike=True)
    got = model(decoder).generate(Request(tuple(ids), count))
    assert (got.ids, got.text, got.ended) == (want.ids, want.text, want.ended)
    assert decoder.calls <= max(1, len(got.ids)) + (got.ended == "end")
    assert got.right <= got.drafted


def test_what_a_grammar_forces_takes_no_step_of_its_own() -> None:
    def constraint() -> Constraint:
        grammar = Grammar().literal('{"time":"').one_of(["dog", "on"]).literal('"}').done()
        return Constraint(grammar, Vocabulary({n: t for n, t in TOKENS.items() if len(t) == 1}))

    plain, fast = ToyDecoder(alike=True), ToyDecoder(alike=True)
    want = model(plain).generate(Request(PROMPT, 30, constraint=constraint(), plain=True))
    got = model(fast).generate(Request(PROMPT, 30, constraint=constraint()))
    assert got.ids == want.ids
    assert got.text in ('{"time":"dog"}', '{"time":"on"}')
    assert (plain.calls, fast.calls) == (len(want.ids), 2)  # the prompt; then all up to the one choice


def test_the_last_slots_token_shares_no_call() -> None:
    grammar = Grammar().literal("abababab").done()
    tokens = {n: t for n, t in TOKENS.items() if len(t) == 1}
    constraint = Constraint(grammar, Vocabulary(tokens))
    free = Grammar().literal("abababa").one_of(["b", "c"]).done()
    for rule, slots in ((constraint, 10), (Constraint(free, Vocabulary(tokens)), 10)):
        decoder = ToyDecoder(slots, alike=True)
        got = model(decoder).generate(Request(PROMPT, 30, constraint=rule))
        assert got.ended == ("full" if len(got.ids) == 8 else "grammar")
        assert decode(got.ids)[:7] == "abababa"


def test_a_guess_is_what_followed_the_last_tokens() -> None:
    drafts = Drafts([1, 2, 3, 4, 5, 6, 7, 9, 1, 2])
    assert drafts.guess((), 7) == (3, 4, 5)  # three at first
    drafts.judge(3, 3)
    assert drafts.guess((3, 4, 5, 6), 7) == (7, 9, 1, 2, 3, 4, 5)[:MOST]
    assert drafts.guess((8, 8), 7) == ()
    assert Drafts([1, 2, 3, 4, 1, 2]).guess((), 1) == (3,)
    assert Drafts([1]).guess((), 7) == Drafts([]).guess((), 7) == ()


def test_wrong_guesses_become_rare() -> None:
    drafts, made = Drafts([1, 1, 1]), 0
    for _ in range(400):
        if guess := drafts.guess((1,), 7):
            drafts.judge(len(guess), 0)
            made += 1
    assert 400 // LONGEST_PAUSE <= made <= 400 // LONGEST_PAUSE + 8
