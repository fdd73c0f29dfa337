"""Finds things in the text of a memory by rules: a head noun, and the words around it that tell of it.

"My red leather handbag from Prada" has the head "handbag"; a walk back from it reads color, material and the
owner's "my", a short look ahead what it is made of, for and with. A noun counts if words.json lists it, or if
"my" or "our" stands before it. Texts are data: whatever they say, they give words of their own and values of
the list, and no more. Text in other languages has none of the nouns, and so gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..entities.words import NOT_ENTITIES, STOP_WORDS, VERBS, WORD, looks_verbal
from .records import ATTRIBUTES, UNSPECIFIED, Attributes, Sighting
from .words import Words, words

ThingExtractor = Callable[[str], tuple[Sighting, ...]]
MAX_THINGS = 16  # of one text
_MAX_TEXT = 20_000  # characters, as of entities
_REACH = 8  # words before a head that may tell of it
_MAX_VALUE = 40  # characters of a value
_GAP = re.compile(r"[ \t]*,?[ \t]+")  # between words of one phrase
_NONE = frozenset(("no", "without", "not", "any"))
_BE = frozenset(("is", "was", "are", "were", "looks", "looked"))
# Endings of what is no thing: what one does, feels or is.
_NO_HEADS = ("ly", "'s", "tion", "sion", "ness", "ment", "ity", "ance", "ence", "ship", "hood", "ism")
_ASCII_NAME = re.compile(r"[A-Z][A-Za-z0-9]+(?:[&'-][A-Za-z0-9]+)*")


def extract(text: str) -> tuple[Sighting, ...]:
    """The things of a text in their order, at most MAX_THINGS, each once."""
    reader = _Reader(text[:_MAX_TEXT], words())
    found: dict[Sighting, None] = {}
    for at in range(len(reader.tokens)):
        sighting = reader.thing(at)
        if sighting is not None:
            found[sighting] = None
            if len(found) == MAX_THINGS:
                break
    return tuple(found)


class _Reader:
    """The words of one text, and what each of them is."""

    def __init__(self, text: str, known: Words) -> None:
        self._text, self._known = text, known
        self.tokens: Sequence[re.Match[str]] = list(WORD.finditer(text))
        self._lower = [match[0].replace("’", "'").casefold() for match in self.tokens]
        self._has_owner = not known.owners.isdisjoint(self._lower)

    def thing(self, at: int) -> Sighting | None:
        """The thing whose head noun stands at a word; None if there is none."""
        noun = self._known.noun(self._lower[at])
        listed = noun in self._known.category_of
        may_head = listed or (self._has_owner and self._may_head(at, noun))
        if not may_head or self._modifies_next(at):
            return None
        values: dict[str, list[str]] = {name: [] for name in ATTRIBUTES}
        owned, none = self._before(at, noun, values)
        if none or not (listed or owned):
            return None
        self._after(at, values)
        if listed:
            values["category"] = [self._known.category_of[noun]]
        written = {
            name: (" " if name == "brand" else " and ").join(dict.fromkeys(value))[:_MAX_VALUE].rstrip()
            for name, value in values.items()
        }
        return Sighting(noun, Attributes(**{n: v or UNSPECIFIED for n, v in written.items()}), owned)

    def _may_head(self, at: int, noun: str) -> bool:
        """Whether a word that is not listed may be a thing, if it turns out to be the owner's."""
        word = self._lower[at]
        return (
            len(noun) >= 3
            and noun.isascii()
            and self.tokens[at][0].islower()
            and not noun.endswith(_NO_HEADS)
            and not looks_verbal(word)
            and self._known.no_heads.isdisjoint((word, noun))
            and noun not in self._known.attribute_of
        )

    def _modifies_next(self, at: int) -> bool:
        """Whether a noun only tells of the one after it: the coffee of a coffee table."""
        if at + 1 == len(self.tokens) or not self._joined(at, at + 1, comma=False):
            return False
        following = self._known.noun(self._lower[at + 1])
        return following in self._known.category_of or self._may_head(at + 1, following)

    def _joined(self, first: int, second: int, comma: bool = True) -> bool:
        between = self._text[self.tokens[first].end() : self.tokens[second].start()]
        return bool(_GAP.fullmatch(between)) and (comma or "," not in between)

    def _before(self, at: int, noun: str, values: dict[str, list[str]]) -> tuple[bool, bool]:
        """Reads the words before a head; (whether it is the owner's, whether the text says there is none)."""
        for back in range(at - 1, max(-1, at - 1 - _REACH), -1):
            word = self._lower[back]
            if not self._joined(back, back + 1):
                break
            if word in self._known.owners:
                return True, back > 0 and self._lower[back - 1] in _NONE
            if word in _NONE:
                return False, True
            if word == "and" and self._kind(back - 1) and self._kind(back + 1):
                continue
            if word in STOP_WORDS or word in VERBS or word.endswith("'s"):
                break
            if not self._told(back, at, noun, values):
                break
        return False, False

    def _kind(self, at: int) -> str | None:
        if not 0 <= at < len(self.tokens):
            return None
        return self._known.attribute_of.get(self._lower[at])

    def _told(self, back: int, at: int, noun: str, values: dict[str, list[str]]) -> bool:
        """Takes what a word before a head tells of it; False where the phrase cannot go on."""
        word, kind = self._lower[back], self._kind(back)
        if kind is not None:
            values[kind].insert(0, self._known.value(word))
            return True
        if self._is_brand(back):
            values["brand"].insert(0, self.tokens[back][0])
            return True
        if self._says_little(word):
            return True
        if back == at - 1 and word.isalpha():
            values["subcategory"] = [f"{self._known.noun(word)} {noun}"]
            return True
        return False

    def _says_little(self, word: str) -> bool:
        return (
            word in NOT_ENTITIES
            or word in self._known.qualities
            or (looks_verbal(word) and word not in self._known.kinds)
            or word.endswith(("ly", "ful", "ous", "ive", "able", "ish", "less"))
        )

    def _is_brand(self, at: int) -> bool:
        """Whether a word has a capital that is not that of a sentence's beginning."""
        before = self._text[: self.tokens[at].start()].rstrip()
        return bool(_ASCII_NAME.fullmatch(self.tokens[at][0])) and before[-1:] not in ("", *'.!?:…\n"“(')

    def _after(self, at: int, values: dict[str, list[str]]) -> None:
        """Reads what follows a head: "is broken", "made of wood", "for hiking", "with a long strap"."""
        after: list[int] = []
        while len(after) < 5 and (index := at + 1 + len(after)) < len(self.tokens):
            if not self._joined(index - 1, index):
                break
            after.append(index)
        said = [self._lower[index] for index in after]
        if said[:1] and said[0] in _BE:
            self._value_at(after[1:2], values)
        elif said[:2] in (["made", "of"], ["made", "from"]):
            self._value_at(after[2:3], values)
        elif said[:1] == ["for"]:
            self._phrase(after[1:3], values["usage"])
        elif said[:1] == ["with"]:
            self._phrase(after[1:5], values["feature"])

    def _value_at(self, places: Sequence[int], values: dict[str, list[str]]) -> None:
        for place in places:
            if (kind := self._kind(place)) is not None:
                values[kind].append(self._known.value(self._lower[place]))

    def _phrase(self, places: Sequence[int], into: list[str]) -> None:
        """Adds the first run of content words as one value."""
        run: list[str] = []
        for place in places:
            word = self._lower[place]
            if word in VERBS or word.endswith("'s") or (run and word in STOP_WORDS):
                break
            if word not in NOT_ENTITIES:
                run.append(word)
        if run and not into:
            into.append(" ".join(run))
