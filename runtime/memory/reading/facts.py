"""What a person tells of themselves and of others: of whom, what of them, and its value, in the words said.

A clause is read by its structure: whom it is about (subjects.py), the words that tell a relation
(relations.txt) or what is possessed ("my shoe size"), and what follows (values.py). Only words that stand in
the turn are stored as values. A fact with a key replaces the earlier value of that key; the store keeps the
earlier one. Questions, quotes, suppositions and what others say are no facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from gamer.index.memory.records import MAX_NAME, Origin, clip

from ...questions.clauses import sentences_of
from ...questions.dates import DAY, MONTHS, PAST
from ..words import MOST, asks, content
from . import persona, values
from .gaps import filled
from .subjects import LONGEST_NOUN, Subject, begin_of, elided, possessed, subject_of
from .tokens import Token, keys_of, plain, tokens_of
from .values import MAX_VALUE, SOFTLY, WHEN, value_of
from .vocabulary import Relation, classes_of, is_being, kind, phrases, relation_named, verbs

MAX_FACTS = 12  # of one turn
MAX_CLAUSE = 300  # characters that the rules read of a clause, so that no pattern takes long
BEFORE = " before"  # ends the key of a value of which it was said that it no longer holds
DATE = "date of "  # begins the key of a day
_REMEMBERED = 30  # facts of a conversation
_SUBJECT = r"(?:i|we|my (?:family|wife|husband|partner) and i)"
_DAYTIME = rf"(?:morning|evening|night|day|week|weekend|{DAY})"
_GOAL = re.compile(
    rf"\b(?:my (?:new )?(?:goal|plan|resolution)(?: is| for [a-z0-9 ]+ is)|{_SUBJECT}(?:'m| am)? (?:want|"
    rf"trying|plan|"
    r"planning|aim|hope|decided|determined|going) to) (?:to )?(?P<value>.+)",
    re.IGNORECASE,
)
_HABIT = re.compile(  # a past tense is none: "I never moved to Lisbon"
    rf"\b(?P<value>(?:every|each) (?:month|{_DAYTIME}),? i .+)|\bi (?P<usual>(?:usually|always|"
    rf"never) (?P<about>(?!{PAST}).+))|\bi (?P<each>[a-z]+ .{{0,60}}\b(?:every|each) {_DAYTIME})\b",
    re.IGNORECASE,
)
_TASTE = (
    r"(?P<verb>(?:do not|don't|does not|doesn't|no longer|stopped|can't|cannot)(?: really)?(?: likes?|"
    r" loves?| enjoys?| liking| stand| drinks?| eats?)(?:ing)?|went off|(?:have |has |'ve )?gone off|"
    r"(?:gave|(?:have |has |'ve )?given) up(?= (?!and|at|it|on|hope|trying|my|our|his|her|the|an?\b)[a-z]+"
    r"(?: [a-z]+)?(?:$|[.,;!]| (?:for|in|last|this|since|completely|again)\b))|"
    r"quit(?= (?!work)[a-z]+ing\b)|"
    r"hates?|dislikes?|detests?|(?:am )?tired of|got tired of|loves?|likes?|enjoys?|adores?|prefers?|"
    r"drinks?(?! (?:and|from|out|at|in|to|too|like|with)\b|.* (?:every|each) )|"
    r"(?:am |is )?(?:really )?into|(?:am |is )?a (?:big |huge )?fan of|(?:am |is )?fond of) (?P<value>.+)"
)
_LIKES = re.compile(rf"\b{_SUBJECT}(?:'?m|'?ve)?(?: {SOFTLY}){{0,3}} {_TASTE}", re.IGNORECASE)
_LIKED = re.compile(rf"(?:{SOFTLY} ){{0,3}}{_TASTE}", re.IGNORECASE)
_CHANGED = re.compile(  # "I changed my number to 7": my number is now 7
    r"^\s*(?:i|we)(?: have|'ve)?(?: just)? (?:changed|switched) (?P<what>(?:my|our) [^,]{1,60}) to "
    r"(?P<to>.+)",
    re.IGNORECASE,
)
# A clause that reports, supposes or negates is no statement of the person's own life.
_NOT_SAID = re.compile(
    r"\b(?:if|wish|imagine|suppose|would|could|might|maybe|perhaps|almost|dreamt|dreamed|as if|pretend\w*|"
    r"joking|(?:he|she|they|[A-Z]\w+) (?:said|told|says|thinks?|reckons|claims?|claimed|asked|wants?|"
    r"asks))\b|[\"“”]",
    re.IGNORECASE,
)
_REPORTS = re.compile(
    r"\b(?:says?|said|tells?|told|asked|asks|goes|sings?|quotes?|reads)\b[^.]{0,40}(?::|[\"“]|, [\"“'])|"
    r"\b(?:film|movie|song|lyrics?|novel|joke|series|play) .{0,40}:",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:i|i'm|i've|my|me|we|our)\b", re.IGNORECASE)
_STARTS = (
    r"(?:now )?(?:i|im|ive|we|my|our|it|it's|he|she|they|his|her|their|(?:(?:please|you can) )?call me|"
    r"the (?:new )?\w+ is)\b"
)
_SOMEBODY_DOES = (
    r"[A-ZÀ-Þ][\wà-ÿ'-]*(?: is| was|'s| lives| works| moved| has| hates| loves| likes| will| won't| can't|"
    r" doesn't| does| did| went| said) "
)
_CLAUSES = re.compile(
    r" ?(?:;|, (?=(?:[A-Za-z]+ ){1,3}(?:is|are) on )|, (?=the (?:[\w'-]+ ){1,6}?(?:is|are) )|"
    rf"(?i:(?:,? (?:and|but|so|while) |, |: | [-–—] )(?={_STARTS}))|: (?=(?:since|in|from|now|these) )|"
    r",? and (?=(?:lives|works|stays|teaches|drives|is (?:an?|from|\d+)) )|"
    rf",? (?:and|but) (?=(?i:{SOFTLY} |my |our )|{_SOMEBODY_DOES})) ?"
)
_WISHES = re.compile(r" ?(?:;|,? (?:and|but)(?: then)? |, ) ?", re.IGNORECASE)
_MOVED = re.compile(
    r"(?:(?:is|was|are|were|got|gets|has|been|have|being|had to be) ){0,3}(?:re)?(?:moved|scheduled|"
    r"slipped|due|adjourned|postponed|pushed|set|planned|changed|shifted|delayed|brought|booked)(?: back|"
    r" forward)? (?:to|for|on|until|till) ",
    re.IGNORECASE,
)
_NOUN = r"(?P<noun>(?:[a-zà-ÿ'-]+ ){0,3}?[a-zà-ÿ'-]+)"
_PASSED = re.compile(  # "they moved the dentist to Friday"
    rf"\b(?:moved|changed|pushed|rescheduled|postponed|shifted|brought forward|put back) (?:the|my|"
    rf"our) {_NOUN}"
    r"(?: back| forward)? (?:to|until|till|for|by) (?P<value>.+)",
    re.IGNORECASE,
)
_BOOKED = re.compile(  # "I've a job interview tomorrow at 3"
    rf"(?:have got|have|'ve|has|got) (?:an?|my|the|another) {_NOUN} (?P<value>(?:(?:on|at|next|"
    rf"this) )?(?:the )?(?:{WHEN}|week|month).*)",
    re.IGNORECASE,
)
_EVENT = re.compile(  # "Dentist on 17 November"
    rf"(?!(?:the|my|our|it|there|this|that)\b){_NOUN} (?:is )?(?:on|at|is) (?P<value>(?:the )?{WHEN}.*)",
    re.IGNORECASE,
)
_PUT = re.compile(  # "I left the spare key under the pot"
    r"(?:(?:have|'ve|just|now|always|usually|\w+ly) ){0,3}(?:put|keep|kept|hid|hide|left|leave|stored|"
    r"store|moved|parked)"
    rf"(?: away)? (?:the|my|our) {_NOUN} (?P<value>(?:in|on|under|behind|beside|inside|above|below|at|"
    rf"next to|near|between|"
    r"by|with|over|to) .+)",
    re.IGNORECASE,
)
_SWITCHES = re.compile(
    r"\b(?:switch|chang|swap|go|went|mov)\w*(?: over)? from (?P<old>.+?) to (?P<new>.+)|\b(?:swapped|"
    r"replaced|traded)(?: in)? (?:my |the |our )?(?P<gone>.+?) (?:for|with) (?:an? )?(?P<put>.+)",
    re.IGNORECASE,
)
_REPLACED = re.compile(  # "the Golf was replaced by a Tesla"
    r"(?:my |our |the )?(?P<gone>[\w' -]{1,60}?) (?:was|is|got|has been|had to be)(?: now| just)? replaced "
    r"(?:by|with) (?:an? )?(?P<put>.+)",
    re.IGNORECASE,
)
# "I lived in Porto, then moved to Braga": of whom the second clause is, is said in the first.
_THEN = re.compile(
    r"^(?P<who>I|We|He|She|They)(?P<first> (?:(?!\band (?:i|we|he|she|they)\b).){1,120}?),?(?: and)? then "
    r"(?=(?:became|changed|got|joined|left|moved|quit|started|switched|took|went)\b)"
)
_SWITCHED_TO = re.compile(
    r"\b(?P<how>(?:switched|changed|swapped) (?:over )?(?:to|with|for)|(?:gone|went) over to) (?P<new>.+)",
    re.IGNORECASE,
)
_SOLD = re.compile(  # "I sold the Skoda and bought a Renault", of what was said to be one's car
    r"(?:(?:i|we)(?:'ve| have)? (?:(?:just|finally|recently|now|also) )?)?"
    r"(?P<end>(?:sold|scrapped|gave away|got rid of) (?:my|the|our) (?P<old>[\w'-]+(?: [\w'-]+)??))"
    r"(?:,? (?:and|then)(?: i)?(?: then)? bought an? (?P<new>[\w' -]{1,60})|"
    r"(?:,? (?:yesterday|today|(?:last|this|in|on|to|for|two|three|a) .*))?)[.! ]*$",
    re.IGNORECASE,
)
_INTRODUCED = re.compile(  # "Hi! I'm Anke and I live in Leuven."
    r"\s*(?:hi|hiya|hey|hello|good (?:morning|evening|afternoon))\b[ ,.!–-]{1,4}(?:i'm|i am) "
    r"(?-i:(?P<name>[A-ZÀ-Þ][a-zà-ÿ'-]+(?<!an)(?<!ish)(?<!ese)(?<!ch)))(?=[.,!]| and (?:i|my)\b|$)",
    re.IGNORECASE,
)
_NEVER = re.compile(r"\b(?:never|not)\b|n't\b", re.IGNORECASE)
_CHOICE = re.compile(r"(?:^|'s )(?:likes|favorite) ")  # keys of what one thing takes the place of another in
_NAMES = re.compile(r"\b(my|his|her) names (?!are\b)", re.IGNORECASE)  # "my names kayla"
_TURNS = re.compile(  # "I'll be 79 on the 3rd of February"; a weekday would be another day the week after
    r"\b(?P<who>i(?:'ll| will)? (?:be|turn(?:ed)?)|(?<!\w )turn(?:ed|ing)|turn(?:ed|s)) \d{1,3} on "
    rf"(?P<day>(?:the )?\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{MONTHS})\b|(?:{MONTHS}) (?:the )?\d{{1,2}}\b)",
    re.IGNORECASE,
)
_MOVED_FROM = re.compile(r"i(?:'ve)? (?:(?:just|recently|finally) )?moved from [A-ZÀ-Þ]", re.IGNORECASE)
_AHEAD = re.compile(
    r"\b(?:next|soon|tomorrow|later|(?:in|on|at) (?:the |early |late )?"
    rf"(?:{MONTHS}|spring|summer|autumn|fall|winter|new year|\d{{4}}))\b",
    re.IGNORECASE,
)
_IS_CAR = re.compile(r"\b(?:by|for|with|to) (?:an?|my|our|the) (?:(?:new|used|old|second-hand) )?[A-Z]")
_CAR = re.compile(r"\b(?:car|van|jeep|suv|hybrid|estate|hatchback)\b", re.IGNORECASE)
_HERE_NOW = re.compile(r"(?P<at>at|with|in) (?P<value>[A-ZÀ-Þ].*?) (?:now|these days|nowadays)\b")
_DIET = re.compile(
    r"(?:(?:an?|strictly|mostly|pure|strict|lifelong) )*(?P<value>[a-z-]+(?: free| intolerant)?)\b",
    re.IGNORECASE,
)
_I = re.compile(r"\bi ?$", re.IGNORECASE)
_NOW = re.compile(r"\b(?:now|nowadays|these days|no longer)\b", re.IGNORECASE)
_CHOSEN = re.compile(r"(?:prefer|drink)s? ", re.IGNORECASE)
_EARLIER = re.compile(  # of "I have lived there": no longer
    r"(?!.*\b(?:never|like|as)\b)"
    r"(?:[^,]*\b(?:before|in the past)\W*|\W*(?:before|previously|earlier|formerly)\b.*)",
    re.IGNORECASE,
)
# "Quit my job last week", not that at the bank, nor the second one
_MY_JOB = re.compile(
    r"\b(?:my|his|her|their) job(?: (?:last|this|yesterday|today|in|because|and|recently)\b.*)?\W*$",
    re.IGNORECASE,
)
_INSTEAD = re.compile(rf"{_NOW.pattern}|\b(?:instead|rather)\b", re.IGNORECASE)
_SWITCHED = frozenset({"car", "employer", "job", "study"})  # of which one says that one switched to another
_TO_BE = frozenset({"be", "become", "been", "longer", "no", "not", "to", "'s"})
_MOVING = frozenset({"become", "join", "leave", "move", "quit", "start"})
Kind = Literal["core", "procedural"]


@dataclass(frozen=True)
class Fact:
    """`key`: what it is about ("home", "clara's home"). `value`: the person's words.

    `firm`: whether it replaces what was told before.
    """

    key: str
    value: str
    kind: Kind = "core"
    origin: Origin = "rules"
    firm: bool = True


@dataclass(frozen=True)
class Meant:
    """Whom "she" and what "it" mean: who and what was spoken of last.

    `values`: the last facts that were told, which "I switched from A to B" changes; `known`: those that are
    stored from before, of which a car may have been sold.
    """

    person: str = ""
    thing: str = ""
    values: tuple[Fact, ...] = ()
    known: tuple[Fact, ...] = ()


NOBODY = Meant()


@dataclass(frozen=True)
class _Predicate:
    """What follows a subject. `plain`: its words, the verb first, in plain form; `tokens`: of `text`.

    `negated`: the words from the negation on, "" without one. `past`, `perfect`, `going`: "used to live",
    "have lived", "am living".
    """

    text: str
    plain: tuple[str, ...]
    tokens: tuple[Token, ...]
    negated: str
    past: bool
    perfect: bool
    going: bool

    def after(self, words: int) -> str:
        """The text after so many of its words."""
        return self.text[self.tokens[words].start :] if words < len(self.tokens) else ""


def facts_of(text: str, meant: Meant = NOBODY) -> list[Fact]:
    """The facts of a turn, in order; of a long turn, those of its first 20,000 characters."""
    return [*told(text, meant)[1]]


@lru_cache(512)
def told(text: str, meant: Meant = NOBODY) -> tuple[Meant, tuple[Fact, ...]]:
    """What "she" and "it" mean after a turn, and its facts."""
    out: list[Fact] = []
    introduced = _INTRODUCED.match(text[:MAX_CLAUSE].replace("’", "'"))
    if introduced and not _is_word(introduced["name"].casefold()):  # what was said to be the name stays
        out.append(replace(fact("name", introduced["name"]), firm=False))
    for sentence in sentences_of(text[:20_000]):
        if asks(sentence) or _REPORTS.search(sentence[:MAX_CLAUSE]):
            continue
        for clause in clauses_of(sentence):
            meant, found = of_clause(clause.strip()[:MAX_CLAUSE], meant)
            out += [fact for fact in found if fact not in out]
        if len(out) >= MAX_FACTS:
            break
    return meant, tuple(out[:MAX_FACTS])


def clauses_of(sentence: str) -> list[str]:
    """A wish goes on after "and" without a subject; a statement may name two things there.

    A verb that is left out is put in.
    """
    text = _THEN.sub(r"\g<who>\g<first>; \g<who> ", " ".join(sentence[:MOST].split()))
    joints = _WISHES if persona.wish_of(text.replace("’", "'")) else _CLAUSES
    return [*filled(joints.split(text))]


def of_clause(clause: str, meant: Meant) -> tuple[Meant, list[Fact]]:
    """What "she" and "it" will mean from here on, and the facts of a clause."""
    text = _NAMES.sub(r"\1 name is ", _CHANGED.sub(r"\g<what> is now \g<to>", clause.replace("’", "'")))
    if wish := persona.wish_of(text):
        return meant, [fact(*wish)]
    tokens = tokens_of(text)
    start = begin_of(tokens)
    supposed = is_supposed(text)
    if start < len(tokens) and not supposed and (event := _event(text[tokens[start].start :])) is not None:
        return replace(meant, thing=event.key.removeprefix(DATE)), [event]
    subject = subject_of(tokens, start, meant.person, meant.thing) or elided(tokens, start, meant.person)
    if subject is not None and subject.person:
        meant = replace(meant, person=subject.person)
    if supposed:
        return meant, []
    if switched := _switched(text, meant, subject):
        found = switched
    elif subject is None:
        found = [_of_thing(one, meant) for one in _named_thing(text, tokens[start:])]
    else:
        found = [*_told_of(text, tokens, subject, meant)]
    if (turns := _TURNS.search(text)) and (day := value_of(turns["day"])):
        owner = subject.owner if subject is not None and not subject.noun else ""
        own = turns["who"][:1] in "iI" or turns.start() == 0 or text[turns.start() - 2] == ","
        birthday = replace(fact(f"{DATE}{owner}birthday", day), firm=False)  # what is known stays
        found = [*found, *([birthday] if own or owner else [])]
    meant = _meant_after(meant, tokens[start:], subject, found)
    return replace(meant, values=(*meant.values, *found)[-_REMEMBERED:]), found


def _of_thing(told: Fact, meant: Meant) -> Fact:
    """ "The flight is on the 19th", of "my flight to Recife" that was spoken of last: a new day for it."""
    before = DATE if told.key.startswith(DATE) else ""
    same = meant.thing.startswith(f"{told.key.removeprefix(before)} ")
    return replace(told, key=before + meant.thing) if same and before + meant.thing in _keys(meant) else told


def _keys(meant: Meant) -> set[str]:
    return {one.key for one in meant.values}


def _meant_after(
    meant: Meant, tokens: Sequence[Token], subject: Subject | None, found: Sequence[Fact]
) -> Meant:
    """Whom and what a clause has brought up."""
    if subject is not None and not subject.noun and (got := _got(keys_of(tokens[1:7]))):
        meant = replace(meant, person=got)
    things = [
        one.key.removeprefix(DATE).removesuffix(BEFORE) for one in found if subject is None or subject.noun
    ]
    known = {one.key.removeprefix(DATE) for one in meant.values}
    if tokens and tokens[0].key in ("the", "my", "our") and (named := possessed(tokens, 1, "")) is not None:
        things += [named.noun] if named.noun in known and not things else []
    things = things or _moved_thing(keys_of(tokens))
    return replace(meant, thing=things[-1]) if things else meant


def _got(keys: Sequence[str]) -> str:
    """ "(We) got a new hamster": whom "his" means next."""
    gets = (
        bool(keys) and plain(keys[0]) in ("have", "get") and not {"a", "an", "another"}.isdisjoint(keys[1:3])
    )
    return next((key for key in keys[2:] if gets and is_being(key)), "")


def _moved_thing(keys: Sequence[str]) -> list[str]:
    """ "I've moved the spare key": what "it" means next."""
    moves = ("move", "put", "keep", "hide", "leave")
    at = next((at for at, key in enumerate(keys[:6]) if plain(key) in moves), len(keys))
    if keys[at + 1 : at + 2] not in (["the"], ["my"], ["our"]):
        return []
    words = keys[at + 2 : at + 6]
    ends = (n for n, key in enumerate(words) if not key[:1].isalnum() or key in kind("place preposition"))
    thing = " ".join(words[: next(ends, len(words))])
    return [thing] if thing else []


def _event(text: str) -> Fact | None:
    """ "Dentist on 17 November", "they moved the dentist to Friday"."""
    found = _EVENT.match(text)
    if found and not any(plain(word) in verbs() for word in found["noun"].lower().split()):
        return fact(DATE + _noun(found["noun"]), value_of(found["value"]))
    moved = _PASSED.search(text)
    if moved and values.is_date(moved["value"]):
        return fact(DATE + _noun(moved["noun"]), value_of(moved["value"]))
    return None


def _switched(text: str, meant: Meant, subject: Subject | None) -> list[Fact]:
    """ "I've switched from Vodafone to Telia": a new value of whatever had the first."""
    found = _SWITCHES.search(text) or _REPLACED.match(text)
    if found is None:
        return _sold(text, meant) or _switched_to(text, meant, subject)
    groups = found.groupdict()
    old = (groups.get("old") or groups["gone"]).strip(" .,").casefold()
    put = groups.get("new") or groups["put"]
    known = (*(meant.known if _IS_CAR.search(text) else ()), *meant.values)
    named = old if old not in ("he", "it", "she", "that", "they", "this") else ""
    had = next((one for one in reversed(known) if named and _has_words(one.value, named)), None)
    key = had.key if had else "home" if _MOVED_FROM.match(text) else ""
    new = values.told_of(key.rpartition("'s ")[2], put)
    left = [fact(key + BEFORE, value_of(groups["old"]))] if key == "home" and had is None else []
    return [*left, fact(key, new)] if key and new else []


def _has_words(value: str, words: str) -> bool:
    spaced = " ".join(word.strip(".,;:!?()") for word in value.casefold().split())
    return f" {words} " in f" {spaced} "


def _sold(text: str, meant: Meant) -> list[Fact]:
    """ "I sold the Skoda": what becomes of one's car."""
    found = _SOLD.match(text)
    told = (one for one in reversed((*meant.known, *meant.values)) if one.key == "car")
    had = next(told, None) if found else None
    if found is None or had is None:
        return []
    old = found["old"].casefold()
    if old != "car" and not _has_words(had.value, old):
        return []
    return [fact("car", values.told_of("car", found["new"] or "") or found["end"])]


