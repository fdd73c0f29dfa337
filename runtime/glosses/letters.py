"""Words of other scripts in Latin letters, and names that sound alike: "Кэролайн" is Caroline.

Letters are turned one by one: Cyrillic, Greek, Arabic, kana and Hangul. What sounds alike is compared by
consonants, because vowels, endings of cases and spellings differ between languages.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from difflib import SequenceMatcher

LEAST_ALIKE, SURELY_ALIKE = 0.4, 0.75  # of the letters of two names with the same consonants
_PAIRS = """
а a б b в v г g д d е e ж zh з z и i й i к k л l м m н n о o п p р r с s т t у u ф f х h ц ts ч ch
ш sh щ shch ъ _ ы y ь _ э e ю yu я ya і i ї yi є ye ґ g ў u ј j љ lj њ nj ћ c ђ dj џ dz ё e α a β v
γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o ا a
ب b ت t ث th ج j ح h خ kh د d ذ dh ر r ز z س s ش sh ص s ض d ط t ظ z ع a غ gh ف f ق q ك k ل l م m
ن n ه h و w ي y ى a ة a ء _ آ a أ a إ i پ p چ ch ژ zh گ g ک k ی y
"""
_LETTERS = dict(zip(_PAIRS.split()[::2], _PAIRS.split()[1::2], strict=True))
_ENDINGS = (
    "а",
    "я",
    "у",
    "ю",
    "е",
    "и",
    "ы",
    "ой",
    "ей",
    "ами",
    "ями",
    "ого",
    "его",
    "ому",
    "ему",
    "ом",
    "ем",
    "ам",
    "ям",
    "ах",
    "ях",
    "ов",
    "ев",
)
_VOWELS = frozenset("aeiou")
_ALIKE = (
    (re.compile(r"dzh|dj|dz|g(?=[eiy])"), "j"),
    (re.compile(r"shch|sch|sh|tsch|ch|zh|ts"), "s"),
    (re.compile(r"ph"), "f"),
    (re.compile(r"ck|kh|q|c"), "k"),
    (re.compile(r"x"), "ks"),
    (re.compile(r"w"), "v"),
    (re.compile(r"z"), "s"),
    (re.compile(r"h|[^a-z]"), ""),
    (re.compile(r"y"), "i"),
    (re.compile(r"(.)\1+"), r"\1"),
)


def latin(word: str) -> str:
    """A word in Latin letters, lower case and without accents; letters that are not known are left out."""
    out = []
    for letter in unicodedata.normalize("NFC", word).casefold():
        name = unicodedata.name(letter, "")
        if name.startswith(("HIRAGANA LETTER ", "KATAKANA LETTER ", "HANGUL SYLLABLE ")):
            out.append(name.rpartition(" ")[2].lower())
        else:
            plain = letter if letter in _LETTERS else unicodedata.normalize("NFD", letter)[:1]
            out.append(_LETTERS.get(plain, plain if plain.isascii() else "").replace("_", ""))
    return "".join(out)


def spoken(word: str) -> str:
    """A word in Latin letters with letters that sound alike as one: "caroline" and "kerolain" are near."""
    text = word.lower()
    for pattern, kept in _ALIKE:
        text = pattern.sub(kept, text)
    return text


def sound(spelt: str) -> str:
    """The consonants of a `spoken` word, and whether it begins with a vowel."""
    return ("a" if spelt[:1] in _VOWELS else "") + "".join(c for c in spelt if c not in _VOWELS)


class Names:
    """The words of an album's names, found by what they are called and by what they sound like."""

    def __init__(self, names: Iterable[str]) -> None:
        self._known: dict[str, str] = {}
        self._alike: dict[str, list[str]] = defaultdict(list)
        for name in names:
            for word in re.findall(r"[^\W\d_]{2,}", name):
                if word[0].isupper() and word.lower() not in self._known:
                    self._known[word.lower()] = word
                    if not word.isupper():  # "PM" is nobody's name
                        self._alike[sound(spoken(latin(word)))].append(word)

    def __contains__(self, word: str) -> bool:
        return word.casefold() in self._known

    def like(self, word: str, least: float = LEAST_ALIKE) -> str | None:
        """The name that a word of another script says, in any case of its language; None if there is none.

        `least`: the share of letters that must be alike beside the consonants.
        """
        best, share = None, least
        low = word.casefold()
        for ending in ("", *(ending for ending in _ENDINGS if low.endswith(ending))):
            said = spoken(latin(low[: len(low) - len(ending)]))
            for name in self._alike.get(sound(said), ()) if len(said) > 1 else ():
                alike = SequenceMatcher(None, said, spoken(latin(name)), autojunk=False).ratio()
                if alike > share:
                    best, share = name, alike
        return best


NOBODY = Names(())
