"""Clauses whose verb is that of the clause before: "Peter lives in Aberdeen and Ruth in Truro"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .subjects import Subject, begin_of, subject_of
from .tokens import Token, keys_of, plain, tokens_of
from .vocabulary import kind, verbs

# Where another subject may begin: a name, or somebody of the speaker's.
_JOINED = re.compile(r",? (?:and|but|while) (?=(?:my|our|his|her) |[A-ZÀ-Þ])|, (?=(?:my|our) |[A-ZÀ-Þ])")
_LINKS = frozenset("at by for from in near of on to with".split())  # noqa: SIM905


def filled(clauses: Sequence[str]) -> Iterator[str]:
    """The clauses of a sentence, those without a verb with the one that they leave out."""
    verb = ("", "")  # its words, and what follows it
    for clause in clauses:
        start = 0
        for joint in (*_joints(clause), None):
            begin, end = (joint.end(), joint.start()) if joint else (len(clause), len(clause))
            part = clause[start:end]
            if gap := _gap(part, verb[1]):
                part = f"{part[:gap]} {verb[0]}{part[gap:]}"
            here = verb if gap else _verb(part)
            if joint is None or _gap(clause[begin:], here[1]):
                yield part
                verb, start = here, begin


def _joints(clause: str) -> Iterator[re.Match[str]]:
    """A comma joins only in a list that ends with "and"."""
    last = clause.rfind(" and ")
    return (joint for joint in _JOINED.finditer(clause) if joint[0] != ", " or joint.end() <= last)


def _verb(clause: str) -> tuple[str, str]:
    """The words between a clause's subject and its place or number, and the first word of that; or ""."""
    tokens = tokens_of(clause)
    subject = _subject(tokens, begin_of(tokens))
    if subject is None:
        return "", ""
    for at in range(subject.end + 1, min(subject.end + 4, len(tokens))):
        if _begins(tokens[at]):
            first = tokens[subject.end]
            said = "is" if first.text.startswith("'") else clause[first.start : tokens[at - 1].end]
            return said, _form(tokens[at])
    return "", ""


def _gap(part: str, after: str) -> int:
    """Where in a part the verb is left out: behind its subject, before what followed the verb; 0: nowhere."""
    tokens = tokens_of(part)
    subject = _subject(tokens, 0) if after else None
    if subject is None or subject.end >= len(tokens):
        return 0
    follows = keys_of(tokens[subject.end :])
    does = any(key in kind("be") or (plain(key) != key and plain(key) in verbs()) for key in follows)
    follows_link = follows[1:2]
    is_like = _form(tokens[subject.end]) == after and not (follows_link and follows_link[0][:1].isdigit())
    return tokens[subject.end - 1].end if is_like and not does else 0


def _subject(tokens: Sequence[Token], at: int) -> Subject | None:
    found = subject_of(tokens, at)
    return found if found is not None and not found.noun else None


def _begins(token: Token) -> bool:
    return _form(token) == "number" or token.key in _LINKS


def _form(token: Token) -> str:
    """A preposition itself, "number" for a number."""
    is_number = token.key.isdigit() or token.key.split("-")[0] in kind("number")
    return "number" if is_number else token.key