def _is_word(name: str) -> bool:
    """Whether what stands for a name says how somebody is, or who: "fine", "Mum"."""
    known = kind("no name") | kind("kin") | kind("adverb") | kind("place preposition") | kind("diet")
    return name in known or name.split("-")[0] in kind("number")


def _switched_to(text: str, meant: Meant, subject: Subject | None) -> list[Fact]:
    """ "I switched to tea": a new value of what had one of its class, or of what was told last."""
    to = _SWITCHED_TO.search(text)
    new = value_of(to["new"]) if to else ""
    if to is None or not new or _NEVER.search(text[: to.start("how")]):
        return []
    owner = subject.owner if subject is not None and not subject.noun else ""
    if new.lower() in kind("diet"):
        return [fact(f"{owner}diet", new)]
    if classes_of(new) and subject is not None:
        told = f"{to['how']} {new}"
        return [fact(f"{owner}likes {' '.join(content(new)[:4])}", told), *_instead(owner, new, told, meant)]
    had = next((one for one in reversed(meant.values) if one.key == meant.thing), None)
    last = meant.values[-1:] if had is None else ()
    had = next((one for one in last if one.key.removeprefix(owner) in _SWITCHED), had)
    return [fact(had.key, re.sub(r"^an? ", "", new))] if had else []


