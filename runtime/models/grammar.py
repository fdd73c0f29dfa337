"""What a language model may say: a small automaton over bytes, and from it the exact set of tokens that may
come next.

A token is allowed when its bytes lead the automaton somewhere from which an end can be reached; every
state built here can reach one. Byte-level BPE vocabularies only (GPT-2's alphabet), which is what the
bundle's tokenizer has.
"""

from __future__ import annotations

import json
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..errors import RuntimeFailure

State = frozenset[int]


class Grammar:
    """A nondeterministic automaton, built left to right: each method's language follows what came before;
    `done` ends it.

    A literal after `span_of` should not begin with a letter, or a value would not show where it ends.
    """

    def __init__(self) -> None:
        self._next: list[dict[int, set[int]]] = [{}]
        self._empty: list[set[int]] = [set()]
        self._tail, self._accept = 0, -1

    def _node(self) -> int:
        self._next.append({})
        self._empty.append(set())
        return len(self._next) - 1

    def _path(self, at: int, text: bytes) -> int:
        for byte in text:
            node = self._node()
            self._next[at].setdefault(byte, set()).add(node)
            at = node
        return at

    def literal(self, text: str) -> Grammar:
        """Exactly `text`."""
        self._tail = self._path(self._tail, text.encode())
        return self

    def one_of(self, choices: Iterable[str]) -> Grammar:
        """One of `choices`; "" may be among them."""
        begin, end = self._tail, self._node()
        for choice in choices:
            self._empty[self._path(begin, choice.encode())].add(end)
        self._tail = end
        return self

    def span_of(self, texts: Iterable[str]) -> Grammar:
        """Nothing, or whole words of one of `texts` just as they stand there, from any word to any
        later one.
        """
        begin, end = self._tail, self._node()
        self._empty[begin].add(end)
        for text in (t.strip() for t in texts):
            at = self._node()
            for place, letter in enumerate(text):
                if not letter.isspace() and _boundary(text, place):
                    self._empty[begin].add(at)
                at = self._path(at, letter.encode())
                if not letter.isspace() and _boundary(text, place + 1):
                    self._empty[at].add(end)
        self._tail = end
        return self

    def done(self) -> Grammar:
        """Nothing may follow."""
        self._accept = self._tail
        return self

    def start(self) -> State:
        return self._closure({0})

    def step(self, state: State, text: bytes) -> State:
        """The state after `text`; empty when it is not allowed."""
        for byte in text:
            state = self._closure({n for at in state for n in self._next[at].get(byte, ())})
        return state

    def bytes_after(self, state: State) -> list[int]:
        return sorted({byte for at in state for byte in self._next[at]})

    def accepts(self, state: State) -> bool:
        return self._accept in state

    def _closure(self, nodes: set[int]) -> State:
        todo, seen = list(nodes), set(nodes)
        while todo:
            for node in self._empty[todo.pop()] - seen:
                seen.add(node)
                todo.append(node)
        return frozenset(seen)


def _boundary(text: str, place: int) -> bool:
    """Whether a word may begin or end before text[place]: anywhere but inside a run of letters of a script
    that spaces its words.
    """
    if place in (0, len(text)):
        return True
    return not (_spaced(text[place - 1]) and _spaced(text[place]))


def _spaced(letter: str) -> bool:
    # Lo: letters without case. Hebrew and Arabic among them lose whole words by this, Chinese, Japanese and
    # Thai gain theirs.
    return unicodedata.category(letter) in ("Lu", "Ll", "Lt", "Lm", "Mn", "Mc", "Nd")


class Vocabulary:
    """A tokenizer's ordinary tokens as bytes, sorted.

    Special tokens are not among them: no constrained text can hold one.
    """

    def __init__(self, tokens: dict[int, bytes]) -> None:
        order = sorted((text, i) for i, text in tokens.items() if text)
        self._texts, self._ids = [text for text, _ in order], [i for _, i in order]
        self.bytes_of = dict(tokens)

    @classmethod
    def read(cls, tokenizer_json: str) -> Vocabulary:
        """From the text of a tokenizer.json.

        Raises RuntimeFailure for a tokenizer that is not byte-level BPE.
        """
        raw = json.loads(tokenizer_json)
        if (raw.get("decoder") or {}).get("type") != "ByteLevel":
            raise RuntimeFailure(
                "constrained output needs a byte-level BPE tokenizer: this model's is of another kind"
            )
        special, alphabet = {entry["id"] for entry in raw["added_tokens"]}, _alphabet()
        plain = {i: text for text, i in raw["model"]["vocab"].items() if i not in special}
        return cls(
            {
                i: bytes(alphabet[letter] for letter in text)
                for i, text in plain.items()
                if all(c in alphabet for c in text)
            }
        )

    def allowed(self, grammar: Grammar, state: State) -> NDArray[np.int64]:
        """Ids of all tokens that may follow `state`, ascending.

        Walks the sorted tokens as a trie, only where the automaton goes too.
        """
        found: list[int] = []
        todo = [(state, 0, len(self._texts), 0)]
        while todo:
            at, low, high, depth = todo.pop()
            for byte in grammar.bytes_after(at):
                first = bisect_left(self._texts, byte, low, high, key=lambda text: text[depth])
                last = bisect_right(self._texts, byte, first, high, key=lambda text: text[depth])
                if first == last:
                    continue
                after = grammar.step(at, bytes([byte]))
                whole = first
                while whole < last and len(self._texts[whole]) == depth + 1:
                    found.append(self._ids[whole])
                    whole += 1
                if whole < last:
                    todo.append((after, whole, last, depth + 1))
        return np.array(sorted(found), np.int64)


def _alphabet() -> dict[str, int]:
    """GPT-2's letters for the 256 bytes: printable Latin-1 stands for itself, the rest is numbered from
    U+0100 (openai/gpt-2 encoder.py).
    """
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    letters = {chr(b): b for b in plain}
    return letters | {chr(256 + n): b for n, b in enumerate(b for b in range(256) if b not in plain)}


class Constraint:
    """A grammar on its way: `allowed` now, `advance` by a token. One per generation."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary) -> None:
        self._grammar, self._vocabulary, self._state = grammar, vocabulary, grammar.start()

    @property
    def complete(self) -> bool:
        """Whether what was said so far may stand as it is."""
        return self._grammar.accepts(self._state)

    def allowed(self) -> NDArray[np.int64]:
        """Token ids that may come next; none when the text is complete and nothing may follow."""
        return self._vocabulary.allowed(self._grammar, self._state)

    def advance(self, token: int) -> None:
        """Raises RuntimeFailure for a token that is not allowed: a constraint is never left quietly."""
        self._state = self._grammar.step(self._state, self._vocabulary.bytes_of.get(token, b"\xff"))
        if not self._state:
            raise RuntimeFailure(f"token {token} is not allowed here: the mask was not applied")
