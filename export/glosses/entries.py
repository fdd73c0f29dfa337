"""What an entry of a dictionary says: its glosses, in order.

FreeDict's entries have a line of the headword and then glosses with commas between them, by sense; Müller's
number their senses within wrapped lines; a TSV's text is the glosses. Labels, pronunciations, examples, notes
and references are left out. A dictionary is foreign text: a gloss is a few short words, whatever stood there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

MOST_GLOSSES = 12  # of an entry
MOST_WORDS = 4
MAX_GLOSS = 40  # characters
_OUTER = " .,;:?!=*~-–"
_SIGNS = str.maketrans({**dict.fromkeys('<>{}[]()"', " "), "‐": "-", "‑": "-"})
_SKIPPED = re.compile(r'\s*(?:Synonyms?:|Note:|see:|"|Antonyms?:|Source:)', re.IGNORECASE)
_LEFT_OUT = re.compile(
    r"<[^<>]{0,200}>|\[[^\[\]]{0,200}\]|\([^()]{0,200}\)|\{[^{}]{0,200}\}|(?<!\w)/[^/\n]{1,200}/|(?<!\w)_\w+\.?"
)
_SENSE = re.compile(r"(?:^|\s)(?:\d{1,2}[.)]|_?[IV]{1,4}\b|[a-zа]\))(?=\s|$)")
_BREAK = re.compile(r"[,;•|]")
_LEADING = re.compile(r"(?:to|a|an|the|be|sich|etw\.?|jdn?\.?|jmdm?\.?) +(?=\w)", re.IGNORECASE)
_OBJECT = re.compile(r" *\b(?:sth|sb|smb|so|smth|etw|jd[nm]?|что-л|кого-л|чему-л|кому-л|чем-л)\.?(?= |$)")
_SIGN = re.compile(r"[\d_/=%@#\\+:&]")
_LETTER = re.compile(r"[^\W\d_]")


def glosses(headword: str, text: str) -> list[str]:
    """The glosses of an entry, in order, at most MOST_GLOSSES."""
    out: dict[str, None] = {}
    for sense in _senses(headword, text):
        for piece in _BREAK.split(sense):
            gloss = cleaned(piece)
            if gloss and len(out) < MOST_GLOSSES:
                out[gloss] = None
    return list(out)


def _senses(headword: str, text: str) -> Iterator[str]:
    lines = text.splitlines()
    if lines and lines[0].casefold().startswith(headword[:60].casefold()) and len(lines) > 1:
        lines = lines[1:]
    kept, wrapped = list[str](), any(re.match(r"\s*\d\)", line) for line in lines) or "[↗" in text[:200]
    for line in lines:
        if _SKIPPED.match(line):
            continue
        if not line.strip():
            if kept:
                break  # FreeDict repeats other entries after an empty line
            continue
        kept.append(line)
    joined = (" " if wrapped else "\n").join(kept)
    for _ in range(2):  # labels within labels
        joined = _LEFT_OUT.sub(" ", joined)
    for line in joined.splitlines():
        yield from _SENSE.split(line)


@lru_cache(maxsize=1 << 16)
def cleaned(text: str) -> str:
    """A gloss as a few plain words of one script; "" if it is none."""
    words = text[:200]
    if not words.isascii() or not words.isprintable():
        words = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in words)
    words = _OBJECT.sub("", " ".join(words.translate(_SIGNS).split()).strip(_OUTER))
    while leading := _LEADING.match(words):
        words = words[leading.end() :]
    words = words.strip(_OUTER)
    if not words or len(words) > MAX_GLOSS or words.count(" ") >= MOST_WORDS or _SIGN.search(words):
        return ""
    if words.isascii():
        return words if len(words) > 1 and any(c.isalpha() for c in words) else ""
    return words if len({_script(c) for c in words if _LETTER.match(c)}) == 1 else ""


@lru_cache(maxsize=1 << 12)
def _script(letter: str) -> str:
    name = "LATIN" if letter.isascii() else unicodedata.name(letter, "").partition(" ")[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA") else name


def without_accents(word: str) -> str:
    """`word` without marks above and below its letters, as people type it in haste."""
    parts = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(c for c in parts if not unicodedata.combining(c)))