def _instead(owner: str, new: str, told: str, meant: Meant) -> list[Fact]:
    """What was told last of a thing of its class, with the new value: `told` of what one does or likes."""
    chosen = (one for one in reversed(meant.values) if one.kind == "procedural" or _CHOICE.search(one.key))
    same = (one for one in chosen if not classes_of(one.value).isdisjoint(classes_of(new)))
    had = next((one for one in same if one.key.rpartition("'s ")[0] == owner.removesuffix("'s ")), None)
    if had is None or values.value_of(had.value) in (new, told):
        return []
    does = had.kind == "procedural" or had.key.startswith(f"{owner}likes ")
    return [fact(had.key, told if does else new, had.kind)]


def _told_of(text: str, tokens: Sequence[Token], subject: Subject, meant: Meant) -> Iterator[Fact]:
    rest = tokens[subject.end :]
    after = text[rest[0].start :] if rest else ""
    if subject.noun:
        yield from _possession(text, rest, subject)
        return
    if subject.name:
        yield fact(f"{subject.person}'s name", subject.name)
    if taste := _LIKED.match(after) if subject.person else _LIKES.search(text):
        if what := value_of(taste["value"]):
            liked = f"{taste['verb']} {what}"
            yield fact(f"{subject.owner}likes {' '.join(content(what)[:4])}", liked)
            if _CHOSEN.match(liked) and _INSTEAD.search(text):
                yield from _instead(subject.owner, what, liked, meant)
    elif subject.person:
        yield from _predicated(text, rest, subject)
    elif procedure := _procedure(text):
        yield procedure
    elif booked := _BOOKED.match(after):
        if value := value_of(re.sub(r"^(?:on|at) ", "", booked["value"])):
            yield fact(DATE + _noun(booked["noun"]), value)
    elif placed := _PUT.match(after):
        if values.is_placed(placed["value"]) and (value := value_of(placed["value"])):
            yield fact(_noun(placed["noun"]), value)
    else:
        yield from _predicated(text, rest, subject)


