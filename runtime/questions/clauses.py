"""Which sentence answers a question: the question's names, the kind of value that it wants, and its words.

"How much was the espresso?" wants an amount, of what is said of an espresso; a sentence without one does not
answer it, however many words they share. Conversations and `gamer ask` choose their quotations by this.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gamer.index.entities.words import STOP_WORDS

from .dates import DAY
from .words import sections

Wanted = Literal[
    "", "age", "animal", "colour", "duration", "means", "money", "name", "number", "person", "place",
    "reason", "side", "time", "writing"
]  # fmt: skip
LEAST = 0.6  # of the question's words, those that a sentence must have
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
# Not after "Mr." and "Dr."; nor within "9.40". A closing quote belongs to its sentence.
_SENTENCE = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"”’')])(?!\s+[a-z]))(?<!\b[MDS][rt]\.)(?<!\bM[rs]s\.)\s+|\n+"
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_DAY = rf"{DAY}s?"
_COUNT = (
    r"(?:\d[\d.,]{0,9}|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|"
    r"fourteen|fifteen|"
    r"sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|"
    r"hundred|half|a dozen|"
    r"both|no|none|several|a few|a couple)\b)"
)
# Kind of value → what a sentence that has one looks like.
VALUES: Mapping[str, re.Pattern[str]] = {
    kind: re.compile(pattern, re.IGNORECASE)
    for kind, pattern in {
        "age": rf"{_COUNT}[ -](?:years?|months?|weeks?|yrs?)\b|\b(?:is|am|are|was|'s|'m|turn(?:s|ed)?|aged?|"
        rf"be) (?:\w{{1,9}} )?{_COUNT}(?! ?(?:euro|pound|dollar|am\b|pm\b))",
        "animal": r"\b(?:ant|bear|bee|beetle|bird|bunny|butterfly|camel|cat|chicken|cow|crab|deer|dog|"
        r"dolphin|donkey|duck|eagle|elephant|fish|fox|frog|giraffe|goat|goose|hamster|hare|hedgehog|"
        r"hen|heron|horse|hound|jellyfish|kangaroo|kitten|kelpie|lamb|lion|lizard|lobster|"
        r"monkey|moose|mouse|octopus|otter|owl|panda|parrot|peacock|penguin|pig|pigeon|pony|"
        r"poodle|pup|puppy|rabbit|rat|raven|retriever|seal|shark|sheep|shepherd|snail|snake|"
        r"spaniel|spider|squirrel|swan|tabby|terrier|tiger|tortoise|turtle|whale|wolf|zebra)(?:s|es)?\b",
        "colour": r"\b(?:red|blue|green|yellow|orange|purple|violet|pink|brown|black|white|gr[ae]y|beige|"
        r"turquoise|gold(?:en)?|silver|navy|teal|mustard|cream|maroon|crimson|lilac|bronze|olive|ivory|amber|tan|"
        r"blonde?|hazel|copper|scarlet|indigo)\b",
        "duration": rf"(?:{_COUNT}|\ban?) ?(?:\w{{1,9}} )?(?:seconds?|minutes?|mins?|hours?|days?|weeks?|"
        r"months?|years?|nights?|decades?)\b|\bsince\b",
        "means": r"\b(?:by|on) (?:plane|train|car|bus|coach|bike|bicycle|boat|ferry|foot|taxi|tram|"
        r"metro|subway|ship|air|road|rail)\b|\b(?:air)?plane|\bflight|\bfl(?:ew|y|ying|own)\b|\bdr(?:ove|ive|iving|iven)\b|"
        r"\b(?:walk|cycl|sail|hitchhik)(?:ed|ing)\b|\brode\b",
        "money": rf"[€$£¥]|{_COUNT} ?(?:euros?|dollars?|pounds?|quid|francs?|yen|cents?|kr|p\b|bucks)|"
        r"\b(?:free|for nothing)\b|\d[.,]\d\d\b",
        "number": _COUNT,
        "place": r"\b(?:in|at|on|under|behind|near|next to|inside|by|from|to|beside|above|below|through|"
        r"opposite|between|beneath|over|off|outside)\b "
        rf"(?!(?:{_MONTH}|{_DAY}|the \d|\d{{1,2}}[:.]\d\d|\d{{1,2}} |"
        r"(?:19|20)\d\d|me|you|him|her|us|them|that|time|all|least|first|last|night|noon)\b)\w",
        "reason": r"\b(?:because|since|so that|as|to|due|thanks to|that's why|so|after|from|for)\b|:",
        "side": r"\b(?:left|right|both|middle)\b",
        "time": rf"\d{{1,2}}[:.h]\d\d|\b{_DAY}\b|\b{_MONTH}\b|\b(?:19|20)\d\d\b|\b(?:today|tomorrow|tonight|"
        r"yesterday|noon|midnight|morning|evening|afternoon|night|weekend|week|month|year|spring|"
        r"summer|autumn|"
        r"winter|christmas|easter|o'clock|am|pm|half past)\b|\d ?(?:am|pm)",
        "writing": r"(?<!\w)['‘“\"]\w[^'’”\"]{0,80}['’”\"](?!\w)|(?-i:\b[A-Z]{3,}\b)",
    }.items()
}
# "When I was in Rome" and "the pub where we met" ask nothing.
_ASKED = r"(?! (?:i|we|you|he|she|they|my|our|taking|people)\b)"
# What a question says → the kind of value that it wants; the first that fits.
_ASKS: tuple[tuple[re.Pattern[str], Wanted], ...] = (
    (re.compile(r"\bhow long\b|\bfor how many (?:days|weeks|hours|years)"), "duration"),
    (
        re.compile(
            r"\bhow much\b|\bprice\b|\bcosts?\b|\bcharged?\b|"
            r"\bwhat (?:did|do|does|have|has|had) [\w']+ (?:\w+ )?(?:pay|paid|spend|spent)\b"
        ),
        "money",
    ),
    (re.compile(r"\bhow old\b|\bwhat age\b"), "age"),
    (
        re.compile(
            r"\b(?:what|which) (?:(?:kind|sort) of )?(?:animal|breed|creature|pet)s?\b"
            r"(?! (?:clinic|doctor|food|hospital|name|park|shelter|shop|store))"
        ),
        "animal",
    ),
    (re.compile(r"\bhow (?:many|tall|far|big|heavy|high|fast)\b|\b(?:what|which) number\b"), "number"),
    (re.compile(r"\b(?:what|which)\b(?:'s)? (?:.{0,40} )?colou?rs?\b"), "colour"),
    (re.compile(r"\bwhich (?:hand|eye|side|arm|leg|foot|ear|knee|shoulder|end)\b"), "side"),
    (
        re.compile(
            r"\bhow (?:did|do|does|had|have) (?:i|we|you|he|she|they) (?:get|go|travel|come|arrive)\b"
        ),
        "means",
    ),
    (
        re.compile(
            r"\bwhat (?:did|does|do) .{1,60}\b(?:say|read)\b|\bwhat (?:is|was|'s) (?:written|printed)\b"
        ),
        "writing",
    ),
    (
        re.compile(
            rf"\bwhen(?:'?s)?\b{_ASKED}|\bhow late\b|"
            r"\b(?:what|which) (?:time|day|date|month|year|weekday|week)\b"
        ),
        "time",
    ),
    (
        re.compile(
            rf"\bwhere(?:'?s)?\b{_ASKED}|"
            r"\b(?:what|which) (?:city|town|country|place|street|room|drawer|shelf)\b"
        ),
        "place",
    ),
    (re.compile(r"\bwhy\b|\bhow come\b"), "reason"),
    (re.compile(r"\bwhat(?:'?s)? .{0,80}\b(?:name|called)\b|\bnames? of\b|'s name\b"), "name"),
    (re.compile(r"\b(?:who|whom|whose|who's|whos)\b|\b(?:what|which) person\b"), "person"),
)
_HEAD = re.compile(
    r"\bwhat(?:'s| is| was| are| were) (?:\w+ ){0,3}?(\w+)(?= (?:at|for|from|in|of|on|to|with)\b|$)"
)
_DENIES = re.compile(r"\b(?:not|never|no longer|dont)\b|n['’]t\b", re.IGNORECASE)
_WHETHER = re.compile(r"(?!do you (?:know|remember)\b)(?:have|has|had|did|do|does|am|is|are|was|were) ")
_REFERS = re.compile(
    r"\b(?:he|she|it|they|him|her|his|its|their|them|this|that|there|these|those)\b", re.IGNORECASE
)
_PARTS = re.compile(
    r",? (?:and|but|while|whereas) (?=(?:(?i:i|i'm|we|my|our|he|she|they|it|it's|now|the)|"
    r"[A-Z][\w'’-]*) )|; "
)


_PAID = frozenset(("charg", "pay", "spend"))  # stems
_OWNED = frozenset(
    ("a", "an", "another", "any", "her", "his", "its", "my", "our", "some", "that", "the", "their", "this")
)
_SPEAKERS = ("he", "i", "she", "they", "we", "you")
_SAID_MYSELF = re.compile(r"\b(?:did|have|had) (?:i|we) (?:ever |just |already )?(?:say|said)\b")


@dataclass(frozen=True)
class Sought:
    """What a question wants. `names`: that the sentence, or what is known of it, must have, each by one of
    its forms ("sister", "clara"), in lower case. `words`: stems of the question's words of content, but for
    "gate" of "which gate". `denies`: whether it asks for what is not so, or whether something is. `kind`: the
    stem of what the answer is: "gate", "password" of "what is the wifi password at home".
    """

    wanted: Wanted
    names: tuple[frozenset[str], ...]
    words: frozenset[str]
    denies: bool
    kind: str = ""


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, each with its mark."""
    return [sentence.strip() for sentence in _SENTENCE.split(text) if sentence.strip()]


