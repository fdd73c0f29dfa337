"""The words of what a person says, with contractions taken apart, and the plain forms of verbs.

"I'm" is two words, "i" and "am", that stand in one place of the text, so that a value is still cut from the
text as it was said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .vocabulary import verbs

_TOKEN = re.compile(r"[^\W_]+(?:['.@/:-][^\W_]+)*\.?(?=[^\w]|$)|[^\W_]+|[^\s]")
_ENDINGS = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would", "n't": "not"}
_ASKING = ("what", "where", "who", "when", "how", "which")
_IS = frozenset(
    {"he", "here", "it", "she", "that", "there", "this", "name", *_ASKING}
)  # before "'s" that is "is"
# Spellings without an apostrophe, and short forms.
_PLAIN = {
    "cant": "can not", "cannot": "can not", "can't": "can not", "won't": "will not", "didnt": "did not",
    "doesnt": "does not", "dont": "do not", "hes": "he is", "im": "i am", "isnt": "is not", "ive": "i have",
    "shes": "she is", "thats": "that is", "u": "you", "wasnt": "was not", "whats": "what is",
    "whereabouts": "where", "wheres": "where is", "whens": "when is", "whos": "who is", "bday": "birthday",
    "color": "colour", "fav": "favorite", "fave": "favorite", "favourite": "favorite",
}  # fmt: skip
_IRREGULAR = {
    "am": "be", "are": "be", "is": "be", "was": "be", "were": "be", "been": "be", "being": "be",
    "has": "have", "had": "have", "having": "have", "does": "do", "did": "do", "done": "do",
    "became": "become", "bought": "buy", "came": "come", "drove": "drive", "driven": "drive", "found": "find",
    "gone": "go", "goes": "go", "going": "go", "got": "get", "gotten": "get", "grew": "grow", "grown": "grow",
    "kept": "keep", "left": "leave", "put": "put", "swapped": "swap", "taken": "take", "taught": "teach",
    "took": "take", "went": "go", "born": "born",
}  # fmt: skip
_INFLECTED = (
    ("ing", ""),
    ("ing", "e"),
    ("ied", "y"),
    ("ies", "y"),
    ("ed", ""),
    ("ed", "e"),
    ("es", ""),
    ("s", ""),
)


@dataclass(frozen=True)
class Token:
    """A word or a mark. `key`: in lower case. `start`, `end`: its characters in the text."""

    text: str
    key: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """Whether it is written as names are."""
        return self.text[:1].isupper()

    @property
    def is_mark(self) -> bool:
        return not self.key[:1].isalnum() and self.key != "'s"


def tokens_of(text: str) -> list[Token]:
    """The words and marks of a text; of a possessive, "'s" is a word of its own."""
    out: list[Token] = []
    for found in _TOKEN.finditer(text.replace("’", "'")):
        word, start, end = found.group(), found.start(), found.end()
        key = word.lower()
        stops = key.endswith(".") and len(key) > 1 and "." not in key[:-1]
        if stops and (len(key) > 4 or key[:-1].isdigit() or end >= len(text)):  # "Mr." keeps its own
            out += _apart(text, word[:-1], start)
            out.append(Token(".", ".", end - 1, end))
            continue
        out += _apart(text, word, start)
    return out


def _apart(text: str, word: str, start: int) -> list[Token]:
    key, end = word.lower(), start + len(word)
    if key in _PLAIN:
        return [Token(text[start:end], part, start, end) for part in _PLAIN[key].split()]
    for ending, means in _ENDINGS.items():
        if key.endswith(ending) and len(key) > len(ending):
            cut = end - len(ending)
            return [
                Token(text[start:cut], key[: -len(ending)], start, cut),
                Token(text[cut:end], means, cut, end),
            ]
    if key.endswith("'s") and len(key) > 2:
        owner = key[:-2]
        means = "is" if owner in _IS else "'s"
        return [
            Token(text[start : end - 2], owner, start, end - 2),
            Token(text[end - 2 : end], means, end - 2, end),
        ]
    if key.endswith("s'"):
        return [Token(text[start : end - 1], key[:-1], start, end - 1), Token("'", "'s", end - 1, end)]
    return [Token(text[start:end], key, start, end)]


def plain(word: str) -> str:
    """The plain form of a verb of the vocabulary ("lived" → "live"), else the word itself."""
    known = _IRREGULAR.get(word, word)
    if known in verbs() or known != word:
        return known
    for ending, put in _INFLECTED:
        if not word.endswith(ending):
            continue
        base = word[: -len(ending)]
        if base + put in verbs():
            return base + put
        if base[-1:] == base[-2:-1] and base[:-1] in verbs():  # "quitting"
            return base[:-1]
    return word


def keys_of(tokens: Sequence[Token]) -> list[str]:
    return [token.key for token in tokens]
