"""Rules that draw facts about the person from what the person said: a key, the value, and the sentence.

Only words that stand in the turn are stored. A fact with a key replaces the earlier value of that key; the
store keeps the earlier one. Questions, quotes and what others say are not facts about the person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gamer.index.memory.records import MAX_NAME, Origin, clip

from . import persona
from .words import MONTHS, asks, content, sentences

MAX_FACTS = 12  # of one turn
_MAX_VALUE = 120
_MAX_CLAUSE = 300  # characters that the rules read of a clause, so that no pattern takes long
_SUBJECT = r"(?:i|we|my (?:family|wife|husband|partner) and i)"
_SOFT = r"(?:just|recently|finally|actually|now|currently|also|really|still|always|already|then|both)"
_S = rf"\b{_SUBJECT}(?:'m|'ve)?(?: {_SOFT}){{0,3}}"
# Somebody else begins to do something: "and she hates it", "and Anna hates it".
_OTHERS = (
    r"(?:he|she|they|you|his|her|their|your|our|that|this|then|so)|(?:[^ ]+ ){1,2}(?:is|was|are|were|has|had|"
    r"hates?|loves?|likes?|dislikes?|prefers?|does|doesn't|says|said|thinks?|wants?|can't|cannot)"
)
# A value ends at a clause that says something else.
_END = re.compile(
    rf" ?(?:[,;:()]| [-–—] |\b(?:and (?:i|we|it|my|the|now|{_OTHERS})|but|because|since|so|which|where|when|"
    r"while|although|though|instead|anymore|any more|these days|right now|now|today|yesterday|recently|last|"
    r"this|for (?:a|the|now|work|two|three|years|good)|after|before|until|with my|from next|as of|"
    r"at the moment|again|by the way|actually|as well|too|at last|to be closer)\b).*$",
    re.IGNORECASE | re.DOTALL,
)
# "I moved to Lisbon in March": the month is when, not where.
_WHEN = re.compile(
    rf" (?:in|since|back in) (?:early |late |the )?"
    rf"(?:{MONTHS}|spring|summer|autumn|fall|winter|\d{{4}})\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_NOUN = r"(?P<noun>(?:[a-zà-ÿ'-]+ ){0,2}[a-zà-ÿ'-]+)"
_V = r"(?P<value>.+)"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DATE_TAIL = rf"(?P<value>(?:the )?(?:{_DAY}|tomorrow|\d|{MONTHS}).*)"
_DATED = r"(?P<noun>(?:[a-zà-ÿ'-]+ ){0,3}?[a-zà-ÿ'-]+)"
# What a person may be without its being a job: kin, habits, comparisons.
_NO_JOB = (
    r"(?!(?:\w*(?:brother|sister|father|mother|daughter)|beginner|believer|better|bigger|donor|drinker|early|"
    r"earlier|eater|faster|follower|foreigner|fonder|happier|junior|later|loser|lover|member|minor|neighbor|"
    r"newcomer|number|older|owner|reader|riser|runner-up|sleeper|slower|smaller|smoker|stranger|supporter|"
    r"survivor|taller|teenager|winner|younger)\b)"
)
# Somebody else, by a name or as "my sister"; a place has a capital and is no day ("dinner moved to Friday").
_NO_NAME = (
    "Dinner|Everybody|Everyone|He|I|It|Lunch|Nobody|School|She|Somebody|Someone|That|There|They|This|We|Who|"
    "Work|You"
)
_WHO = (
    r"(?:my (?P<noun>(?:[a-zà-ÿ-]+ ){0,2}[a-zà-ÿ-]+)|"
    rf"(?-i:(?P<name>(?!(?:{_NO_NAME})\b)[A-ZÀ-Þ][a-zà-ÿ'-]+)))"
)
_WHERE = rf"(?P<value>(?!{_DAY}|{MONTHS})(?-i:[A-ZÀ-Þ]).*)"
Kind = Literal["core", "procedural"]


@dataclass(frozen=True)
class Fact:
    """`key`: what it is about ("home", "likes coffee"). `value`: the person's words."""

    key: str
    value: str
    kind: Kind = "core"
    origin: Origin = "rules"


def _rule(key: str, pattern: str) -> tuple[str, re.Pattern[str]]:
    return key, re.compile(pattern, re.IGNORECASE)