def stem(word: str) -> str:
    """A word without an ending of English grammar, in lower case."""
    known = _bare(word)
    plain = _kind("plain").get(known, known)
    for ending in ("ings", "ing", "ied", "ies", "ed", "es", "s", "e", "y"):
        if plain.endswith(ending) and len(plain) - len(ending) >= 3:
            bare = plain.removesuffix(ending)
            doubled = len(bare) > 3 and bare[-1] == bare[-2] and ending not in ("s", "e", "y")
            return bare[:-1] if doubled else bare
    return plain


def is_content(word: str) -> bool:
    """Whether a word says what a text is about."""
    forms = (word.lower(), _bare(word))
    return STOP_WORDS.isdisjoint(forms) and _kind("soft").keys().isdisjoint(forms)


def sought(question: str, people: Sequence[frozenset[str]] = ()) -> Sought:
    """Reads a question. `people`: those who are known, each by their names, which may stand in lower case."""
    words = words_in(question)
    known = {name: forms for forms in people for name in forms}
    names = {
        bare: known.get(bare, frozenset({bare}))
        for at, word in enumerate(words)
        if (bare := _bare(word)) in known or (at and word[:1].isupper() and bare not in _kind("no name"))
    }
    low = [word.lower() for word in words]
    told = {stem(word) for word in low if is_content(word) and _bare(word) not in names}
    kind = next((stem(low[at + 1]) for at, word in enumerate(low[:-1]) if word in ("which", "what")), "")
    if len(told) > 1:  # "which composer …": the answer is one, and does not say so
        told.discard(kind)
    text = " ".join(low)
    wanted: Wanted = next((kind for pattern, kind in _ASKS if pattern.search(text)), "")
    if wanted == "writing" and _says_it(words, names):
        wanted = ""
    if wanted == "money" and len(told) > 1:  # an amount is paid, whether or not that is said
        told -= _PAID
    if _SAID_MYSELF.search(text):
        told.discard(stem("say"))
    forms = tuple(dict.fromkeys(names.values()))
    head = _HEAD.search(text)
    rest = frozenset(told.difference(map(stem, names)))
    denies = bool(_DENIES.search(question) or _WHETHER.match(text))
    return Sought(wanted, forms, rest, denies, stem(head[1]) if head else kind)


