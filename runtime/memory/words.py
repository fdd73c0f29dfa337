"""What the rules know of the words of a turn: sentences, content words, questions, and words of time."""

from __future__ import annotations

import re

from gamer.index.entities.words import STOP_WORDS, WORD

from ..questions.clauses import sentences_of
from ..questions.dates import DAY, MONTHS

# Bits of `person_turns.traits`.
STATES, ASKS, TIMED, SHOWS = 1, 2, 4, 8
LENGTH = 1 << 20  # the bits from here on count its words
MOST = 2_000  # characters of a turn, or of a question, that are read
_LONGEST = 80  # characters of a word
TIME = re.compile(
    rf"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|this (?:week|month|morning|weekend|year|summer|"
    rf"spring|fall|autumn|winter)|{DAY}|{MONTHS}|recently|just|soon|since|years?|months?|weeks?|days?|"
    rf"weekend|"
    r"(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
WHEN = re.compile(
    r"\b(?:when|how long|what (?:year|month|day|date|time)|which (?:year|month|day))\b", re.IGNORECASE
)
# Words that carry no content although the photos' search takes them for content.
_SMALL_WORDS = """
i im i'm ive i've id i'd ill i'll you youre you're we we're they they're he she it's its that's
thats there's really actually just very so too also then than now ok okay yes no not dont don't
didn't doesn't can't won't isn't wasn't am been being be do does did done have has had having
will would could should hey hi hello thanks thank please well oh wow yeah sorry lol haha what
who whom whose where when why how which
"""
_SMALL = frozenset(_SMALL_WORDS.split())


def content(text: str) -> list[str]:
    """The content words of a text, in lower case, in order, each once; no word that nobody could mean."""
    found = (word for word in WORD.findall(text) if len(word) <= _LONGEST)
    words = dict.fromkeys(word.casefold().replace("’", "'") for word in found)
    return [word for word in words if word not in STOP_WORDS and word not in _SMALL]


_AUX = r"(?:am|are|can|could|did|do|does|had|has|have|is|was|were|will|would|should|'s|s)"
_WHO = (
    r"(?:i|we|you|he|she|it|they|my|our|your|his|her|their|the|that|this|there|anyone|anybody|"
    r"(?-i:[A-Z])[\w'-]*)"
)
_ASIDE = (
    r"(?:and|so|but|ok|okay|hey|hi|right|well|please|btw|um|er|now|oh|quick question|remind me|tell me|"
    r"any idea|do you know|do you remember|can you tell me|i forgot|i forget|hold on|wait)"
)
# "what do I do for a living", "and who did I …", "tell me where …": questions without a question mark.
_BEGINS = re.compile(
    rf"(?:{_ASIDE}\b[\s,:;.!–—-]{{0,4}}){{0,4}}(?:(?:what|whereabouts|where|who|when|why|how|whose)(?:'?s|"
    rf"'re)? {_AUX}\b |"
    r"(?:what|where|who|when|how)'?s (?!up\b)\w|"
    rf"(?:which|what|whose|how) (?:[\w'-]+ ){{1,3}}(?:am|are|did|do|does|has|have|is|was|were|"
    rf"will) {_WHO}\b|(?:am|are|did|do|does|has|have|is|was|were) {_WHO} |"
    r"(?:remind me|tell me|i forgot|i forget|do you know|do you remember) (?:of\b|the\b|my\b|our\b|what|"
    r"where|who|when|why|how|which)|(?:remind me|tell me|do you know|do you remember) about\b)",
    re.IGNORECASE,
)


def asks(sentence: str) -> bool:
    """Whether a sentence is a question, by its mark or its beginning."""
    said = sentence.strip()
    if said.rstrip(" )\"'”").endswith("?"):
        return True
    return not said.endswith("!") and _BEGINS.match(said[:200].replace("’", "'")) is not None


def traits(text: str, shows: bool = False) -> int:
    """The bits of a turn; of a long one, by its first 20,000 characters. `shows`: it came with a picture."""
    said = sentences_of(text[:20_000])
    states = any(not asks(one) and len(content(one)) >= 2 for one in said)
    return (
        STATES * states
        | ASKS * bool(said and asks(said[-1]))
        | TIMED * bool(TIME.search(text[:20_000]))
        | SHOWS * shows
        | LENGTH * min(len(text[:20_000].split()), 4_000)
    )