# Key → pattern; the first that fits a clause gives its fact. {noun} in a key is what the pattern names.
_RULES = (
    _rule("name", rf"\b(?:my name is|my name's) {_V}"),
    _rule("home", rf"{_S} (?:moved|relocated|am moving|'m moving|moving|settled)(?: back| out| over|"
                  rf" house)? (?:to|into|in) {_V}"),
    _rule("home", rf"{_S} (?:live|am living|living|reside|am based|based) (?:in|at|near) {_V}"),
    _rule("home", rf"\bmy (?:new )?(?:home|flat|apartment|house|place|address) is (?:now )?(?:in|at) {_V}"),
    _rule("employer", rf"{_S} (?:work|am working|working|started working|start working|got a job|took a"
                  rf" job|joined|started|am employed) (?:for|at|with) {_V}"),
    _rule("job", rf"{_S} (?:work|am working|working|started working|started|got hired|was hired|got a"
                 rf" job|took a job|retrained|found work) (?:now )?as (?:an? |the )?{_V}"),
    _rule("job", rf"\bmy (?:new )?(?:job|profession|occupation) is (?:now )?(?:being |that of )?(?:an? "
                 rf"|the )?{_V}"),
    _rule("job", rf"{_S} (?:am|became|have become|'m)? ?(?:now )?an? (?P<value>(?:[a-zà-ÿ-]+"
                 rf" ){{0,2}}{_NO_JOB}[a-zà-ÿ]*(?:er|or|ist|ian|nurse|chef|cook|pilot|student|architect"
                 rf"|mechanic|journalist|engineer|nanny|clerk|judge|scientist|assistant))(?![\w-])"
                 rf"(?! than\b).*"),
    _rule("job", rf"\bi (?:quit|left|gave up) .{{0,60}} (?:to become|and became|and am now) an? {_V}"),
    _rule("age", rf"{_S}(?: am| turned)? (?P<value>\d{{1,3}})\b(?: years old\b.*| today\b.*|[.,!].*|$)"),
    _rule("diet", rf"{_S} (?:am|became|went|'m)? ?(?P<value>vegan|vegetarian|pescatarian|gluten-free"
                  rf"|lactose intolerant)\b.*"),
    _rule("allergy: {value}", rf"{_S} (?:am|'m) allergic to {_V}"),
    _rule("favourite {noun}", rf"\bmy (?:new |current |all-time )?favou?rite {_NOUN} (?:is|are|has"
        rf" become|was always|became) {_V}"),
    _rule("date of {noun}", rf"\b(?:my|our|the) {_DATED} (?:is|was|are|got|has been|will be|'s)?(?: now"
                            rf"| actually| really)?(?: moved| rescheduled| postponed| pushed| brought"
                            rf" forward| set| planned)?(?: back)? ?(?:on|to|for|until) {_DATE_TAIL}"),
    _rule("date of {noun}", rf"\b(?:my|our|the) {_DATED} (?:is|will be|'s)(?: now| actually| really)*"
                            rf" {_DATE_TAIL}"),
    _rule("{noun}'s name", rf"\bmy (?:new )?{_NOUN} is (?:called|named) {_V}"),
    _rule("{noun}'s name", rf"\bmy (?:new )?{_NOUN}'s name is {_V}"),
    _rule("{noun}'s name", rf"{_S} (?:named|called|renamed) (?:my|our|the) (?:new )?{_NOUN} {_V}"),
    _rule("{noun}'s home", rf"^{_WHO} (?:lives|moved|relocated|settled|is living|has moved)(?: back| over)?"
                           rf" (?:in|to) {_WHERE}"),
    _rule("{noun}'s job", rf"^{_WHO} (?:works|started working|is working) as an? {_V}"),
    _rule("{noun}'s employer", rf"^{_WHO} (?:works|started working|is working) (?:for|at) {_WHERE}"),
    _rule("car", rf"{_S} (?:drive|am driving) an? {_V}"),
)  # fmt: skip
_LIKES = re.compile(
    rf"{_S} (?P<verb>(?:do not|don't|no longer|stopped|can't|cannot)(?: really)?(?: like| love| enjoy|"
    rf" liking| stand| drink| eat)(?:ing)?"
    rf"|went off|have gone off|'ve gone off|gone off|hate|dislike|(?:am )?tired of|got tired of|love|like"
    rf"|enjoy|adore|(?:am )?into|(?:am )?a (?:big )?fan of|(?:am )?fond of) {_V}",
    re.IGNORECASE,
)
_PROCEDURES = (
    _rule("goal", rf"\b(?:my (?:new )?(?:goal|plan|resolution)(?: is| for [a-z0-9 ]+ is)"
                  rf"|{_SUBJECT}(?:'m| am)? (?:want|trying|plan|planning|aim|hope|decided|determined"
                  rf"|going) to) (?:to )?{_V}"),
    _rule("habit", r"\b(?P<value>(?:every|each) (?:morning|evening|night|day|week|weekend|month|(?:mon"
                   r"|tues|wednes|thurs|fri|satur|sun)day),? i .+)"),
    # A past tense is no habit: "I never moved to Lisbon".
    _rule("habit", r"\bi (?P<value>(?:usually|always|never) (?P<about>(?!(?:[a-z]+(?<!ne)(?<!fe)(?<!ee)ed|"
                   r"been|was|were|went|had|did|got|saw|knew|thought|said|made|took|came|met|felt|found|gave|lost|"
                   r"left|told|kept|heard|wrote|ate|drank|drove|bought|brought|spoke|slept|ran|sang)\b).+))"),
    _rule("habit", r"\bi (?P<value>[a-z]+ .{0,60}\b(?:every|each) (?:morning|evening|night|day|week"
                   r"|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day))\b"),
)  # fmt: skip
# A clause that reports, supposes or negates is no statement of the person's own life.
_NOT_SAID = re.compile(
    r"\b(?:if|wish|imagine|suppose|would|could|might|maybe|perhaps|used to|never|almost|dreamt|dreamed|"
    r"(?:he|she|they) (?:said|told|says|think|thinks))\b|[\"“”]",
    re.IGNORECASE,
)
_VAGUE = frozenset(
    [
        "it",
        "that",
        "this",
        "there",
        "here",
        "them",
        "him",
        "her",
        "one",
        "something",
        "someone",
        "back",
        "around",
    ]
)
_OWN = re.compile(r"\b(?:i|i'm|i've|my|me|we|our)\b", re.IGNORECASE)
_CLAUSES = re.compile(
    r" ?(?:;|(?:,? (?:and|but) |, )(?=(?:i|we|my|our|(?:(?:please|you can) )?call me)\b)) ?", re.IGNORECASE
)
_WISHES = re.compile(r" ?(?:;|,? (?:and|but)(?: then)? |, ) ?", re.IGNORECASE)


