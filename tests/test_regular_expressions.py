"""No text makes a regular expression of ours slow: each is matched with long texts that are made against it.

Covers every pattern of index/ and runtime/, and the rules of cue_rules.json. One that takes steps in
proportion to a text of LONGEST characters needs milliseconds of the processor; one whose steps grow with the
square needs many seconds, and is interrupted. Where a text is cut to a limit before it is matched (LIMITS),
the attack is as long as that.
"""

from __future__ import annotations

import ast
import importlib
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gamer.index.ingest import jsonl
from gamer.index.ingest.metadata.photo_metadata import _CAMERA_TEXT
from gamer.index.json_checked import STORABLE, UNICODE
from gamer.runtime.agent import recording, toolbox
from gamer.runtime.agent.calls import SUBSET
from gamer.runtime.bundle import manifest
from gamer.runtime.cues import anchors, languages, offsets, parse, recurring, rules, time_ranges
from gamer.runtime.cues.parse import MAX_QUERY
from gamer.runtime.cues.tables import tables
from gamer.runtime.memory import words
from gamer.runtime.memory.reading import context, facts, persona
from gamer.runtime.questions import clauses
from tests.regex_attacks import attacks

ROOT = Path(__file__).parent.parent
FUNCTIONS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
AT_THE_BEGINNING = {"match", "fullmatch"}
# Folder, file or constant → characters of the longest text that its patterns are given.
LIMITS = {
    "index/entities/extract.py: _PLACE_BEFORE": 24,
    "index/entities/extract.py: _SENTENCE_START": 8,
    "index/ingest/metadata/photo_metadata.py: _CAMERAS": _CAMERA_TEXT,
    "runtime/cues/": MAX_QUERY,
    "runtime/memory/reading/context.py": words.MOST,
    "runtime/memory/reading/facts.py": words.MOST,
    "runtime/memory/reading/questions.py": words.MOST,
    "runtime/memory/response.py": words.MOST,
    "runtime/memory/reading/values.py": facts.MAX_CLAUSE,
    "runtime/memory/words.py: _BEGINS": 200,
    "runtime/questions/clauses.py": words.MOST,
}
LONGEST = 150_000
# Of the processor, for one text: six times what the slowest pattern takes, a sixth of what the square would.
SECONDS = 1.2

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no timer of a process's time")


class TooSlow(Exception):
    """A text took the processor's time that is allowed."""


@dataclass(frozen=True)
class Pattern:
    """`where`: its file and line, or its rule. `whole`: only matched at a text's beginning."""

    where: str
    text: str
    flags: int
    whole: bool


def of(where: str, *patterns: re.Pattern[str]) -> list[Pattern]:
    return [Pattern(where, one.pattern, one.flags & ~re.UNICODE, False) for one in patterns]


def of_languages() -> Iterator[re.Pattern[str]]:
    """The rules of the languages beside English, and what stands beside the names of places in them."""
    for language in tables().languages:
        yield from (languages.compiled(language, rule.pattern) for rule in language.rules)
        yield from (re.compile(f"(?:{p})$") for p in (language.before, language.near_before) if p)
        yield from (re.compile(p) for p in (language.after, language.near_after, language.marks) if p)