def names_in(question: str, known: str = "") -> list[tuple[str, ...]]:
    """The names that an English question says, of each its words in lower case; "Aunt Clara" is "clara".

    `known`: text of the question that is read as times and places. What follows an article or an owner is a
    thing ("the Italian restaurant"), and so is what is written with other capitals ("WiFi", "DHL").
    """
    words, read = words_in(question), {_bare(word) for word in words_in(known)}
    out: list[tuple[str, ...]] = []
    name, before = list[str](), words[0] if words else ""
    for word in [*words[1:], ""]:
        if word[:1].isupper() and (bare := _bare(word)) not in _kind("no name"):
            if word.removesuffix("'s").removesuffix("’s").istitle() and bare not in read:
                name += [bare] * (bare not in _kind("kin"))
            continue
        if name and before.lower() not in _OWNED:
            out.append(tuple(name))
        name, before = [], word
    return out


def without_deed(asked: Sought) -> Sought:
    """The question without what is done with things that a photo shows: of "drink coffee" the coffee."""
    left = asked.words.difference(map(stem, _kind("shown")))
    return replace(asked, words=left) if left or asked.names else asked


def _says_it(words: Sequence[str], names: Collection[str]) -> bool:
    """Whether it is somebody that says something, not a sign: "what did Mum say", "what did my boss say"."""
    low = [word.lower() for word in words]
    at = next((at for at, word in enumerate(low, 1) if word in ("did", "does", "do")), len(low))
    who = [word for word in low[at : at + 3] if word not in ("her", "his", "my", "our", "the", "their")][:2]
    person = _bare(who[0]) in names or not _kind("kin").keys().isdisjoint(who) if who else False
    return person or (bool(who) and who[0] in _SPEAKERS)


