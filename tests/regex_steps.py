"""A regular expression matcher that counts its steps, and the texts that make an expression take many.

CPython's `re` backtracks, but counts nothing, and a test may not assert a duration. This one walks the tree
of `re`'s own parser in the same order as `re`: greedy before short, left before right, every beginning in
turn. Its steps (a character compared, an alternative tried, a beginning tried) are those of `re` up to a
constant. It knows nothing of the project's patterns.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_parser: Any = importlib.import_module("re._parser")
_ops: Any = importlib.import_module("re._constants")
_REPEATS = (_ops.MAX_REPEAT, _ops.MIN_REPEAT, _ops.POSSESSIVE_REPEAT)
_SINGLE = (_ops.LITERAL, _ops.NOT_LITERAL, _ops.ANY, _ops.IN)
# Characters that patterns tell apart; those that a pattern names are added.
_ALPHABET = "aA0 \t\n,.:;-'\"_(<!$é字\x00"
LONG = 10  # a repeat of at least so many is worth attacking

Continue = Callable[[int], bool]
Matcher = Callable[[int, Continue], bool]
Test = Callable[[str], bool]


class TooManySteps(Exception):
    """The matcher was stopped at its limit."""


class Counted:
    """A pattern as `re.compile` takes it; `steps` counts for one text how many steps a method takes."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.tree = _parser.parse(pattern, flags)
        self.flags = self.tree.state.flags | flags
        self._text, self._steps, self._limit, self._end = "", 0, 0, 0
        self._groups: dict[int, tuple[int, int]] = {}
        self._match = self._sequence(list(self.tree), self.flags)

    def steps(self, text: str, whole: bool, limit: int = 10_000_000) -> int:
        """The steps of `match` at the beginning alone (`whole`), or of `finditer` through the text.

        Raises TooManySteps beyond `limit`.
        """
        self._text, self._steps, self._limit = text, 0, limit
        for _ in self._matches():
            if whole:
                break
        return self._steps

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The spans of `finditer`, by which a test compares this matcher with `re`."""
        self._text, self._steps, self._limit = text, 0, 1_000_000
        return [span for span in self._matches() if span is not None]

    def _matches(self) -> Iterator[tuple[int, int] | None]:
        """What is found at each beginning that is tried: a span, or None."""
        deep = sys.getrecursionlimit()
        sys.setrecursionlimit(max(deep, 20_000 + 40 * len(self._text)))
        try:
            at = 0
            while at <= len(self._text):
                self._groups.clear()
                self._step()
                found = self._match(at, self._found)
                yield (at, self._end) if found else None
                at = self._end if found and self._end > at else at + 1
        finally:
            sys.setrecursionlimit(deep)

    def _found(self, at: int) -> bool:
        self._end = at
        return True

    def _step(self) -> None:
        self._steps += 1
        if self._steps > self._limit:
            raise TooManySteps

    def _sequence(self, items: Sequence[Any], flags: int) -> Matcher:
        if not items:
            return lambda at, then: then(at)
        first, rest = self._one(items[0], flags), items[1:]
        if not rest:
            return first
        after = self._sequence(rest, flags)
        return lambda at, then: first(at, lambda end: after(end, then))

    def _one(self, item: Any, flags: int) -> Matcher:
        op, value = item
        if op in _SINGLE:
            return self._single(_test(item, flags))
        if op is _ops.BRANCH:
            return self._branch([self._sequence(list(one), flags) for one in value[1]])
        if op is _ops.SUBPATTERN:
            group, add, remove, inner = value
            return self._group(group, self._sequence(list(inner), (flags | add) & ~remove))
        if op in _REPEATS:
            low, high, body = value
            return self._repeat(op, low, int(high), body, flags)
        if op is _ops.ATOMIC_GROUP:
            return self._atomic(self._sequence(list(value), flags))
        if op in (_ops.ASSERT, _ops.ASSERT_NOT):
            return self._look(op is _ops.ASSERT, value[0], value[1], flags)
        if op is _ops.AT:
            return self._at(value, flags)
        if op is _ops.GROUPREF:
            return self._again(value)
        raise NotImplementedError(f"{op}: teach it to tests/regex_steps.py")

    def _single(self, test: Test) -> Matcher:
        def match(at: int, then: Continue) -> bool:
            self._step()
            return at < len(self._text) and test(self._text[at]) and then(at + 1)

        return match

    def _branch(self, choices: list[Matcher]) -> Matcher:
        def match(at: int, then: Continue) -> bool:
            return any(choice(at, then) for choice in choices)

        return match

    def _group(self, group: int | None, inner: Matcher) -> Matcher:
        if group is None:
            return inner

        def match(at: int, then: Continue) -> bool:
            def close(end: int) -> bool:
                before = self._groups.get(group, (-1, -1))
                self._groups[group] = (at, end)
                if then(end):
                    return True
                self._groups[group] = before
                return False

            return inner(at, close)

        return match

    def _repeat(self, op: Any, low: int, high: int, body: Any, flags: int) -> Matcher:
        items = list(body)
        if len(items) == 1 and items[0][0] in _SINGLE:
            match = self._repeat_single(op, low, high, _test(items[0], flags))
        else:
            match = self._repeat_group(op, low, high, self._sequence(items, flags))
        return self._atomic(match) if op is _ops.POSSESSIVE_REPEAT else match

    def _repeat_single(self, op: Any, low: int, high: int, test: Test) -> Matcher:
        def reach(at: int, most: int) -> int:
            end = at
            while end < len(self._text) and end - at < most and test(self._text[end]):
                self._step()
                end += 1
            return end

        def lazy(at: int, then: Continue) -> bool:
            end = reach(at, low)
            while end - at >= low:
                self._step()
                if then(end):
                    return True
                if end - at >= high or reach(end, 1) == end:
                    return False
                end += 1
            return False

        def greedy(at: int, then: Continue) -> bool:
            for end in range(reach(at, high), at + low - 1, -1):
                self._step()
                if then(end):
                    return True
            return False

        return lazy if op is _ops.MIN_REPEAT else greedy

    def _repeat_group(self, op: Any, low: int, high: int, body: Matcher) -> Matcher:
        def match(at: int, then: Continue) -> bool:
            return again(at, 0, -1, then)

        def again(at: int, count: int, last: int, then: Continue) -> bool:
            self._step()

            def more() -> bool:  # an empty turn is not repeated
                return count < high and at != last and body(at, lambda end: again(end, count + 1, at, then))

            if count < low:
                return more() or (at == last and then(at))
            if op is _ops.MIN_REPEAT:
                return then(at) or more()
            return more() or then(at)

        return match

    def _atomic(self, inner: Matcher) -> Matcher:
        def match(at: int, then: Continue) -> bool:
            ends: list[int] = []

            def first(end: int) -> bool:
                ends.append(end)
                return True

            return inner(at, first) and then(ends[0])

        return match

    def _look(self, wanted: bool, direction: int, body: Any, flags: int) -> Matcher:
        inner, width = self._sequence(list(body), flags), body.getwidth()[0]

        def match(at: int, then: Continue) -> bool:
            begin = at if direction > 0 else at - width
            seen = begin >= 0 and inner(begin, lambda end: direction > 0 or end == at)
            return seen == wanted and then(at)

        return match

    def _at(self, code: Any, flags: int) -> Matcher:
        word = _category("WORD", flags)

        def holds(at: int) -> bool:
            text = self._text
            if code in (_ops.AT_BEGINNING, _ops.AT_BEGINNING_STRING):
                return at == 0 or bool(flags & re.M and code is _ops.AT_BEGINNING and text[at - 1] == "\n")
            if code in (_ops.AT_END, _ops.AT_END_STRING):
                last = code is _ops.AT_END and text[at:] == "\n"
                return at == len(text) or last or bool(flags & re.M and text[at] == "\n")
            inside = [0 <= near < len(text) and word(text[near]) for near in (at - 1, at)]
            return (inside[0] != inside[1]) == (code is _ops.AT_BOUNDARY)

        def match(at: int, then: Continue) -> bool:
            self._step()
            return holds(at) and then(at)

        return match

    def _again(self, group: int) -> Matcher:
        def match(at: int, then: Continue) -> bool:
            begin, end = self._groups.get(group, (-1, -1))
            self._steps += max(0, end - begin)
            said = self._text[begin:end]
            return begin >= 0 and self._text.startswith(said, at) and then(at + len(said))

        return match


def _category(name: str, flags: int) -> Test:
    ascii_only = bool(flags & re.ASCII)
    tests: dict[str, Test] = {
        "DIGIT": str.isdecimal,
        "SPACE": str.isspace,
        "WORD": lambda char: char.isalnum() or char == "_",
    }
    return lambda char: tests[name](char) and (char.isascii() or not ascii_only)


def _member(item: Any, flags: int) -> Test:
    op, value = item
    if op is _ops.CATEGORY:
        name = str(value).removeprefix("CATEGORY_")
        test = _category(name.removeprefix("NOT_"), flags)
        return (lambda char: not test(char)) if name.startswith("NOT_") else test
    low, high = (value, value) if op is _ops.LITERAL else value
    if not flags & re.IGNORECASE:
        return lambda char: low <= ord(char) <= high
    return lambda char: any(
        low <= ord(one) <= high for case in (char.lower(), char.upper()) for one in case[:1]
    )


def _test(item: Any, flags: int) -> Test:
    """The predicate of an item that matches one character; each character is looked up once."""
    op, value = item
    if op is _ops.ANY:
        return (lambda char: True) if flags & re.S else (lambda char: char != "\n")
    negated = op is _ops.NOT_LITERAL or (op is _ops.IN and value[0][0] is _ops.NEGATE)
    if op is _ops.IN:
        members = [_member(one, flags) for one in value if one[0] is not _ops.NEGATE]
    else:
        members = [_member((_ops.LITERAL, value), flags)]
    known: dict[str, bool] = {}

    def test(char: str) -> bool:
        if char not in known:
            known[char] = any(member(char) for member in members) != negated
        return known[char]

    return test


# Hostile texts


def attacks(counted: Counted) -> Iterator[tuple[str, str, str]]:
    """(before, pump, after): texts `before + n * pump + after` that a pattern may take long to give up.

    For each long repeat: what it repeats, and what leads to it together with what it repeats; after a text
    that leads there or at once; with an end that no pattern wants, or none.
    """
    seen: dict[tuple[str, str, str], None] = {}
    classes = _classes(counted)
    for lead, body, flags in _long_repeats(list(counted.tree), counted.flags, ""):
        for turn in _turns(body, flags, classes):
            for before, pump in (("", turn), (lead, turn), ("", lead + turn)):
                for after in ("", "\n\x00"):
                    seen[before, pump, after] = None
    yield from (attack for attack in seen if attack[1])


def _children(item: Any, flags: int) -> list[tuple[Any, int]]:
    op, value = item
    if op is _ops.BRANCH:
        return [(one, flags) for one in value[1]]
    if op is _ops.SUBPATTERN:
        return [(value[3], (flags | value[1]) & ~value[2])]
    if op in _REPEATS:
        return [(value[2], flags)]
    if op is _ops.ATOMIC_GROUP:
        return [(value, flags)]
    return [(value[1], flags)] if op in (_ops.ASSERT, _ops.ASSERT_NOT) else []


def _long_repeats(items: Sequence[Any], flags: int, lead: str) -> Iterator[tuple[str, Any, int]]:
    """Each repeat that may be long: a text that leads to it, its body, the flags there."""
    for item in items:
        if item[0] in _REPEATS and int(item[1][1]) >= LONG:
            yield lead, item[1][2], flags
        for inner, inner_flags in _children(item, flags):
            yield from _long_repeats(list(inner), inner_flags, lead)
        lead += _sample([item], flags)


def _singles(items: Sequence[Any], flags: int) -> Iterator[Test]:
    for item in items:
        if item[0] in _SINGLE:
            yield _test(item, flags)
        for inner, inner_flags in _children(item, flags):
            yield from _singles(list(inner), inner_flags)


def _classes(counted: Counted) -> str:
    """One character of each kind that the pattern tells apart."""
    tests = list(_singles(list(counted.tree), counted.flags))
    kinds: dict[tuple[bool, ...], str] = {}
    for char in _ALPHABET:
        kinds.setdefault(tuple(test(char) for test in tests), char)
    return "".join(kinds.values())


def _turns(body: Any, flags: int, classes: str) -> list[str]:
    items = list(body)
    if len(items) == 1 and items[0][0] in _SINGLE:
        return [char for char in classes if _test(items[0], flags)(char)] or [_sample(items, flags)]
    if len(items) == 1 and items[0][0] is _ops.SUBPATTERN:
        return _turns(items[0][1][3], flags, classes)
    if len(items) == 1 and items[0][0] is _ops.BRANCH:
        return [turn for one in items[0][1][1] for turn in _turns(one, flags, classes)[:2]]
    return [_sample(items, flags)]


def _sample(items: Sequence[Any], flags: int) -> str:
    """A text that the items match, if no assertion forbids it: first alternatives, the fewest turns."""
    text = ""
    for item in items:
        op, value = item
        if op is _ops.LITERAL:
            text += chr(value)
        elif op in _SINGLE:
            test = _test(item, flags)
            text += next((char for char in _ALPHABET + "".join(map(chr, range(1, 0x3000))) if test(char)), "")
        elif op is _ops.BRANCH:
            text += _sample(list(value[1][0]), flags)
        elif op in _REPEATS:
            text += _sample(list(value[2]), flags) * value[0]
        elif op in (_ops.SUBPATTERN, _ops.ATOMIC_GROUP):
            inner, inner_flags = _children(item, flags)[0]
            text += _sample(list(inner), inner_flags)
    return text
