"""The token mask compared with brute force: a token is allowed exactly when the text so far and its bytes
begin some sentence of the grammar.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.language.grammar import Constraint, Grammar, State, Vocabulary

WORDS = [
    b"a",
    b"b",
    b"c",
    b" ",
    b'"',
    b"ab",
    b"bc",
    b'b"',
    b'c"x',
    b"a b",
    b"x",
    "é".encode(),
    "é".encode()[:1],
    "é".encode()[1:],
    b" c",
    b'""',
]
VOCABULARY = Vocabulary(dict(enumerate(WORDS)))


def quoted(text: str) -> Grammar:
    return Grammar().literal('"').span_of([text]).literal('"').one_of(["x", ""]).done()


def sentences(text: str) -> set[bytes]:
    """Every sentence of `quoted(text)`, from the definition: runs of whole words (here: of single spaces
    between them).
    """
    words = text.split(" ")
    spans = {""} | {" ".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, len(words) + 1)}
    return {f'"{span}"{tail}'.encode() for span in spans for tail in ("", "x")}


@pytest.mark.parametrize("text", ["ab", "a b", "ab c ab", "é ab", "b b b"])
def test_the_mask_allows_exactly_the_tokens_that_continue_a_sentence(text: str) -> None:
    """Every reachable state: all texts that tokens can build are walked."""
    grammar, language = quoted(text), sentences(text)
    todo, seen, accepted = [(grammar.start(), b"")], set[bytes](), set[bytes]()
    while todo:
        state, so_far = todo.pop()
        if so_far in seen:
            continue
        seen.add(so_far)
        allowed = set(VOCABULARY.allowed(grammar, state).tolist())
        assert allowed == {
            i for i, word in enumerate(WORDS) if any(s.startswith(so_far + word) for s in language)
        }, so_far
        assert grammar.accepts(state) == (so_far in language)
        if grammar.accepts(state):
            accepted.add(so_far)
        todo += [(grammar.step(state, WORDS[i]), so_far + WORDS[i]) for i in allowed]
    assert accepted == {s for s in language if buildable(s)}


def buildable(sentence: bytes) -> bool:
    ends = {0}
    for at in range(len(sentence)):
        if at in ends:
            ends |= {at + len(w) for w in WORDS if sentence.startswith(w, at)}
    return len(sentence) in ends


def after(grammar: Grammar, text: str) -> State:
    return grammar.step(grammar.start(), text.encode())


@pytest.mark.parametrize(
    ("source", "inside", "outside"),
    [
        (
            "the old-town of Graz",
            ["old", "old-town", "town of Graz", "-town"],
            ["ol", "own", "the of", "graz"],
        ),
        ("東京の犬", ["東京", "の犬", "犬"], ["犬東"]),
        ("café au lait", ["café au", "lait"], ["caf", "é"]),
    ],
)
def test_a_span_consists_of_whole_words(source: str, inside: list[str], outside: list[str]) -> None:
    grammar = Grammar().span_of([source]).literal('"').done()
    assert all(grammar.accepts(after(grammar, f'{text}"')) for text in ["", source, *inside])
    assert not any(after(grammar, f'{text}"') for text in outside)


def test_a_token_outside_the_constraint_is_an_error() -> None:
    constraint = Constraint(quoted("ab"), VOCABULARY)
    constraint.advance(WORDS.index(b'"'))
    assert not constraint.complete
    with pytest.raises(RuntimeFailure, match="mask was not applied"):
        constraint.advance(WORDS.index(b"c"))


def test_a_byte_level_vocabulary_is_read_without_its_special_tokens() -> None:
    raw = {
        "decoder": {"type": "ByteLevel"},
        "added_tokens": [{"id": 0}],
        "model": {"vocab": {"<|im_end|>": 0, "Ġdog": 1, "Ã©": 2, "Ċ": 3}},
    }
    assert Vocabulary.read(json.dumps(raw)).bytes_of == {1: b" dog", 2: "é".encode(), 3: b"\n"}
    with pytest.raises(RuntimeFailure, match="byte-level"):
        Vocabulary.read(json.dumps(raw | {"decoder": {"type": "Metaspace"}}))


def test_a_state_without_limits_allows_all_tokens() -> None:
    """The walk over sorted tokens drops none where the automaton allows any byte."""
    random = np.random.default_rng(1)
    tokens = {i: bytes(random.integers(97, 100, random.integers(1, 6)).tolist()) for i in range(300)}
    grammar = Grammar()
    for _ in range(6):
        grammar.one_of(["", "a", "b", "c"])
    grammar.done()
    assert Vocabulary(tokens).allowed(grammar, grammar.start()).tolist() == list(range(300))


def test_a_span_that_must_be_there_is_not_empty_before_a_comma() -> None:
    grammar = Grammar().span_of(["We saw Rome, é now."], optional=False).literal("\n").done()
    allowed = {text for text in ("\n", "Rome\n", "Rome, é\n", "é\n", "ome\n") if accepts(grammar, text)}
    assert allowed == {"Rome\n", "Rome, é\n", "é\n"}


def accepts(grammar: Grammar, text: str) -> bool:
    return grammar.accepts(grammar.step(grammar.start(), text.encode()))