def fit(asked: Sought, sentence: str, about: str = "", least: float = LEAST) -> float:
    """How well a sentence answers: 0 if it does not, else more. `about`: what else is known of what it tells.

    `least`: the share of the question's words that it must have.
    """
    words = words_in(sentence)
    here = {stem(word) for word in words}
    with_it = here.union(map(stem, words_in(about)))
    if not all(_has(with_it, forms) for forms in asked.names):
        return 0.0
    valued = not asked.wanted or has_value(asked, sentence)
    if not valued and asked.wanted != "time":  # a quotation says when it was said
        return 0.0
    if asked.names and asked.words and asked.wanted in ("duration", "money", "person"):
        least = 0.0 if asked.wanted == "duration" else min(least, 0.5)
    share = (
        len(asked.words & with_it) / len(asked.words)
        if asked.words
        else float(bool(asked.names) or not least)
    )
    if share < (least if valued else 1.0):
        return 0.0
    exact = len(asked.words & here) / (len(asked.words) or 1)
    named = sum(_has(here, forms) for forms in asked.names) / (len(asked.names) or 1)
    denied = bool(_DENIES.search(sentence)) and not asked.denies
    return share + 0.5 * exact + 0.5 * named + 0.25 * bool(asked.wanted) - 0.3 * (not valued) - 0.2 * denied


def best(asked: Sought, told: Sequence[tuple[str, str]], least: float = LEAST) -> tuple[int, str] | None:
    """The place and the sentence that answers best of texts, each with what else is known; None if none does.

    Of equals the first. "She" in a sentence is whom those before it name.
    """
    found: tuple[float, int, str] | None = None
    for at, (text, about) in enumerate(told):
        before = ""
        for sentence in sentences_of(text):
            refers = _REFERS.search(sentence) is not None
            for part in _parts(sentence):
                score = fit(asked, part, f"{before} {about}" if refers else about, least)
                if score > 0 and (found is None or score > found[0] + 1e-9):
                    found = score, at, part
            before = f"{before} {sentence}" if refers else sentence
    return None if found is None else found[1:]