# Files in which a pattern is made from a function's arguments → the patterns that it makes.
MADE: dict[str, Callable[[], list[Pattern]]] = {
    "index/json_checked.py": lambda: [  # each is matched with a whole text
        Pattern("index/json_checked.py", rf"(?:{text})\Z", re.DOTALL, True)
        for text in (STORABLE, UNICODE, jsonl.WORDS, manifest.CHANNEL_NAME, SUBSET, recording.PHOTO)
    ],
    "runtime/agent/toolbox.py": lambda: of("runtime/agent/toolbox.py", toolbox._phrase("the red hat")),
    "runtime/cues/anchors.py": lambda: of("runtime/cues/anchors.py", anchors._part_of_event()),
    "runtime/cues/recurring.py": lambda: of("runtime/cues/recurring.py", recurring._day_or_hour()),
    "runtime/cues/rules.py": lambda: of(
        "runtime/cues/rules.py",
        rules._holiday_pattern(),
        offsets._offset_at_end(),
        anchors._offset_and_phrase(),
        parse._home_pattern(),
        time_ranges._made(),
        *(rules.compiled(rule.pattern) for rule in tables().rules),
    ),
    "runtime/cues/languages.py": lambda: of("runtime/cues/languages.py", *of_languages()),
    "runtime/indexing/extract.py": list,  # one name, escaped
    "runtime/memory/reading/context.py": lambda: of(
        "runtime/memory/reading/context.py",
        *(*context._CORRECTS, *context._KINDS, *(pattern for pattern, _ in context._OF_ME)),
    ),
    "runtime/questions/clauses.py": lambda: of(
        "runtime/questions/clauses.py",
        *(*clauses.VALUES.values(), *(pattern for pattern, _ in clauses._ASKS)),
    ),
    "runtime/memory/reading/persona.py": lambda: of(
        "runtime/memory/reading/persona.py", *(wish for _, wish in persona._WISHES)
    ),
    "runtime/memory/response.py": list,  # one name, escaped
    "runtime/search/stages/replacement.py": list,  # one word, escaped
    "runtime/search/spelling.py": list,
}


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    """The calls of functions of `re` that take a pattern."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            module = node.func.value
            if isinstance(module, ast.Name) and module.id == "re" and node.func.attr in FUNCTIONS:
                yield node


def patterns_of(path: Path) -> Iterator[Pattern | None]:
    """The patterns in one file; None for one that is made from a function's arguments."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    where = path.relative_to(ROOT)
    module = importlib.import_module("gamer." + ".".join(where.with_suffix("").parts))
    constants = {
        id(node.value): node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for call in calls(tree):
        name = constants.get(id(call), "")
        try:
            text = evaluated(call.args[0], module)
        except NameError:
            yield None
            continue
        if isinstance(text, re.Pattern):
            continue  # compiled elsewhere in the file
        given = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
        flags = sum(int(flag) for one in given if isinstance(flag := flag_of(one, module), re.RegexFlag))
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        whole = method in AT_THE_BEGINNING or (method == "compile" and used_at_the_beginning(name, path))
        text = text.decode("latin-1") if isinstance(text, bytes) else text
        yield Pattern(f"{where}: {name or call.lineno}", text, flags, whole)


def evaluated(node: ast.expr, module: Any) -> Any:
    return eval(compile(ast.Expression(node), "pattern", "eval"), dict(vars(module)))


def flag_of(node: ast.expr, module: Any) -> Any:
    try:
        return evaluated(node, module)
    except NameError:
        return None


@cache
def sources() -> dict[Path, str]:
    files = sorted(path for room in ("index", "runtime") for path in (ROOT / room).rglob("*.py"))
    return {path: path.read_text(encoding="utf-8") for path in files}


def used_at_the_beginning(name: str, path: Path) -> bool:
    """Whether the constant is only used to match at a text's beginning."""
    texts = [sources()[path]] if name.startswith("_") else sources().values()
    uses = {found for text in texts for found in re.findall(rf"\b{name}\.([a-z]+)\(", text) if name}
    return bool(uses) and uses <= AT_THE_BEGINNING


@cache
def collected() -> tuple[dict[str, list[Pattern]], set[str]]:
    """File → its patterns; the files in which one is made from arguments."""
    found: dict[str, list[Pattern]] = {}
    made: set[str] = set()
    for path, text in sources().items():
        if not re.search(r"\bre\.", text):
            continue
        where = str(path.relative_to(ROOT))
        for pattern in patterns_of(path):
            if pattern is None:
                made.add(where)
            else:
                found.setdefault(where, []).append(pattern)
    return found, made


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises TooSlow after so much of the processor's time; `re` lets itself be interrupted."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def slow(pattern: Pattern) -> str:
    """A description of an attack that makes the pattern slow, or nothing."""
    compiled = re.compile(pattern.text, pattern.flags)
    length = next((limit for begin, limit in LIMITS.items() if pattern.where.startswith(begin)), LONGEST)
    for before, pump, after in attacks(pattern.text, pattern.flags):
        text = before + pump * (1 + length // len(pump)) + after
        try:
            with limited(SECONDS):
                found = compiled.match(text) if pattern.whole else list(compiled.finditer(text))
                del found
        except TooSlow:
            return f"{before!r} + n * {pump!r} + {after!r}"
    return ""


@pytest.mark.parametrize(
    ("pattern", "whole"),
    [
        (r"(\d+,?)+x", True), (r"(a+)+$", True), (r"(?:a|a)*x", True), (r"(?:a|ab|b)*x", True),
        (r"\s+$", False), (r"\d+x", False), (r"\s*,?\s*x", True), (r".*a.*b", True), (r"(\w+\s?)+:", True),
        (r"\s+\Z", False), (r"a\w*a\w*!", True), (r"(?i)x[A-Z]*[a-z]*!", True), (r"(?=(a+)+b)", True),
        (r"<[^>]*>", False),
    ],
)  # fmt: skip
def test_known_slow_patterns_are_found(pattern: str, whole: bool) -> None:
    assert slow(Pattern("a test", pattern, 0, whole))


@pytest.mark.parametrize(
    ("pattern", "whole"),
    [
        (r"\d+x", True), (r"(?<!\s)\s+x", False), (r"\d{1,20}x", False), (r"(?:ab|cd)*x", True),
        (r"(?>a+)+x", True), (r"(?:a+b)+x", True), (r"\w++\s++x", True), (r"^\s*x", False),
        (r"(['\"])[^'\"]*\1", True),
    ],
)  # fmt: skip
def test_patterns_that_look_slow_and_are_not_pass(pattern: str, whole: bool) -> None:
    assert not slow(Pattern("a test", pattern, 0, whole))


def test_every_pattern_is_known() -> None:
    assert collected()[1] == set(MADE)


@pytest.mark.parametrize("where", sorted({*collected()[0], *MADE}))
def test_no_text_makes_a_pattern_slow(where: str) -> None:
    patterns = [*collected()[0].get(where, []), *(MADE[where]() if where in MADE else [])]
    found = {f"{pattern.where}: {pattern.text}": slow(pattern) for pattern in patterns}
    assert {name: attack for name, attack in found.items() if attack} == {}