def _procedure(text: str) -> Fact | None:
    """A goal or a habit."""
    goal, habit = _GOAL.search(text), _HABIT.search(text)
    found = goal or habit
    if found is None:
        return None
    groups = found.groupdict()
    value = (groups["value"] or groups.get("usual") or groups["each"]).strip().rstrip(".!")[:MAX_VALUE]
    about = content(groups.get("about") or value)
    name = "goal" if goal else "habit"
    return fact(f"{name}: {' '.join(about[:3])}", value, "procedural") if about else None


def _predicate(text: str, rest: Sequence[Token]) -> _Predicate | None:
    """Reads what follows a subject; None for what may, should or will be."""
    words, kept = list[str](), list[Token]()
    negated, past, at = -1, False, 0
    while at < len(rest):
        key, follows = rest[at].key, rest[at + 1].key if at + 1 < len(rest) else ""
        if not words and key in kind("unreal"):
            return None
        if not words and (key, follows) == ("used", "to"):
            past, at = True, at + 1
        elif (key, follows) == ("no", "longer"):
            negated, at = (at if negated < 0 else negated), at + 1
        elif key == "not" or (key == "never" and not words):
            negated = (at if words == ["be"] or not at else at - 1) if negated < 0 else negated
        elif key not in kind("adverb") or (words and words[-1] not in ("be", "have", "do")):
            words.append("be" if key == "'s" else plain(key))
            kept.append(rest[at])
        at += 1
    drop = int(words[:1] == ["do"] and len(words) > 1)
    perfect = (
        words[drop : drop + 1] == ["have"] and words[drop + 1 : drop + 2] != [] and words[drop + 1] in verbs()
    )
    drop += perfect
    going = words[drop : drop + 1] == ["be"] and any(
        token.key.endswith("ing") and plain(token.key) in verbs() for token in kept[drop + 1 : drop + 2]
    )
    has_moved = bool(kept) and kept[0].key == "'s" and words[1:2] != [] and words[1] in _MOVING
    drop += going or has_moved
    words, kept = words[drop:], kept[drop:]
    if not words:
        return None
    if len(words) > 2 and words[1] in ("up", "down", "over", "across") and (words[0], words[2]) in phrases():
        del words[1], kept[1]  # "live up in Byron Bay"
    said = text[rest[negated].start :] if negated >= 0 else ""
    return _Predicate(text, tuple(words), tuple(kept), said, past, perfect, going)


