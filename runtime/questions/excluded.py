"""What a question leaves out ("but no flowers", "without Tom or a dog"), and marks ("my favourites")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .words import Word, Words, index_of, listed, text_of

_MOST_WORDS = 4  # of a thing that is left out
IsCue = Callable[[str], bool]


def leave_out(words: Words, is_cue: IsCue) -> tuple[list[Word], tuple[str, ...]]:
    """The words without what is left out, and the things that are.

    A time or a place that is left out stays in the words, for the reader of cues. Nothing is taken from words
    that say nothing else.
    """
    left, things = list(words), list[str]()
    at = 0
    while at < len(left):
        first = _marker(left, at)
        named, end = _things(left, first) if first else ([], at)
        phrases = [text_of(thing) for thing in named]
        cues = [_is_time_or_place(thing, is_cue) for thing in named]
        begin = at - 1 if at and left[at - 1].text == "," else at
        rest = [*left[:begin], *left[end:]]
        if not named or all(cues) or not any(not word.is_mark for word in rest):
            at += 1
            continue
        stays = [
            word for thing, cue in zip(named, cues, strict=True) if cue for word in _negated(left[at], thing)
        ]
        things += [
            p if p.lower() not in listed("anybody") else "people"
            for p, cue in zip(phrases, cues, strict=True)
            if not cue
        ]
        left = [*left[:begin], *stays, *left[end:]]
        at = begin + len(stays)
    return left, tuple(things)


def _is_time_or_place(thing: Words, is_cue: IsCue) -> bool:
    return thing[0].key in listed("time_or_place") or is_cue(text_of(thing))


def _negated(at: Word, thing: Words) -> list[Word]:
    """ ", not" before a time or a place that stays."""
    comma = replace(at, text=",", key=",", end=-1, values={})
    return [comma, replace(at, text="not", key="not"), *thing]


def _marker(words: Words, at: int) -> int:
    """The index of the first word after a marker of exclusion that begins at `at`; 0 if none does."""
    word = words[at]
    follows = words[at + 1] if at + 1 < len(words) else None
    after_comma = at > 0 and words[at - 1].text == ","
    if word.key in ("where", "that", "which") and (no := _no_after(words, at)):
        return no + 1
    if word.has("without"):
        return 0 if _is_scene(words, at) else at + 1
    if word.key in ("but", "and") and follows is not None:
        skipped = at + 2 if follows.key == "also" else at + 1
        if skipped < len(words) and words[skipped].key in (("no", "not") if word.key == "but" else ("no",)):
            return skipped + 1
        if skipped < len(words) and word.key == "but" and words[skipped].has("without"):
            return skipped + 1
    none = (
        word.key in ("none", "nothing") and follows is not None and follows.key in ("showing", "with", "of")
    )
    return at + 1 if after_comma and (none or word.key in ("no", "not")) else 0


def _no_after(words: Words, at: int) -> int:
    """The index of "no" of "where there is no", "that have no"; 0 without one."""
    for no in range(at + 2, min(at + 4, len(words))):
        if words[no - 1].key in ("aren't", "arent", "isn't", "isnt", "don't", "doesn't"):
            return no if words[no].key in ("showing", "wearing", "show", "have", "any") else no - 1
        if words[no].key == "no" and words[no - 1].key in listed("shown"):
            return no
    return 0


def _is_scene(words: Words, at: int) -> bool:
    """Whether what is missing is worn or a part of what is shown: "goalkeeper without gloves"."""
    if words[at].key not in ("without", "with no") or at == 0 or words[at - 1].text == ",":
        return False
    if index_of(words[:at], "picture", "howmany", "favourite") >= 0:
        return False
    if at + 1 < len(words) and words[at + 1].has("possessive"):
        return True  # "the telescope without its mount"
    things, _ = _things(words, at + 1)
    return bool(things) and any(word.has("worn") for word in things[0][-1:] + things[0][:1])


def _things(words: Words, at: int) -> tuple[list[list[Word]], int]:
    """The things of a list that begins at `at`, and the index after it."""
    thing, end = _thing(words, at)
    if not thing or [word.key for word in thing] in (["ones"], ["wait"], ["more"]):
        return [], at
    if (inside := _in_it(words, end)) > end:
        return [thing], inside
    more = end
    comma = more < len(words) and words[more].text == ","
    more += comma
    linked = more < len(words) and words[more].key in listed("links")
    more += linked
    if more < len(words) and words[more].key == "also":
        more += 1
    negated = more < len(words) and (words[more].key in ("no", "not") or words[more].has("without"))
    more += negated
    if not (comma or linked):
        return [thing], end
    rest, last = _things(words, more)
    # A comma alone goes on with the list only if a link ends it: "Tom, Lena or a dog".
    if not rest or not (linked or negated or len(rest) > 1):
        return [thing], end
    return [thing, *rest], last


def _thing(words: Words, at: int) -> tuple[list[Word], int]:
    begin = at
    while at < len(words) and (
        words[at].key in listed("determiners")
        or (at > begin and words[at].key in listed("having"))
        or (words[at].has("one") and _goes_on(words, at))
    ):
        at += 1
    thing = list[Word]()
    while at < len(words) and len(thing) < _MOST_WORDS and not _ends_a_thing(words[at]):
        thing.append(words[at])
        at += 1
    return thing, at


def _goes_on(words: Words, at: int) -> bool:
    return at + 1 < len(words) and words[at + 1].key in ("with", "of")


def _ends_a_thing(word: Word) -> bool:
    return (
        word.is_mark
        or word.key in listed("ends")
        or word.key in listed("links")
        or word.key in ("but", "no", "not", "please", "thank you", "thanks")
        or word.has("without", "after", "before")
        or word.key in ("in", "at", "on", "from", "by", "with")
    )


def _in_it(words: Words, at: int) -> int:
    """The index after "in them", "on the photo"; `at` without one."""
    keys = [word.key for word in words[at : at + 3]]
    if keys[:1] not in (["in"], ["on"]) or len(keys) < 2:
        return at
    if keys[1] in ("it", "them", "sight", "there"):
        return at + 2
    return at + 3 if keys[1] == "the" and len(keys) > 2 and words[at + 2].has("picture") else at


def take_favourites(words: Words) -> tuple[list[Word], bool]:
    """The words without what asks for marked photos, and whether something did."""
    at = index_of(words, "favourite")
    while at >= 0:
        near = words[at + 1 : at + 4]
        before = at
        while before and words[before - 1].key in ("my", "our", "the", "all", "only"):
            before -= 1
        if (noun := index_of(near, "picture", "one")) >= 0 and not any(word.is_mark for word in near[:noun]):
            return [*words[:before], *words[at + 1 :]], True
        if at and words[at - 1].has("picture") and words[at].key != words[at].text.lower():
            return [*words[:at], *words[at + 1 :]], True  # "fotos favoritas"
        if words[at].key in ("hearted", "starred") and at and words[at - 1].key in ("i", "we"):
            return [*words[: at - 1], *words[at + 1 :]], True
        alone = not near or near[0].is_mark or near[0].has("preposition", "before", "after", "without")
        alone = alone and not _follows_a_noun(words, at)
        if alone or (words[at].key == "favourites" and (before < at or (near and near[0].key == "only"))):
            noun_text = "photos" if words[at].key == "favourites" else "photo"
            photos = replace(words[at], text=noun_text, key=noun_text, values={"picture": ""})
            rest = words[at + 2 :] if near and near[0].key == "only" else words[at + 1 :]
            return [*words[:before], photos, *rest], True
        at = index_of(words, "favourite", start=at + 1)
    return _take_heart(words)


def _follows_a_noun(words: Words, at: int) -> bool:
    """ "Mis libros favoritos": not the photos that are marked."""
    before = words[at - 1] if at and words[at].text.lower() in listed("favourite_adjectives") else None
    if before is None or before.is_mark or before.key in listed("no_nouns"):
        return False
    return not before.has("all", "article", "link", "only", "picture", "preposition", "request", "without")


def _take_heart(words: Words) -> tuple[list[Word], bool]:
    """ "… that I marked with a heart"."""
    at = index_of(words, "heart")
    first = at
    while (
        first > 0
        and at - first < 6
        and not words[first - 1].is_mark
        and not words[first - 1].has("picture", "one")
    ):
        first -= 1
        if words[first].key in ("that", "which", "i"):
            break
    keys = {word.key for word in words[first:at]} if at >= 0 else set()
    if not keys & listed("given") or not keys & {"i", "we", "marked"}:
        return list(words), False
    if first and words[first - 1].key in ("that", "which"):
        first -= 1
    return [*words[:first], *words[at + 1 :]], True
