"""Clauses whose verb is that of the clause before: "Peter lives in Aberdeen and Ruth in Truro"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .subjects import Subject, begin_of, subject_of
from .tokens import Token, keys_of, plain, tokens_of
from .vocabulary import kind, verbs

# Where another subject may begin: a name, or somebody of the speaker's.
_JOINED = re.compile(r",? (?:and|but|while) (?=(?:my|our|his|her) |[A-ZÀ-Þ])|, (?=(?:my|our) |[A-ZÀ-Þ])")
_LINKS = frozenset(("at", "by", "for", "from", "in", "near", "of", "on", "to", "with"))


def filled(clauses: Sequence[str]) -> Iterator[str]:
    """The clauses of a sentence, those without a verb with the one that they leave out."""
    verb = ("", "")  # its words, and what follows it
    for clause in clauses:
        start = 0
        for joint in (*_joints(clause), None):
            begin, end = (joint.end(), joint.start()) if joint else (len(clause), len(clause))
            part = clause[start:end]
            if gap := _gap(part, verb[1]):
                part = f"{part[:gap]} {_agreeing(verb[0], part)}{part[gap:]}"
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
    if after == "number":  # "7 years younger" is no age
        last = [key for key in follows[1:4] if key not in ("year", "years", "old")]
        is_like = is_like and (not last or not last[0][:1].isalnum() or last[0] in kind("after age"))
    return tokens[subject.end - 1].end if is_like and not does else 0


def _agreeing(verb: str, part: str) -> str:
    """A verb in the form for another subject: "works" for "work", "is" for "am"."""
    tokens = tokens_of(part)
    subject = _subject(tokens, 0)
    last = tokens[subject.end - 1] if subject else tokens[0]
    at = {"i": "i", "we": "many"}.get(last.key, "one")
    words = verb.split(" ")
    for n, word in enumerate(words):
        base = plain(word.lower())
        if word in ("am", "is", "are"):
            words[n] = {"i": "am", "many": "are", "one": "is"}[at]
        elif word in ("was", "were"):
            words[n] = "were" if at == "many" else "was"
        elif word in ("have", "has"):
            words[n] = "has" if at == "one" else "have"
        elif base in verbs() and word in (base, f"{base}s", f"{base}es"):
            ending = "es" if base.endswith(("ch", "o", "sh", "ss", "x")) else "s"
            words[n] = base + ending * (at == "one")
        else:
            continue
        break
    return " ".join(words)


def _subject(tokens: Sequence[Token], at: int) -> Subject | None:
    found = subject_of(tokens, at)
    return found if found is not None and not found.noun else None


def _begins(token: Token) -> bool:
    return _form(token) == "number" or token.key in _LINKS


def _form(token: Token) -> str:
    """A preposition itself, "number" for a number."""
    is_number = token.key.isdigit() or token.key.split("-")[0] in kind("number")
    return "number" if is_number else token.key