def _predicated(text: str, rest: Sequence[Token], subject: Subject) -> Iterator[Fact]:
    """What a person does, is or has."""
    predicate = _predicate(text, rest)
    if predicate is None:
        return
    for size in range(min(5, len(predicate.plain)), 0, -1):
        relation = phrases().get(predicate.plain[:size])
        if relation is None or (size == len(predicate.plain) and relation.aspect != "end"):
            continue
        if (
            relation.name == "car"
            and predicate.plain[0] != "drive"
            and not _CAR.search(predicate.after(size))
        ):
            break
        found = _related(predicate, relation, size, subject.owner)
        if relation.aspect == "does":
            if not _I.search(text[: rest[0].start]) or not _is_living(predicate, size):
                break
            found = (replace(one, firm=_NOW.search(text) is not None) for one in found)
        yield from found
        return
    first, after = predicate.plain[0], predicate.after(1)
    if first == "be" and after:
        yield from _being(predicate, subject)
    elif first in ("have", "get") and after:
        yield from _having(text, predicate.tokens[1:], subject.owner)
    elif first == "turn" and after and (age := _age(predicate.tokens[1:])):
        yield fact(f"{subject.owner}age", age)


def _is_living(said: _Predicate, size: int) -> bool:
    """Whether what is done is done for a living: now, and to nothing certain."""
    follows = said.tokens[size]
    first = said.tokens[0].key
    done = said.past or said.perfect or said.going or first.endswith("ed") or first == "sold"
    certain = (
        not follows.text[:1].islower() or follows.key in kind("certain") or follows.key in kind("number")
    )
    return not done and not said.negated and not certain and not _HABIT.search(said.text)


