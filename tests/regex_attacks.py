"""The texts that make a regular expression take many steps, from the tree of `re`'s own parser.

It knows nothing of the project's patterns.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

_parser: Any = importlib.import_module("re._parser")
_compiler: Any = importlib.import_module("re._compiler")
_ops: Any = importlib.import_module("re._constants")
_REPEATS = (_ops.MAX_REPEAT, _ops.MIN_REPEAT, _ops.POSSESSIVE_REPEAT)
_SINGLE = (_ops.LITERAL, _ops.NOT_LITERAL, _ops.ANY, _ops.IN)
# Characters that patterns tell apart; those that a pattern names are added.
_ALPHABET = "aA0 \t\n,.:;-'\"_(<!$é字\x00"
LONG = 10  # a repeat of at least so many is worth attacking


def attacks(pattern: str, flags: int) -> list[tuple[str, str, str]]:
    """(before, pump, after): texts `before + n * pump + after` that a pattern may take long to give up.

    For each long repeat: what it repeats, and what leads to it together with what it repeats; after a text
    that leads there or at once; with an end that no pattern wants, or none.
    """
    tree = _parser.parse(pattern, flags)
    items, flags = list(tree), tree.state.flags | flags
    seen: dict[tuple[str, str, str], None] = {}
    classes = _classes(items, flags)
    for lead, body, inner_flags in _long_repeats(items, flags, ""):
        for turn in _turns(body, inner_flags, classes):
            for before, pump in (("", turn), (lead, turn), ("", lead + turn)):
                for after in ("", "\n\x00"):
                    seen[before, pump, after] = None
    return [attack for attack in seen if attack[1]]


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


def _singles(items: Sequence[Any], flags: int) -> Iterator[tuple[Any, int]]:
    for item in items:
        if item[0] in _SINGLE:
            yield item, flags
        for inner, inner_flags in _children(item, flags):
            yield from _singles(list(inner), inner_flags)


def _takes(item: Any, flags: int, char: str) -> bool:
    """Whether an item that matches one character matches this one."""
    op, value = item
    return _compiled(op, tuple(value) if op is _ops.IN else value, flags).match(char) is not None


@cache
def _compiled(op: Any, value: Any, flags: int) -> re.Pattern[str]:
    state = _parser.State()
    state.flags, state.str = flags, ""
    value = list(value) if op is _ops.IN else value
    found: re.Pattern[str] = _compiler.compile(_parser.SubPattern(state, [(op, value)]), flags)
    return found


def _classes(items: Sequence[Any], flags: int) -> str:
    """One character of each kind that the pattern tells apart."""
    singles = list(_singles(items, flags))
    kinds: dict[tuple[bool, ...], str] = {}
    for char in _ALPHABET:
        kinds.setdefault(tuple(_takes(*single, char) for single in singles), char)
    return "".join(kinds.values())


def _turns(body: Any, flags: int, classes: str) -> list[str]:
    items = list(body)
    if len(items) == 1 and items[0][0] in _SINGLE:
        return [char for char in classes if _takes(items[0], flags, char)] or [_sample(items, flags)]
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
            tried = _ALPHABET + "".join(map(chr, range(1, 0x3000)))
            text += next((char for char in tried if _takes(item, flags, char)), "")
        elif op is _ops.BRANCH:
            text += _sample(list(value[1][0]), flags)
        elif op in _REPEATS:
            text += _sample(list(value[2]), flags) * value[0]
        elif op in (_ops.SUBPATTERN, _ops.ATOMIC_GROUP):
            inner, inner_flags = _children(item, flags)[0]
            text += _sample(list(inner), inner_flags)
    return text
