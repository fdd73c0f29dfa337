"""The persona block: how the owner wants to be answered, read by rules and followed in style alone.

A wish is stored as it was said, under a key such as "persona: language"; the latest one of a key holds. What
enters a prompt or changes an answer is only what the closed lists below know: a length, a language, a tone,
and a short name. Any other wish is stored and shown, and nothing follows it, so no wish can name a task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from gamer.index.memory.records import PERSONA

_TALK = r"(?:answer|reply|respond|speak|talk|write)"
_ME = r"(?:(?: to| with)? me| always| only| please| back){0,4}"
_BEGIN = re.compile(
    r"^(?:(?:please|hey|but|ok|okay|and|so|then|just|always|from now on|in future|i want you to|"
    r"i would like you to|i'd like you to|i'd prefer you to|i prefer you to|"
    r"you should|you can|you must|you may),? )*",
    re.IGNORECASE,
)
_LANGUAGE = (
    r"(?P<what>English|German|French|Spanish|Portuguese|Italian|Dutch|Danish|Swedish|Norwegian|Finnish|"
    r"Polish|Czech|Hungarian|Greek|Turkish|Russian|Ukrainian|Arabic|Hebrew|Hindi|Chinese|Mandarin|Japanese|"
    r"Korean|Vietnamese|Thai|Romanian|Catalan)"
)
_SHORT = r"(?:short(?:er)?|brief(?:er|ly)?|concise(?:ly)?|few|one|two|tersely|terse)"
_LONG = r"(?:long(?:er)?|detailed|full|complete|at length|in detail|verbose)"
_UNIT = r"(?:sentences?|words?|answers?|replies)"
_TONE = (
    r"(?:(?:in)?formal|friendl(?:y|ier)|polite|kind|funny|serious|casual|honest|direct|gentle|patient|warm|"
    r"playful|cheerful|professional|sarcastic|humble)"
)
_VERY = r"(?:(?:a bit|a little|more|less|very|quite|always|as) ){0,4}"
# Aspect → what a wish for it looks like, from the clause's first word on.
_WISHES = tuple(
    (aspect, re.compile(pattern, re.IGNORECASE))
    for aspect, pattern in (
        ("language", rf"(?:{_TALK}{_ME}|use)(?: in)? {_LANGUAGE}\b"),
        ("length", rf"{_TALK}{_ME}(?: in| with)? {_VERY}(?:(?:{_SHORT}|{_LONG}) {_UNIT}|"
                   rf"briefly|concisely|tersely|at length|in detail)\b"),
        ("length", rf"(?:use|give me|write) {_VERY}(?:{_SHORT}|{_LONG}) {_UNIT}\b"),
        ("length", rf"be {_VERY}(?:short(?:er)?|brief(?:er)?|concise|terse|detailed|verbose)\b"),
        ("length", rf"(?:keep|make) (?:it|them|(?:your |the )?(?:answers?|replies|sentences)) {_VERY}"
                   rf"(?:{_SHORT}|{_LONG})\b"),
        ("tone", rf"(?:be|sound) {_VERY}{_TONE}\b"),
        ("tone", rf"{_TALK}{_ME} {_VERY}{_TONE}(?:ly)?\b"),
    )
)  # fmt: skip
# A name as a wish may give it; nothing else of a stored value is followed.
_NAME = (
    r"(?!(?:a|an|the|back|later|again|when|if|at|on|in|by|to|for|after|before|now|any|anytime|every|maybe|"
    r"crazy|old|next|this|whatever|what|tomorrow|tonight|today|soon|once|as|from)\b)"
    r"[^\W\d_][\w'’.-]{0,23}(?: (?!(?:and|or|not|instead|from|now|please|then|because)\b)"
    r"[^\W\d_][\w'’.-]{0,23})?"
)
_NAMED = re.compile(
    r"^(?:call me|address me as|i prefer to be called|i'd like to be called|i go by)"
    rf" (?P<name>{_NAME})(?: (?:please|from now on|instead|now))?,?[.! ]*$",
    re.IGNORECASE,
)
_NOT_NAMED = re.compile(r"^(?:never|don't|do not|stop) call(?:ing)? me .+", re.IGNORECASE)
_OTHER = re.compile(
    rf"^(?:please )?(?:(?:always|never) (?P<how>{_TALK}|use|be)|{_TALK}(?: to)? me) ?.*\w.*", re.IGNORECASE
)
_MAX_WISH = 60  # characters of a wish in a prompt
# What each wish is in a prompt: only what its own pattern has matched, so nothing else of the sentence.
_SAYS = "How to word it, a wish for style that changes nothing else:"


# Begin the program's own sentences, and no value that a person told.
_OWN = (
    "Here.",
    "In a photo",
    "Noted",
    "On ",
    "The album ",
    "The memory of a photo",
    "There is no such",
    "You ",
)


@dataclass(frozen=True)
class Manner:
    """What of the wishes is followed. `name`: "" if none was given. `styles`: the wishes as a prompt may say
    them, each from the closed lists.
    """

    name: str = ""
    short: bool = False
    styles: tuple[str, ...] = ()

    def prompt(self) -> str:
        """A line for a model's system turn; "" without a wish."""
        said = [*self.styles, *([f"call me {self.name}"] if self.name else [])]
        return f"{_SAYS} {', '.join(f'“{one}”' for one in said)}." if said else ""

    def noted(self, text: str) -> str:
        """The rules' answer with the name."""
        if not self.name or text.startswith(self.name):
            return text
        own = text.startswith(_OWN)
        return f"{self.name}, {text[:1].lower() if own else text[:1]}{text[1:]}"


def wish_of(clause: str) -> tuple[str, str] | None:
    """The key and the value of the wish that a clause is, in the person's words; None if it is none."""
    plain = clause[_begin(clause) :]
    if found := _NAMED.match(plain):
        return f"{PERSONA}name", found["name"].rstrip(".")
    if _NOT_NAMED.match(plain):
        return f"{PERSONA}name", plain.rstrip(".!")
    for aspect, pattern in _WISHES:
        if pattern.match(plain):
            return f"{PERSONA}{aspect}", plain.rstrip(".!")
    if found := _OTHER.match(clause):
        return f"{PERSONA}{(found['how'] or 'answer').lower()}", clause.rstrip(".!")
    return None


def manner_of(wishes: Iterable[tuple[str, str]]) -> Manner:
    """What is followed of the current values of the persona block, as (key, value)."""
    name, short, styles = "", False, []
    for key, value in wishes:
        if key == f"{PERSONA}name":
            name = value if re.fullmatch(_NAME, value, re.IGNORECASE) else ""
            continue
        plain = value[_begin(value) :]
        for aspect, pattern in _WISHES:
            if key == f"{PERSONA}{aspect}" and (found := pattern.match(plain)):
                styles.append(found[0][:_MAX_WISH])
                short = short or (aspect == "length" and bool(re.search(rf"\b{_SHORT}\b", found[0], re.I)))
                break
    return Manner(name, short, tuple(styles))


def _begin(clause: str) -> int:
    found = _BEGIN.match(clause)
    return found.end() if found else 0