def _related(said: _Predicate, relation: Relation, size: int, owner: str) -> Iterator[Fact]:
    """The fact of a predicate whose first `size` words tell a relation."""
    name, after = relation.name, said.after(0 if relation.with_verb else size)
    value = values.told_of(name, after)
    if name == "birthplace":
        yield from _born(after, owner)
        return
    # A negation further on is of what is said there.
    negated = said.negated if said.negated and not (after and len(said.negated) < len(after)) else ""
    if not value or (relation.aspect == "change" and (negated or (said.going and _AHEAD.search(said.text)))):
        return  # "I'm moving to Orkney in January" is not yet so
    key = owner + (f"allergy: {value.lower()}" if name == "allergy" else name)
    if negated or relation.aspect == "end":
        ended = values.clipped(negated or said.after(0))
        yield fact(key, ended)
        if name == "employer" and not negated and _MY_JOB.search(ended):
            yield fact(f"{owner}job", ended)
        return
    if name == "car":
        if not re.match(r"(?:an?|my|our|the) |[A-Z]", value):
            return
    elif name == "job" and said.plain[0] == "become" and not values.job_in(value):
        return
    if name in ("car", "job"):
        value = re.sub(r"^(?:an?|the) ", "", value)
    first = said.tokens[0].key
    held = relation.aspect == "is" and not said.perfect and (first in ("was", "were") or first.endswith("ed"))
    past = said.past or held or (said.perfect and _EARLIER.fullmatch(said.text) is not None)
    yield fact(key + BEFORE * past, value)
    if name == "job" and not past and (firm := values.firm_in(after)):
        yield fact(f"{owner}employer", firm)
    role = re.search(r"\bas (an? .+)", after) if name == "employer" and not past else None
    if role and (job := values.job_in(role[1])):
        yield fact(f"{owner}job", job)