def printed(asked: Sought, text: str, about: str) -> str:
    """The line that answers of what is printed in a picture, as on a ticket; "" if none does.

    Its words stand apart from one another, so that the question's may stand anywhere in the picture, but the
    value in the line, and one of the words with it, unless it is the only one of its kind.
    """
    words = asked.words | ({asked.kind} & _joined(text))
    whole = _joined(f"{text} {about}")
    named = all(_has(whole, forms) for forms in asked.names)
    if not words or not named or len(words & whole) < LEAST * len(words):
        return ""
    valued = [one for one in sentences_of(text) if not asked.wanted or has_value(asked, one)]
    here = [_joined(one) for one in valued]
    hits = [len(words & stems) + (asked.kind in stems) for stems in here]
    best = max(zip(hits, valued, strict=True), key=lambda pair: pair[0], default=(0, ""))
    alone = len(valued) == 1 and asked.wanted and asked.wanted != "money"
    return best[1] if best[0] or alone else ""


def _joined(text: str) -> set[str]:
    """The stems of a text's words, of "Wi-Fi" that of "wifi" too."""
    words = words_in(text)
    return {stem(word) for word in (*words, *(word.replace("-", "") for word in words))}


def _parts(sentence: str) -> list[str]:
    """A sentence, after those of its clauses that could stand alone."""
    parts = _PARTS.split(sentence)
    whole = all(_stands_alone(part) for part in parts[1:])  # not "Coco and Nala waiting for the postman"
    return [*(part for part in parts if len(parts) > 1 and whole and len(part.split()) > 2), sentence]


def _stands_alone(part: str) -> bool:
    """Whether what follows "and" is a clause: what begins with a name has a verb behind it."""
    words = words_in(part)
    return (
        not words
        or words[0][:1].islower()
        or words[0] == "I"
        or not words[0].isalpha()
        or _does(words, ("ed", "s"))
    )


def _does(words: Sequence[str], endings: tuple[str, ...]) -> bool:
    """Whether the first word is followed by what it does: by a verb, or a word with such an ending."""
    after = [word.lower() for word in words[1:3]]
    follows = next((word for word in after if not word.endswith("ly")), "")  # "Tom finally fixed it"
    return follows in _kind("verb") or follows.endswith(endings) or words[0].endswith("'s")


def has_value(asked: Sought, sentence: str) -> bool:
    """Whether a sentence has a value of the kind that a question wants; False if it wants no certain kind."""
    if asked.wanted in ("person", "name"):
        words = words_in(sentence)
        return any(_is_new_name(words, at, asked) for at in range(len(words)))
    pattern, text = VALUES.get(asked.wanted), sentence.replace("’", "'")
    if asked.wanted == "number":  # "no" counts what it stands before: "no shame" is no number of cats
        text = re.sub(
            r"\bno (\w+)", lambda no: no[0] if stem(no[1]) in asked.words else no[1], text, flags=re.I
        )
    return pattern is not None and pattern.search(text) is not None


def _is_new_name(words: Sequence[str], at: int, asked: Sought) -> bool:
    """Whether a word names somebody, or something, that the question does not name."""
    bare = _bare(words[at])
    if any(bare in forms for forms in asked.names) or bare in _kind("no name") or bare in STOP_WORDS:
        return False
    if at:
        return words[at][:1].isupper() or bare in _kind("kin")
    return words[0][:1].isupper() and _does(words, ("ed",))


def _has(stems: set[str], forms: frozenset[str]) -> bool:
    return any(all(stem(word) in stems for word in form.split()) for form in forms)


def words_in(text: str) -> list[str]:
    return _WORD.findall(text.replace("’", "'"))


def _bare(word: str) -> str:
    return word.lower().replace("’", "'").removesuffix("'s").removesuffix("'")


def _kind(name: str) -> Mapping[str, str]:
    return sections(Path(__file__).with_name("clauses.txt"))[name]
