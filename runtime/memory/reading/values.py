"""Values in what a person tells: where one ends, days, places, jobs, and which of them names nothing."""

from __future__ import annotations

import re

from ...questions.dates import DAY, MONTHS
from ..words import content
from .vocabulary import kind, relation_named

MAX_VALUE = 120  # characters
SOFTLY = r"(?:just|recently|finally|actually|now|currently|also|really|still|always|already|then|both)"
_DATED = rf"\d{{1,2}}(?:st|nd|rd|th)\b|\d{{1,2}} (?:of )?(?:{MONTHS})|{MONTHS}"
_HOUR = r"\d{1,2}[:.]\d\d\b(?! ?(?:euros?|pounds?|dollars?))|\d{1,2} ?(?:am|pm|a\.m|p\.m|o'clock)"
# A day or an hour, as a value begins with it.
WHEN = rf"(?:{DAY}s?|tomorrow|today|tonight|{_DATED}|{_HOUR})"
# Somebody else begins to do something: "and she hates it", "and Anna hates it".
_OTHERS = (
    r"(?:he|she|they|you|his|her|their|your|our|that|this|then|so|has|have)|(?:[^ ]+ ){1,2}(?:is|"
    r"was|are|were|has|had|"
    r"hates?|loves?|likes?|dislikes?|prefers?|does|doesn't|says|said|thinks?|wants?|can't|cannot)"
)
# A value ends at a clause that says something else.
_END = re.compile(
    rf" ?(?:[,;()!]|:(?!\d\d\b)| [-–—] |\b(?:and (?:i|we|it|my|the|now|{_OTHERS})|but|because|since|so|which|"
    rf"where|when|while|"
    r"although|though|instead|anymore|any more|any longer|these days|right now|now|today|yesterday|"
    r"recently|last|"
    r"this|these|those|for (?:a|the|now|work|two|three|years|good|ages)|after|before|until|with my|"
    r"from next|as of|"
    r"at the moment|again|by the way|btw|actually|as well|too|at last|to be closer|if you|fwiw|lol|haha|"
    r"on (?:weekends|weekdays|nights|days off))\b).*$",
    re.IGNORECASE | re.DOTALL,
)
# "I moved to Lisbon in March": the month is when, not where.
_LASTING = frozenset({"car", "employer", "home", "job", "study"})
_TIMED = re.compile(
    rf" (?:in|since|back in|on) (?:early |late |the )?(?:{MONTHS}|spring|summer|autumn|fall|winter|"
    rf"\d{{4}}|{DAY}s?)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
# A comma ends a value, but not a date: "Thursday, November 19".
_WEEKDAY = re.compile(rf"(?<=day), (?=(?:the )?(?:\d|{MONTHS}))", re.IGNORECASE)
_DATE = re.compile(
    rf"(?:(?:now|actually|really|back|on|at|for|to|until|the|is|every) )*(?:{WHEN}|next (?:week|"
    rf"month|year|{MONTHS}|{DAY})|"
    rf"half past|quarter (?:to|past)|noon|midnight|\d{{1,2}}/\d{{1,2}}|\d{{4}}-\d\d)",
    re.IGNORECASE,
)
_BIRTH = re.compile(
    rf"(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{MONTHS})(?:,? \d{{4}})?|"
    rf"(?:{MONTHS})(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? \d{{4}})?|\b(?:19|20)\d\d\b|"
    rf"\b\d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})?",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"(?:(?:now|just|currently) )?an? (?P<job>[a-zà-ÿ][\w' -]{2,40}?) (?:at|for|"
    r"with) (?:the )?(?P<firm>[A-ZÀ-Þ].*)"
)
_AT = re.compile(r"[^,;:.!?]{0,80}?\b(?:at|for|with) (?P<firm>(?:the |a )?[^\W\d_].*)")
_BEFORE_JOB = frozenset({"a", "an", "the", "being", "now", "just", "still", "also", "that", "of"})
_PREPOSITIONS = frozenset({"than", "of", "for", "at", "in", "with", "by"})
_PLACED = frozenset("the my our a an his her your level floor row platform shelf top".split())  # noqa: SIM905
_OF = re.compile(r" (?:for|of|in|at|on) ")


def clipped(text: str) -> str:
    """A text up to where something else is said."""
    return _END.sub("", text.strip().rstrip(".!?")).strip(" .")[:MAX_VALUE].strip()


def value_of(text: str) -> str:
    """A value without what follows it; "" for one that names nothing."""
    short = clipped(_WEEKDAY.sub(" ", text))
    named = bool(content(short)) or short[:1].isdigit()
    return short if named and short.casefold() not in kind("vague") else ""


def told_of(relation: str, text: str) -> str:
    """The value of a relation; of what lasts, without the time since which it holds."""
    return value_of(_TIMED.sub("", text) if relation in _LASTING else text)


def is_date(text: str) -> bool:
    """Whether a text begins with a day or an hour."""
    return _DATE.match(text) is not None


def is_placed(text: str) -> bool:
    """Whether a phrase says where something is: "under the blue pot"."""
    words = text.split()
    for size in (1, 2, 3):
        if len(words) > size and " ".join(words[:size]).lower() in kind("place preposition"):
            follows = words[size]
            if follows.lower() in _PLACED or follows[:1].isupper() or follows.lower().endswith("'s"):
                return True
    return False


def is_attribute(noun: str) -> bool:
    """Whether a noun names something that has a value: "alarm code for the shed"."""
    head = _OF.split(noun)[0]
    return head in kind("attribute") or head.split()[-1] in kind("attribute") or head.startswith("favorite ")


def holds_value(noun: str, text: str) -> bool:
    """Whether "my NOUN is TEXT" names a value, and does not only describe: "my coffee is cold"."""
    if (
        is_attribute(noun)
        or is_placed(text)
        or text.startswith("number ")
        or re.match(r"[A-ZÀ-Þ]\w|\d", text)
    ):
        return True
    owned = noun.split()[-1] in kind("thing") or noun.split()[-1] in relation_named()
    return owned and re.match(r"an? ", text) is not None


def job_in(text: str) -> str:
    """The job that a phrase names: "a retired engineer at Fiat" → "retired engineer"; "" if it names none."""
    words = text.split()
    while words and words[0].lower() in _BEFORE_JOB:
        words = words[1:]
    plain = [word.strip(".,;:!?()").lower() for word in words]
    for size in range(1, min(5, len(words)) + 1):
        if _PREPOSITIONS.intersection(plain[: size - 1]):
            return ""
        is_job = plain[size - 1] in kind("job") or " ".join(plain[max(size - 2, 0) : size]) in kind("job")
        longer = plain[size : size + 1] and (
            plain[size] in kind("job") or f"{plain[size - 1]} {plain[size]}" in kind("job")
        )
        if is_job and not longer and not plain[size - 1].endswith("'s"):
            return " ".join(words[:size]).strip(".,;:!?()")
    return ""


def role_in(text: str) -> str:
    """The job of "a litigator at Cole & Whitman", of whatever name it is; "" where nobody works."""
    found = _ROLE.match(text)
    if found is None or found["job"].split()[-1] in kind("guest"):
        return job_in(text)
    return job_in(text) or found["job"]


def firm_in(text: str) -> str:
    """Whom "a nurse at the Royal" works for; "" if it is not said."""
    found = _AT.match(text)
    firm = told_of("employer", found["firm"]) if found else ""
    return firm if re.search(r"[A-ZÀ-Þ]", firm) else ""


def born_in(text: str) -> tuple[str, str]:
    """The place and the day of "(born in) Stuttgart on 17 August 1988"; "" for what is not said."""
    date = _BIRTH.search(text)
    before = text[: date.start()] if date else text
    place = value_of(
        re.sub(r"^(?:in|at|on) ", "", before.removesuffix(" on ").removesuffix(" in ")).strip(" ,")
    )
    if not place and date and (after := re.match(r",? in (?P<place>[A-ZÀ-Þ].*)", text[date.end() :])):
        place = value_of(after["place"])
    return place if place[:1].isupper() else "", date[0] if date else ""