def _being(said: _Predicate, subject: Subject) -> Iterator[Fact]:
    """ "(She is) 30", "(is) called Rex", "(is) at Ryanair now", "(is) vegan", "(is) a nurse at the Royal"."""
    owner, rest, text = subject.owner, said.tokens[1:], said.after(1)
    past = said.past or (said.tokens[0].key in ("was", "were") and not said.perfect)
    first = rest[0].key
    now, diet = _HERE_NOW.match(text), _DIET.match(text)
    stated = values.clipped(said.negated)
    if first[:1].isdigit() or first.split("-")[0] in kind("number"):
        if age := _age(rest):
            yield fact(f"{owner}age", age)
    elif first in ("called", "named") and owner:
        if value := value_of(said.after(2)):
            yield fact(f"{owner}name", value)
    elif now and not stated and not past:
        yield fact(f"{owner}{'home' if now['at'] == 'in' else 'employer'}", now["value"])
    elif diet and diet["value"].lower() in kind("diet"):
        yield fact(f"{owner}diet{BEFORE * past}", stated or diet["value"])
    elif first == "born":
        yield from _born(said.after(3), owner)
    elif job := values.role_in(text):
        yield fact(f"{owner}job{BEFORE * past}", stated or job)
        if not stated and not past and (firm := values.firm_in(text)):
            yield fact(f"{owner}employer", firm)
    elif not stated and rest[0].is_name and _is_kin(subject.person) and len(content(text)) <= 3:
        value = "" if first in kind("no name") else value_of(text)  # "my boss is Pauline"
        yield from [fact(f"{owner}name", value)] if value else []


def _is_kin(person: str) -> bool:
    return bool(person) and person.split()[-1] in kind("kin")


def _age(tokens: Sequence[Token]) -> str:
    """The years of "34 years old", "41 last week"; "" of what is no age."""
    first, after = tokens[0], keys_of(tokens[1:3])
    counts = first.key.split("-")[0] in kind("number") or (first.key.isdigit() and 0 < int(first.key) < 130)
    ends = not after or not after[0][:1].isalnum() or after[0] in kind("after age")
    return first.text if counts and ends and after not in (["on", "the"], ["in", "the"]) else ""