def facts_of(text: str) -> list[Fact]:
    """The facts of a turn, in order; of a long turn, those of its first 20,000 characters."""
    out: list[Fact] = []
    for sentence in sentences(text[:20_000]):
        if asks(sentence):
            continue
        for clause in _clauses(" ".join(sentence.split())):
            out += [found for found in _of_clause(clause.strip()[:_MAX_CLAUSE]) if found not in out]
        if len(out) >= MAX_FACTS:
            break
    return out[:MAX_FACTS]


def _clauses(sentence: str) -> list[str]:
    """A wish goes on after "and" without a subject; a statement may name two things there."""
    return (_WISHES if persona.wish_of(sentence.replace("’", "'")) else _CLAUSES).split(sentence)


def _of_clause(clause: str) -> Iterator[Fact]:
    plain = clause.replace("’", "'")
    if wish := persona.wish_of(plain):
        yield fact(*wish)
        return
    if found := _LIKES.search(plain):
        if not _NOT_SAID.search(plain[: found.start()]) and (what := value_of(found["value"])):
            yield fact(f"likes {' '.join(content(what)[:4])}", f"{found['verb']} {what}")
        return
    for key, pattern in _PROCEDURES:
        if (found := pattern.search(plain)) and not _NOT_SAID.search(plain[: found.start()]):
            value = found["value"].strip().rstrip(".!")[:_MAX_VALUE]
            about = content(found.groupdict().get("about") or value)
            if about:
                yield fact(f"{key}: {' '.join(about[:3])}", value, "procedural")
            return
    if _NOT_SAID.search(plain):
        return
    for key, pattern in _RULES:
        if found := pattern.search(plain):
            groups = found.groupdict()
            lasting = key.removeprefix("{noun}'s ") in ("employer", "home", "job")
            value = value_of(_WHEN.sub("", groups["value"]) if lasting else groups["value"])
            noun = _noun(groups.get("noun") or groups.get("name") or "")
            if value and ("{noun}" not in key or noun):
                yield fact(key.format(noun=noun, value=value.lower()), value)
                return


def fact(key: str, value: str, kind: Kind = "core", origin: Origin = "rules") -> Fact:
    """A fact whose key is as long as a key may be."""
    return Fact(clip(key, MAX_NAME).strip(), value, kind, origin)


def is_own(sentence: str) -> bool:
    """Whether a sentence states something of the person's own life."""
    return bool(_OWN.search(sentence.replace("’", "'"))) and not _NOT_SAID.search(sentence)


def value_of(text: str) -> str:
    """A value without what follows it; "" for one that names nothing."""
    short = _END.sub("", text.strip().rstrip(".!?")).strip()[:_MAX_VALUE].strip()
    return "" if (not content(short) and not short.isdigit()) or short.casefold() in _VAGUE else short


def _noun(text: str) -> str:
    words = [word for word in text.casefold().split() if word not in ("new", "old", "own", "next")]
    return " ".join(words).removesuffix("'s").replace("favourite", "favorite")
