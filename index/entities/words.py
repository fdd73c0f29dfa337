"""English word lists and word rules that entity extraction and text search share.

Words of other languages pass through unchanged.
"""

from __future__ import annotations

import re
from itertools import pairwise

WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")

_STOP = """
a about above after again against all also am an and any are aren't as at be because been before being below
between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each
few for from further had hadn't has hasn't have haven't having he her here hers herself him himself his how i
i'd i'll i'm i've if in into is isn't it it's its itself just let let's me more most much my myself no nor not
now of off on once only or other our ours ourselves out over own same she should shouldn't so some such than
that that's the their theirs them themselves then there there's these they they're they've this those through
to too under until up upon us very was wasn't we we'd we'll we're we've were weren't what what's when where
which while who who's whom why will with won't would wouldn't yes you you'd you'll you're you've your yours
yourself yourselves
"""
STOP_WORDS = frozenset(_STOP.split())

# Frequent words that name no entity: common verbs, adverbs, adjectives of praise, words about pictures.
_VAGUE = """
able absolutely across actually add added almost along already although always amazing another anyone anything
anyway appear appears around ask asked away awesome back bad beautiful became become began behind best better
big bit bright bring brought call called came captured capturing capture casual catch caught certainly check
clear clearly close come comes coming cool couple currently cute day days definitely despite different
directly done either else enjoy enjoyed enjoying enough especially even ever every everyone everything exactly
excited exciting expression face faces far feel feeling feels felt fine find first focus found front full fun
funny gave general get gets getting give given giving glad go goes going gone gonna good got great guess guy
guys haha happened happening happy hard hear heard hello help hey hi hope hoping huge image interesting keep
kind kinda knew know known large last later least left less lets like liked likely little lol long look looked
looking looks lot lots love loved lovely made make makes making many may maybe mean might mine moment moments
must near need needs never new next nice nicely none nothing often oh ok okay old one ones onto others part
people perfect perfectly perhaps photo photos picture pictures place pretty probably put quick quite rather
ready real really remember right said saw say says scene see seeing seem seemed seems seen sense set several
shall shot shots show showed showing shows side simple simply since slightly small smile snapped someone
something sometimes soon sorry sort sounds standing start started still stuff suggest suggesting suggests
super sure take taken takes taking talk tell thank thanks thing things think thinking thought three time times
today together told tomorrow tonight took top totally toward towards tried truly try trying turn turned two uh
um use used using usually vibe view visible wait want wanted wanting wants warm was way ways well went
whatever whether whole without wonderful wonder work worked working wow yeah year years yesterday yet young
doing captures creating create feature featuring filled lively overlooking appear partially various within
background foreground left-hand right-hand center middle also there here night morning afternoon evening week
weekend month
"""

# Verbs of memories that are no nouns too: they relate entities and name none.
_VERBS = """
ate bought brings bring broke built buy buys carried carries climbed cooked cost costs drank drove eat eats
fed flew found gave gets gives grew held holds leads led lies lit lives loves made makes meets met ordered
owns paid pays played plays ran rode sang sat sells sent serves shared showed sits sleeps slept sold spoke
stands stood swam teaches taught threw visited wears went woke won wore writes wrote
"""
VERBS = frozenset(_VERBS.split())
NOT_ENTITIES = STOP_WORDS | VERBS | frozenset(_VAGUE.split())

# Nouns that look like verb forms; other words in -ing and -ed cannot be the last word of a phrase.
_NOUNS = """
building wedding painting ceiling clothing drawing parking string spring swing railing awning clearing
crossing gathering greeting icing landing lighting meeting opening pudding sibling skiing sailing fishing
hiking climbing surfing swimming camping shopping training dumpling duckling viking
"""
_NOUNS_IN_ING = frozenset(_NOUNS.split())


def singular(word: str) -> str:
    """The singular of a lower-case English word by simple suffix rules; other words are unchanged."""
    if len(word) <= 3 or word.endswith(("ss", "us", "is", "'s")) or not word.endswith("s"):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    return word[:-1]


def query_terms(text: str) -> list[str]:
    """A query's distinct words, case-folded, in order, without stop words unless nothing else is left."""
    words = list(dict.fromkeys(word.casefold() for word in WORD.findall(text)))
    return [word for word in words if word not in STOP_WORDS] or words


def looks_verbal(word: str) -> bool:
    """Whether a lower-case word is more likely a verb form than a noun."""
    return len(word) > 5 and word.endswith(("ing", "ed")) and word not in _NOUNS_IN_ING


_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)


def spellings(text: str) -> list[tuple[str, ...]]:
    """The query's terms (as `query_terms`), each with its alternative spellings, the plain one first.

    User names and tags join words: NewYork is also searched as new and york, and Wolfgang in
    "Wolfgang Schulz" also as wolfgangschulz.
    """
    words = [_POSSESSIVE.sub("", word) for word in WORD.findall(text)]
    names = [word if word[:1].isupper() and word.casefold() not in STOP_WORDS else "" for word in words]
    out: dict[str, tuple[str, ...]] = {}
    for at, word in enumerate(words):
        joined = [
            a + b
            for a, b in (
                (names[at - 1] if at else "", names[at]),
                (names[at], "".join(names[at + 1 : at + 2])),
            )
            if a and b
        ]
        forms = [form.casefold() for form in (word, *_humps(word), *joined)]
        out.setdefault(forms[0], tuple(dict.fromkeys(forms)))
    return [forms for term, forms in out.items() if term not in STOP_WORDS] or list(out.values())


def _humps(word: str) -> list[str]:
    """The parts of a word in CamelCase, of three letters or more; empty for other words."""
    starts = [
        0,
        *(at for at in range(1, len(word)) if word[at - 1].islower() and word[at].isupper()),
        len(word),
    ]
    parts = [word[a:b] for a, b in pairwise(starts)]
    return [part for part in parts if len(part) > 2] if len(parts) > 1 else []
