"""The patterns by which `question` reads English questions: words of time, order, number and asking."""

from __future__ import annotations

import re
from typing import Literal

Asks = Literal["photos", "when", "where", "who", "count", "fact"]
UNITS = (
    "day|date|morning|afternoon|evening|night|trip|journey|outing|event|walk|hike|party|visit|weekend|week|"
    "month"
)
PERSON = r"(?:i|we)(?:'d|'ve| had| have)?"
VERB = (
    r"(?:photographed|photograph|took|take|taken|shot|shoot|saw|see|seen|visited|visit|captured|went to|"
    r"was at|were at|was in|were in|stood|met|meet|ate|eat|had|made|snapped|got|found)"
)
ADVERB = r"(?:\s+(?:also|ever|then|just|\w+ly))*"  # no word in two ways, or repeated ones take for ever
SAID = rf"{PERSON}{ADVERB}\s+{VERB}(?:\s+(?:a|the|some)?\s*(?:photos?|pictures?|shots?|pics?)\s+of)?"
PICTURE = r"(?:photo(?:graph)?|picture|shot|image|pic|snapshot|snap|frame)"
FROM = r"(?:(?:taken|made|shot)\s+)?(?:\b(?:on|from|of|during|in|at)\s+)?"
ANCHOR_AND_TAIL = (
    r"(?P<anchor>[^:;]+?)"
    r"(?:(?:[:;]|,(?=\s*(?:what|which|who|where|when|how|did|was|were)\b))\s*(?P<tail>.+))?$"
)
SAME = re.compile(
    rf"{FROM}(?:\b(?:the|that|this)\s+)?\bsame\s+(?P<unit>{UNITS})\s+"
    rf"(?:as|that|when|with|of|where)\s+{ANCHOR_AND_TAIL}",
    re.IGNORECASE,
)
DAY_OF = re.compile(
    rf"{FROM}\bthe\s+(?P<unit>{UNITS})\s+"
    rf"(?:(?:(?P<noun>of|with)|when|where|that|on which|in which)\s+(?:{SAID}\s+)?|{SAID}\s+)"
    rf"{ANCHOR_AND_TAIL}",
    re.IGNORECASE,
)
# "The day after the concert": another day, counted from the anchor's.
SHIFTED = re.compile(
    rf"{FROM}(?:\bthe\s+)?(?:\b(?:very\s+)?(?:next|following|previous)\s+)?"
    r"(?:\b(?P<n>one|two|three|four|five|six|seven|[1-9])\s+)?\b(?P<unit>day|night|morning|evening|week)s?\s+"
    rf"(?P<way>before|after)\s+(?!(?:last|tomorrow|yesterday)\b){ANCHOR_AND_TAIL}",
    re.IGNORECASE,
)
# "The next photo after the day I saw the whale": after all of that day.
AROUND_UNIT = re.compile(
    r"(?P<head>.*?)\b(?P<way>before|after)\s+(?:the|that)\s+"
    r"(?P<unit>day|night|morning|afternoon|evening|weekend|week|month)\s+"
    rf"(?:(?:of|when|where|that)\s+(?:{SAID}\s+)?|{SAID}\s+)(?P<anchor>\S.*)$",
    re.IGNORECASE,
)
# "When did I first see a whale?"
FIRST_DID = re.compile(
    rf"\b(?:did|have|had)\s+{PERSON}\s+(?:ever\s+)?(?P<order>first|last)\s+(?={VERB}\b)", re.IGNORECASE
)
EXHAUSTIVE = re.compile(r"\b(?:all|every|everything)\b", re.IGNORECASE)
SIDE = re.compile(r"\b(?P<side>earlier|later)\b", re.IGNORECASE)
# "Photos with Anna but not coffee".
WITHOUT = re.compile(
    r",?\s*\b(?:but\s+(?:not|no|without)|(?:but\s+)?(?:excluding|except(?:\s+for)?|without)|and\s+not|not)\s+"
    r"(?:(?:with|of|showing|the\s+ones?\s+(?:with|of)|any)\s+)?(?P<without>[^,;:]+)$",
    re.IGNORECASE,
)
AROUND = re.compile(
    r"(?P<head>.*?)(?:\b(?:right|just|directly|immediately|shortly|straight|soon|only|coming|that\s+came|which\s+came)\s+)*"
    r"\b(?P<way>before|after|following|preceding)\b\s+(?P<anchor>\S.*)$",
    re.IGNORECASE,
)
LEADING = re.compile(
    r"^(?:right\s+|just\s+|directly\s+|immediately\s+)?(?P<way>before|after|following)\s+(?P<anchor>[^,]+),\s*(?P<head>.+)$",
    re.IGNORECASE,
)
BETWEEN = re.compile(r"(?P<head>.*?)\bbetween\s+(?P<anchor>.+?)\s+and\s+(?P<other>.+)$", re.IGNORECASE)
EARLIER = re.compile(
    rf"^did\s+{PERSON}\s+(?:{VERB}\s+)?(?P<anchor>.+?)\s+first,?\s+or\s+"
    rf"(?:did\s+{PERSON}\s+(?:{VERB}\s+)?)?(?P<other>.+?)(?:\s+first)?$",
    re.IGNORECASE,
)
ORDERS = {
    "first": 1, "earliest": 1, "oldest": 1, "next": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5,
    "last": -1, "latest": -1, "newest": -1, "final": -1, "previous": -1, "most recent": -1,
}  # fmt: skip
ORDER_WORD = (
    rf"\b(?:very\s+)?(?P<order>{'|'.join(ORDERS)})\b(?!\s+(?:to|night|week|month|year|summer|winter)\b)"
)
ORDER = re.compile(rf"{ORDER_WORD}(?P<time>\s+(?:time|occasion)\b)?", re.IGNORECASE)
# Without an anchor, only photos and times are counted: "the first snow" is something that a photo shows.
ORDER_OF_PHOTOS = re.compile(
    rf"{ORDER_WORD}(?:(?P<time>\s+(?:time|occasion)\b)|(?=\s+(?:\w+\s+)?{PICTURE}s?\b))", re.IGNORECASE
)
NUMBERS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
}
COUNT = re.compile(
    rf"\b(?P<n>{'|'.join(NUMBERS)}|[1-9][0-9]?)\s+(?=(?:(?:{'|'.join(ORDERS)})\s+)?{PICTURE}s\b)",
    re.IGNORECASE,
)
OTHERS = re.compile(r"\b(?:else|others?|rest|remaining|more|another)\b", re.IGNORECASE)
ONE = re.compile(r"^(?:the|those)\s+ones?\b", re.IGNORECASE)
PLURAL = re.compile(
    rf"\b(?:{PICTURE}s|everything|all|every|each|others|ones)\b|\bwhat(?:ever)?\s+(?:else\s+)?(?:i|we|did)\b|"
    r"\bwhich\s+\w+[^su\W]s\s+(?:did|do|have|had|were|are)\b|^how\s+(?:many|often)\b",
    re.IGNORECASE,
)
# "A cat before the mirror" describes a picture. A question about the order of photos says so: by an order, by
# a word for pictures or for all of them, or by what the photographer did.
I_DID = rf"\b{SAID}\b|\b(?:did|do|was|were|have|had)\s+(?:i|we)\b"
ABOUT_PHOTOS = re.compile(
    rf"\b{PICTURE}s?\b|\bwhat\s+(?:else|came|comes|happened)\b|\b(?:everything|all|every|each|others?|ones?)\b|{I_DID}",
    re.IGNORECASE,
)
DID = re.compile(I_DID, re.IGNORECASE)
PHOTOS = re.compile(rf"\b(?:{PICTURE}s?|ones?)\s*$", re.IGNORECASE)
MOMENT = re.compile(
    rf"(?:when\s+)?{SAID}\b|(?:the|that|this|those|my|our)\s+(?:{PICTURE}s?|ones?)\b", re.IGNORECASE
)
INDEFINITE = re.compile(r"(?:an?|some|and|another)\b", re.IGNORECASE)
PLACED = re.compile(
    r"\b(?:and|never|standing|stands?|stood|sitting|sits?|sat|kneeling|kneels|posing|poses|posed|bowing|"
    r"chasing|running|runs|ran|named|called)\s*$",
    re.IGNORECASE,
)
SUCCESSIVE = re.compile(r"\b(?:next|previous|another)\b", re.IGNORECASE)
EDGE = re.compile(
    r"\W+|(?:what|which|when|where|who|whom|whose|how\s+(?:many|often)|else|others?|everything|anything|all|any|"
    r"every|each|the|an?|my|our|rest|remaining|that|this|those|these|them|"
    rf"{PICTURE}s?|ones?|times?|occasion|moment|i|we|me|us|you|did|do|does|just|right|directly|immediately|"
    r"shortly|soon|straight|very|only|even|finally|show|find|give|list|get|see|want|please|from|of|on|in|at|during|for|to|"
    r"was|were|is|are|had|have|has|came|come|comes|taken|made|there|it|and|with|more|another|"
    rf"{VERB})(?![\w'-])\s*",
    re.IGNORECASE,
)
MARKS = " ,;:.-–—!?'\"“”‘’()"
WHICH = r"(?:what|which)\s+(?:day|date|year|month|time)"
ASKS: dict[Asks, re.Pattern[str]] = {
    "when": re.compile(rf"^(?:(?:on|in|since|until)\s+)?(?:when|{WHICH})\b", re.IGNORECASE),
    "where": re.compile(
        r"^(?:where|(?:in|at|to|from)?\s*(?:what|which)\s+(?:place|city|country|town))\b", re.IGNORECASE
    ),
    "who": re.compile(r"^(?:who|with\s+whom|whom|whose)\b", re.IGNORECASE),
    # "How many weeks passed" counts no photos.
    "count": re.compile(
        r"^how\s+(?:many|often)\b(?!\s+(?:seconds|minutes|hours|days|weeks|months|years)\b)", re.IGNORECASE
    ),
    "fact": re.compile(
        r"^(?:how|why|what|which|did|do|does|is|are|was|were|has|have|had|would|could|can)\b", re.IGNORECASE
    ),
}


# "When I was eating in Berlin, what was on the table?" asks what, not when.
LAST_CLAUSE = re.compile(
    r"(?:,|—|–| - )\s*(?P<asks>(?:what|which|who|where|when|how)\b[^,—–]*)$", re.IGNORECASE
)
