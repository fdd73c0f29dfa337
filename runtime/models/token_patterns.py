"""Says whether a regular expression of a tokenizer.json can become slow on some text.

A matcher that goes back over what it has tried takes time that grows with the text to the power of the
repetitions that it can go back into. The patterns of published tokenizers have one of them in each
alternative, at most; those that have more, or repeat a group, are refused before a text is cut by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_CHOICES = 64  # ways of one alternative, beside its one repetition without an end
MOST_LETTERS = 20_000  # of a pattern; the longest of a published tokenizer has some 2,000
MOST_DEPTH = 20  # groups in groups

# Without x, by which a pattern may hold comments.
_GROUP = re.compile(r"\((?:\?(?:[im]*(?:-[imx]+)?:|<?[=!]|>)|(?!\?))")
_REPEATED = re.compile(r"(?:([*+?])|\{(\d{1,4})(,?)(\d{0,4})\})([?+]?)")
# One character: an escape (no reference to a group), or any that means itself.
_ATOM = re.compile(
    r"\\(?:[pPxo]\{[^{}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{1,2}|[^1-9gkxuoK])|[^\\()\[|*+?{]", re.DOTALL
)
_PLACES = frozenset(("^", "$", *(f"\\{letter}" for letter in "AbBGyYzZ")))  # atoms that are no character
_FLAGS = re.compile(r"\(\?[im]+\)")
_IN_CLASS = re.compile(r"\\.|[^\\\[\]]", re.DOTALL)


class SlowPattern(ValueError):
    """A pattern that may be slow, or that is not understood."""


@dataclass(frozen=True)
class _Cost:
    """Of a part: `choices` to go back to, the repetitions without an `endless` end among them apart, whether
    it `fits` any text, so that nothing before it is tried again, and whether it may match nothing (`empty`).
    """

    choices: int = 1
    endless: int = 0
    fits: bool = False
    empty: bool = False

    def then(self, after: _Cost) -> _Cost:
        """Of this part followed by another: where that fits always, the first way of this one is taken."""
        if after.fits:
            return _Cost(after.choices, after.endless, self.fits)
        return _Cost(self.choices * after.choices, self.endless + after.endless)

    @property
    def is_one_way(self) -> bool:
        return self.choices == 1 and not self.endless and not self.fits


def check(pattern: str) -> bool:
    """Whether a pattern may match no character at all.

    Raises SlowPattern for one that can take more than linear steps from one position of a text.
    """
    if len(pattern) > MOST_LETTERS:
        raise SlowPattern(f"a regular expression of {len(pattern)} letters")
    parts = _Parts(pattern)
    cost = parts.alternatives(0, whole=True)
    if parts.at < len(pattern):
        raise SlowPattern(f"regular expression {pattern[:40]!r} is not understood")
    return cost.empty


class _Parts:
    """Reads a pattern from its beginning; `at`: the position."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self.at = pattern, 0

    def alternatives(self, depth: int, whole: bool) -> _Cost:
        """The cost of a group's content: its ways together, the worst number of repetitions.

        `whole`: nothing that follows is tried with another way of it.
        """
        if depth > MOST_DEPTH:
            raise SlowPattern("a regular expression of groups in groups")
        ways = [self._sequence(depth, whole)]
        while self._pattern.startswith("|", self.at):
            self.at += 1
            ways.append(self._sequence(depth, whole))
        return _Cost(
            sum(way.choices for way in ways),
            max(way.endless for way in ways),
            any(way.fits for way in ways),
            any(way.empty for way in ways),
        )

    def _sequence(self, depth: int, whole: bool) -> _Cost:
        items = list(self._items(depth))
        cost = _Cost(fits=whole)
        for part in reversed(items):
            cost = part.then(cost)
        if cost.endless > 1 or cost.choices > MOST_CHOICES:
            raise SlowPattern(f"regular expression {self._pattern[:40]!r} may be slow")
        fits, empty = all(part.fits for part in items), all(part.empty for part in items)
        return _Cost(cost.choices, cost.endless, fits, empty)

    def _items(self, depth: int) -> Iterator[_Cost]:
        while self.at < len(self._pattern) and self._pattern[self.at] not in "|)":
            group = self._pattern[self.at] == "("
            inner = self._group(depth) if group else self._character()
            yield self._repeated(inner, group)

    def _group(self, depth: int) -> _Cost:
        if flags := _FLAGS.match(self._pattern, self.at):
            if self.at:  # the rest of the pattern, its alternatives included, would be a group of its own
                raise SlowPattern(f"regular expression {self._pattern[:40]!r} sets flags within")
            self.at = flags.end()
            return _Cost(fits=True, empty=True)
        looks = self._take(_GROUP)[0].endswith(("=", "!"))
        cost = self.alternatives(depth + 1, whole=looks)
        if not self._pattern.startswith(")", self.at):
            raise SlowPattern("a regular expression with an open group")
        self.at += 1
        return _Cost(cost.choices, cost.endless, empty=True) if looks else cost

    def _character(self) -> _Cost:
        if self._pattern[self.at] == "[":
            self._class()
            return _Cost()
        return _Cost(empty=self._take(_ATOM)[0] in _PLACES)

    def _class(self) -> None:
        depth = 0
        while True:
            letter = self._pattern[self.at : self.at + 1]
            if letter in ("[", "]"):
                self.at, depth = self.at + 1, depth + (1 if letter == "[" else -1)
            else:
                self._take(_IN_CLASS)
            if depth == 0:
                return

    def _repeated(self, inner: _Cost, group: bool) -> _Cost:
        if (found := _REPEATED.match(self._pattern, self.at)) is None:
            return inner
        self.at = found.end()
        sign, least, comma, most, more = found.groups()
        endless = sign in ("*", "+") or bool(comma and not most)
        none = sign in ("*", "?") or least == "0"
        ways = 2 if sign == "?" else 1 if endless else int(most or least) - int(least) + 1
        many = group and sign != "?" and not inner.is_one_way
        if many or ways < 1 or _REPEATED.match(self._pattern, self.at):
            raise SlowPattern(f"regular expression {self._pattern[:40]!r} repeats a group")
        again = 2 if more == "+" and not sign else 0  # a{1,3}+ repeats the repetition
        return _Cost(
            inner.choices * ways, inner.endless + endless + again, none or inner.fits, none or inner.empty
        )

    def _take(self, kind: re.Pattern[str]) -> re.Match[str]:
        if (found := kind.match(self._pattern, self.at)) is None:
            raise SlowPattern(f"regular expression {self._pattern[:40]!r} is not understood")
        self.at = found.end()
        return found