def _born(text: str, owner: str) -> Iterator[Fact]:
    place, date = values.born_in(text)
    if date:
        yield fact(f"{DATE}{owner}birthday", date)
    if place:
        yield fact(f"{owner}birthplace", place)


def _having(text: str, rest: Sequence[Token], owner: str) -> Iterator[Fact]:
    """ "(I have) a dog called Rex", "a cat, Miso"."""
    keys = keys_of(rest)
    for at, key in enumerate(keys[:6]):
        two = " ".join(keys[max(at - 1, 0) : at + 1])
        noun = two if two in kind("pet") else key
        if not is_being(noun) or at + 2 >= len(rest):
            continue
        named = keys[at + 1] in ("called", "named") or (keys[at + 1] == "," and rest[at + 2].is_name)
        if named and (value := value_of(text[rest[at + 2].start :])):
            yield fact(f"{owner}{noun}'s name", value)
        return


def _possession(text: str, rest: Sequence[Token], subject: Subject) -> Iterator[Fact]:
    """What is told of a thing of somebody's: "my shoe size is …", "Clara's birthday is on …"."""
    key, keys = subject.owner + subject.noun, keys_of(rest)
    moved = _MOVED.match(text[rest[0].start :]) if rest else None
    if moved:
        value = text[rest[0].start + moved.end() :]
        if values.is_date(value) and (day := value_of(value)):
            yield fact(DATE + key, day)
        return
    if not keys or keys[0] not in kind("be"):
        return
    at = 1
    while at < len(keys) and (keys[at] in _TO_BE or keys[at] in kind("adverb")):
        at += 1
    if at >= len(rest) or not {"not", "no"}.isdisjoint(keys[:at]):
        return
    after = text[rest[at].start :]
    if moved := _MOVED.match(after):
        after = after[moved.end() :]
    valued = subject.noun in relation_named() or values.is_attribute(subject.noun)
    if values.is_date(after) and (not valued or re.match(r"(?:on|at|for) ", after)):
        day = value_of(re.sub(r"^(?:on|at|for|to|until) ", "", after))
        was = keys[0] in ("was", "were") and not moved and re.match(rf"{DAY}\b(?!.*\d)", day, re.IGNORECASE)
        if day and not was:
            yield fact(DATE + key, day)
        return
    relation = relation_named().get(subject.noun.split()[-1], "")
    if relation not in ("", "employer", "allergy", "diet"):
        after = re.sub(r"^(?:(?:in|at|on|being (?:an? )?|that of|an?|the) )+", "", after)
        key = subject.owner + relation if subject.noun in relation_named() else key
    elif keys[at] in ("called", "named"):
        key, after = f"{key}'s name", after.partition(" ")[2]
    elif not relation and not values.holds_value(subject.noun, after):
        return
    if value := value_of(after):
        yield fact(key + BEFORE * (keys[0] == "used"), value)


def _named_thing(text: str, tokens: Sequence[Token]) -> Iterator[Fact]:
    """ "The wifi password is …", "the dentist is moved to …": what needs no owner."""
    keys = keys_of(tokens)
    if keys[:1] not in (["the"], ["our"], ["my"]):
        return
    tells = [at for at, key in enumerate(keys[:9]) if key in kind("be") or (at < 6 and key in kind("moves"))]
    last = tells[0] if tells else 0
    noun = " ".join(key for key in keys[1:last] if key not in kind("adjective"))
    if not noun or len(noun.split()) > LONGEST_NOUN or not all(key[:1].isalnum() for key in keys[1:last]):
        return
    after = text[tokens[last + 1].start :] if last + 1 < len(tokens) else ""
    dated = values.is_date(after) or _MOVED.match(text[tokens[last].start :]) is not None
    placed = values.is_placed(re.sub(r"^(?:(?:now|actually|still|always|kept|hidden|back) )+", "", after))
    if noun in kind("kin") and not dated:  # "the new boss is Pauline"
        if after[:1].isupper() and (value := value_of(after)):
            yield fact(f"{noun}'s name", value)
    elif dated or placed or values.is_attribute(noun):
        yield from _possession(text, tokens[last:], Subject("", 0, noun))


def _noun(text: str) -> str:
    return " ".join(word for word in text.casefold().split() if word not in kind("adjective"))


def fact(key: str, value: str, kind: Kind = "core", origin: Origin = "rules") -> Fact:
    """A fact whose key is as long as a key may be."""
    return Fact(clip(key, MAX_NAME).strip(), value, kind, origin)


def is_own(sentence: str) -> bool:
    """Whether a sentence states something of the person's own life."""
    return bool(_OWN.search(sentence.replace("’", "'"))) and not is_supposed(sentence)


def is_supposed(sentence: str) -> bool:
    """Whether a sentence only supposes, wishes or reports."""
    return bool(_NOT_SAID.search(sentence))
