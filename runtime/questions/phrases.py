"""What a run of words is: a clause, a moment, a reference, one photo or several, words that say nothing."""

from __future__ import annotations

from .request import Request, said_length
from .words import Word, Words, index_of, listed, split_at, trimmed

_VERB_FORMS = ("verb", "aux")
_NO_SUBJECTS = ("article", "definite", "preposition", "order")


def stripped(words: Words, verbs: bool = False) -> list[Word]:
    """The words without those at the ends, and the runs between commas, that say nothing of what photos show.

    `verbs`: whether the verbs at the ends stay, as in "who came to tea".
    """
    every = listed("edges")  # roles of words that say nothing of what photos show
    edges = tuple(role for role in every if not (verbs and role in ("seen", "generic")))
    runs = [run for run in split_at(words, lambda word: word.text == ",") if trimmed(run, *every)]
    rest = [word for run in runs for word in run]
    while rest and (rest[0].is_mark or rest[0].has(*edges) or said_length(rest)):
        rest = rest[said_length(rest) or 1 :]
    for at in range(1, len(rest)):
        if size := said_length(rest[at:]):  # "the whale that I saw"
            begin = at - 1 if rest[at - 1].key in ("that", "which") else at
            rest = rest[:begin] + rest[at + size :]
            break
    return trimmed(rest, *edges)


def is_clause(words: Words) -> bool:
    """Whether the words say that somebody did something, or something happened."""
    if words and words[0].has("subject"):
        return True
    return any(
        (word.has(*_VERB_FORMS) or (word.key.endswith("ed") and len(word.key) > 4))
        and not words[at].has(*_NO_SUBJECTS)
        for at, word in enumerate(words[1:])
    )


def is_moment(words: Words) -> bool:
    """ "I saw …", "the photo of …"."""
    rest = words[1:] if words and words[0].key == "when" else words
    if said_length(rest):
        return True
    return len(rest) > 1 and rest[0].has("definite") and rest[1].has("picture", "one")


def is_definite(words: Words) -> bool:
    """Whether the words name something known: "the wedding", "we moved"."""
    return bool(words) and (words[0].has("definite") or is_clause(words))


def refers(words: Words) -> bool:
    """ "That", "it": what was told before."""
    return len(words) == 1 and words[0].has("them")


def names_one(words: Words) -> bool:
    """ "The photo after …", "a sunset after …": one of them."""
    return any(
        word.key in ("a", "an", "one") or (word.has("picture", "pictured") and not word.key.endswith("s"))
        for word in words
    )


def names_several(words: Words) -> bool:
    """ "Photos", "the other ones"."""
    return any(
        word.key in ("ones", "others") or (word.has("picture", "pictured") and word.key.endswith("s"))
        for word in words
    )


def is_plural(head: Words, request: Request) -> bool:
    """Whether all photos that fit are asked for."""
    return names_several(head) or request.everything or index_of(head[:2], "all") >= 0


def is_about_photos(head: Words, request: Request) -> bool:
    """Whether photos are asked for, and the words do not only describe one."""
    return request.asked or request.did or index_of(head, "picture", "all", "more", "one") >= 0


def asks_for_more(head: Words, request: Request) -> bool:
    """Whether something is asked for beside the anchor."""
    several = is_plural(head, request) or index_of(head, "more", "order") >= 0
    return several or bool(trimmed(head, *listed("edges")))
