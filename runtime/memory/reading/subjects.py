"""Whom or what a clause is about: "I", "my sister Clara", "her", "Clara's birthday", "it"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .tokens import Token, keys_of, plain
from .vocabulary import is_being, kind, relation_named, verbs

LONGEST_NOUN = 4  # words of what is possessed
_HELPERS = frozenset({"be", "have", "do"})
_GOES_ON = frozenset("no not used who and from does turned in at".split())  # noqa: SIM905
_TASTES = frozenset("can like love hate enjoy prefer adore dislike detest eat drink stand".split())  # noqa: SIM905


@dataclass(frozen=True)
class Subject:
    """`person`: "" for the owner, else "sister" or "clara". `noun`: what of theirs, "" for themselves.

    `name`: of a person who is named beside the noun ("my sister Clara"). `end`: the tokens read.
    """

    person: str
    end: int
    noun: str = ""
    name: str = ""

    @property
    def owner(self) -> str:
        """What the keys of facts about the person begin with: "sister's ", "" for the owner."""
        return f"{self.person}'s " if self.person else ""


def begin_of(tokens: Sequence[Token]) -> int:
    """The index of the first word that is no opener: "oh, by the way, …", "since May I …"."""
    keys = keys_of(tokens)
    if keys and keys[0] in kind("time"):
        subject = next((at for at, key in enumerate(keys[:6]) if key in ("i", "we")), 0)
        if subject:
            return subject
    at = 0
    while at < len(tokens):
        size = next((n for n in (5, 4, 3, 2) if " ".join(keys[at : at + n]) in kind("opening")), 0)
        if not size and (keys[at] in kind("opener") or tokens[at].is_mark or (at and keys[at] == "that")):
            size = 1
        if not size:
            break
        at += size
    return at


def subject_of(tokens: Sequence[Token], at: int, person: str = "", thing: str = "") -> Subject | None:
    """Whom a clause is about, from token `at` on. `person`, `thing`: what "she" and "it" mean."""
    if at >= len(tokens):
        return None
    key = tokens[at].key
    if key in ("i", "we"):
        return Subject("", at + 1)
    if key in ("he", "she", "they"):
        return Subject(person, at + 1) if person else None
    if key in ("his", "her", "their"):
        return possessed(tokens, at + 1, person) if person else None
    if key == "it" and thing:
        owner, _, noun = thing.rpartition("'s ")
        return Subject(owner, at + 1, noun)
    if key in ("my", "our"):
        return _of_mine(tokens, at + 1)
    if key == "the" and keys_of(tokens[at + 1 : at + 3]) == ["name", "of"]:
        inner = subject_of(tokens, at + 3, person)
        return replace(inner, noun="name", name="") if inner and inner.person and not inner.noun else None
    return _named(tokens, at) if _is_name(tokens, at) else None


def elided(tokens: Sequence[Token], at: int, person: str) -> Subject | None:
    """ "Turned 41 last week": the owner, who is not named; "and works at a bank": whom one spoke of."""
    if at >= len(tokens):
        return None
    key = tokens[at].key
    if person and (key == "is" or _does(key)):
        return Subject(person, at)
    inflected = key.endswith(("ed", "ing")) and plain(key) in verbs()
    return Subject("", at) if inflected or key in ("been", "quit", "got", "born") else None


def possessed(tokens: Sequence[Token], at: int, person: str) -> Subject | None:
    """ "(my) shoe size", "(Clara's) birthday": what is possessed, up to its verb."""
    words: list[str] = []
    for end in range(at, min(at + LONGEST_NOUN + 2, len(tokens))):
        key = tokens[end].key
        if key in kind("be") or (words and key in kind("moves")):
            return Subject(person, end, " ".join(words)) if words else None
        if tokens[end].is_mark:
            return None
        if key not in kind("adjective") or key in ("first", "last", "second"):
            words.append(key)
    return None


def _is_name(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word is somebody's name, in lower case too where it does what people do."""
    token = tokens[at]
    if token.key in kind("called"):
        return True
    if token.key in kind("no name") or token.key in kind("date"):
        return False
    if token.key in kind("order") and not any(one.is_name for one in tokens[at + 1 : at + 2]):
        return False
    follows = tokens[at + 1].key if at + 1 < len(tokens) else ""
    known = any(token.key in kind(name) for name in ("kin", "pet", "attribute", "thing"))
    return token.is_name or (token.key.isalpha() and not known and follows in ("lives", "works", "'s"))


