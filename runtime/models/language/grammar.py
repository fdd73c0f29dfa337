"""Constrained decoding: a small automaton over bytes, and from it the exact set of tokens that may come next.

A token is allowed if its bytes lead the automaton to a state from which an accepting state can be reached;
that holds for every state built here. Only byte-level BPE vocabularies (GPT-2's alphabet) are supported,
which is what the bundle's tokenizer has.
"""

from __future__ import annotations

import json
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...errors import RuntimeFailure

State = frozenset[int]  # nodes of the automaton; empty: not allowed


class Grammar:
    """A nondeterministic automaton, built left to right: each method appends a language, `done` ends it.

    A literal after `span_of` should not begin with a letter; otherwise the end of the value is ambiguous.
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
        """Appends exactly `text`."""
        self._tail = self._path(self._tail, text.encode())
        return self

    def one_of(self, choices: Iterable[str]) -> Grammar:
        """Appends one of `choices`; "" may be among them."""
        begin, end = self._tail, self._node()
        for choice in choices:
            self._empty[self._path(begin, choice.encode())].add(end)
        self._tail = end
        return self

    def span_of(self, texts: Iterable[str], optional: bool = True) -> Grammar:
        """Appends consecutive words of one of `texts`, unchanged, or if `optional` nothing."""
        begin, end = self._tail, self._node()
        if optional:
            self._empty[begin].add(end)
        for text in (t.strip() for t in texts):
            at = self._node()
            for index, letter in enumerate(text):
                at = self._path(at, letter.encode())
                if not letter.isspace() and _boundary(text, index):
                    # A path of its own: through the node before the letter, where a word may end too, as
                    # before a comma, an empty span would be allowed.
                    *first, last = letter.encode()
                    self._next[self._path(begin, bytes(first))].setdefault(last, set()).add(at)
                if not letter.isspace() and _boundary(text, index + 1):
                    self._empty[at].add(end)
        self._tail = end
        return self

    def done(self) -> Grammar:
        """Ends the grammar: nothing may follow."""
        self._accept = self._tail
        return self

    def start(self) -> State:
        return self._closure({0})

    def step(self, state: State, text: bytes) -> State:
        """The state after `text`; empty if `text` is not allowed."""
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


def _boundary(text: str, index: int) -> bool:
    """Whether a word may begin or end before text[index].

    It may anywhere except between two letters of a script that puts spaces between words.
    """
    if index in (0, len(text)):
        return True
    return not (_in_spaced_script(text[index - 1]) and _in_spaced_script(text[index]))


def _in_spaced_script(letter: str) -> bool:
    # Letters without case (Lo) count as unspaced: so every character of Chinese, Japanese and Thai may begin
    # or end a word, at the cost that Hebrew and Arabic words may be cut.
    return unicodedata.category(letter) in ("Lu", "Ll", "Lt", "Lm", "Mn", "Mc", "Nd")


class Vocabulary:
    """A tokenizer's ordinary tokens as bytes, sorted. `bytes_of`: from a token id to its bytes.

    Special tokens are left out, since no constrained text can contain them.
    """

    def __init__(self, tokens: dict[int, bytes]) -> None:
        order = sorted((text, i) for i, text in tokens.items() if text)
        self._texts, self._ids = [text for text, _ in order], [i for _, i in order]
        self.bytes_of = dict(tokens)

    @classmethod
    def read(cls, tokenizer_json: str) -> Vocabulary:
        """The vocabulary of the text of a tokenizer.json.

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

        Walks the sorted tokens as a trie, following only the bytes that the automaton allows.
        """
        ids: list[int] = []
        todo = [(state, 0, len(self._texts), 0)]
        while todo:
            at, low, high, depth = todo.pop()
            for byte in grammar.bytes_after(at):
                first = bisect_left(self._texts, byte, low, high, key=lambda text: text[depth])
                last = bisect_right(self._texts, byte, first, high, key=lambda text: text[depth])
                if first == last:
                    continue
                after = grammar.step(at, bytes([byte]))
                longer = first
                while longer < last and len(self._texts[longer]) == depth + 1:
                    ids.append(self._ids[longer])
                    longer += 1
                if longer < last:
                    todo.append((after, longer, last, depth + 1))
        return np.array(sorted(ids), np.int64)


def _alphabet() -> dict[str, int]:
    """GPT-2's character of each of the 256 bytes, as character → byte (openai/gpt-2 encoder.py).

    Printable Latin-1 characters represent themselves; the other bytes are numbered from U+0100.
    """
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    letters = {chr(b): b for b in plain}
    return letters | {chr(256 + n): b for n, b in enumerate(b for b in range(256) if b not in plain)}


class Constraint:
    """The state of a grammar during one generation: `allowed` gives the next tokens, `advance` takes one."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary) -> None:
        self._grammar, self._vocabulary, self._state = grammar, vocabulary, grammar.start()

    @property
    def complete(self) -> bool:
        """Whether the text so far is complete under the grammar."""
        return self._grammar.accepts(self._state)

    def allowed(self) -> NDArray[np.int64]:
        """The token ids that may come next; empty if the text is complete and nothing may follow."""
        return self._vocabulary.allowed(self._grammar, self._state)

    def advance(self, token: int) -> None:
        """Appends a token. Raises RuntimeFailure if it is not allowed: the caller did not apply the mask."""
        self._state = self._grammar.step(self._state, self._vocabulary.bytes_of.get(token, b"\xff"))
        if not self._state:
            raise RuntimeFailure(f"token {token} is not allowed here: the mask was not applied")