def _named(tokens: Sequence[Token], at: int) -> Subject | None:
    end = _end_of_name(tokens, at + 1, 2)
    name = " ".join(keys_of(tokens[at:end]))
    if keys_of(tokens[end : end + 2]) == [",", "my"]:  # "Margaret, my wife, …"
        kin = _of_mine(tokens, end + 2)
        if kin and kin.person and not kin.noun and keys_of(tokens[kin.end : kin.end + 1]) == [","]:
            return Subject(kin.person, kin.end + 1, name=" ".join(token.text for token in tokens[at:end]))
    if _owns(tokens, end):
        return possessed(tokens, end + 1, name)
    return Subject(name, end)


def _of_mine(tokens: Sequence[Token], at: int) -> Subject | None:
    begin = at
    while begin < len(tokens) and tokens[begin].key in kind("adjective"):
        begin += 1
    for size in (2, 1):
        noun, end = " ".join(keys_of(tokens[begin : begin + size])), begin + size
        if not is_being(noun):
            continue
        if end >= len(tokens):
            return Subject(noun, end)
        if _owns(tokens, end):
            return possessed(tokens, end + 1, noun)
        aside = tokens[end].key == "," and "," in keys_of(tokens[end + 2 : end + 4])  # "my boss, Harriet, …"
        last = _end_of_name(tokens, end + aside, 2)
        if last > end + aside:
            if _owns(tokens, last):
                return possessed(tokens, last + 1, noun)
            return Subject(noun, last + aside, name=" ".join(t.text for t in tokens[end + aside : last]))
        if not tokens[end].key[:1].isalpha() or _begins_predicate(tokens[end].key):
            return Subject(noun, end)
        if _is_low_name(tokens, end, noun):
            return Subject(noun, end + 1, name=tokens[end].text)
        break  # "my dentist appointment"
    return possessed(tokens, at, "")


def _end_of_name(tokens: Sequence[Token], at: int, most: int) -> int:
    end = at
    while (
        end < len(tokens)
        and end - at < most
        and tokens[end].is_name
        and tokens[end].key not in kind("no name")
    ):
        end += 1
    return end


def _is_low_name(tokens: Sequence[Token], at: int, noun: str) -> bool:
    """Whether a word after "my boyfriend" is his name in lower case: one that does something."""
    key, follows = tokens[at].key, tokens[at + 1].key if at + 1 < len(tokens) else ""
    if key in kind("attribute") or key in relation_named():
        return False
    return _does(follows) or (follows in ("is", "died", "moved", "got") and noun not in kind("booked"))


def _does(key: str) -> bool:
    """Whether a word is what somebody else does: "works"."""
    return key.endswith("s") and plain(key) in verbs() - _HELPERS


def _begins_predicate(key: str) -> bool:
    known = key in kind("adverb") or key in kind("unreal") or key in _GOES_ON or plain(key) in verbs()
    return known or key.endswith(("ed", "es")) or key in _TASTES or key.removesuffix("s") in _TASTES


def _owns(tokens: Sequence[Token], at: int) -> bool:
    """Whether "'s" stands at `at` and is no "is", as in "Clara's a nurse"."""
    if at >= len(tokens) or tokens[at].key != "'s":
        return False
    follows = tokens[at + 1].key if at + 1 < len(tokens) else ""
    if follows in kind("after is") or follows in kind("adverb") or follows.split("-")[0] in kind("number"):
        return False
    return not (
        follows[:1].isdigit() or follows.endswith("ing") or (follows.endswith("ed") and len(follows) > 4)
    )
