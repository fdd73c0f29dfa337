"""The text that a search takes from a question: "how many" and "after the wedding" mean more than words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .words import Word, Words, listed, text_of

_WAYS = frozenset({"before", "after"})


@dataclass(frozen=True)
class Query:
    """`counts`: whether the number of photos of `text` is asked for. `soon`: see Question."""

    text: str
    counts: bool = False
    soon: str = ""


def query_of(text: str, words: Words) -> Query:
    """`text`: of the words, as it was written."""
    counted = _counted(words)
    if counted:
        text, words = said(counted), counted
    return Query(text, bool(counted), _soon(words))


def said(words: Words) -> str:
    """The text of words without what another language calls a photo; "photos" where nothing else is said."""
    rest = [word for word in words if not (word.has("picture") and word.key != word.text.lower())]
    photos = [replace(word, text=word.key) for word in words] if not rest else []
    return text_of(rest or photos)


def _counted(words: Words) -> list[Word]:
    """What "how many cats do we have" counts; nothing where it asks for a fact ("how many people came")."""
    if not words or words[0].key != "how many":
        return []
    rest = [word for word in words[1:] if word.text not in "?!."]
    if rest and rest[0].key == "different":
        rest = rest[1:]
    for at in range(1, len(rest) - 1):
        if rest[at].has("aux") and rest[at + 1].key in ("i", "we", "there"):
            having = at + 2 < len(rest) and rest[at + 2].key in listed("having_taken")
            rest = [*rest[:at], *rest[at + (3 if having else 2) :]]
            break
    if len(rest) > 2 and rest[0].key == "of" and rest[1].key in listed("owners"):
        rest = rest[2:]
    fact = any(word.has("aux") or word.key in ("came", "went", "cost", "should") for word in rest)
    return [] if not rest or fact or rest[0].has("duration") or rest[0].key in listed("uncounted") else rest


def _soon(words: Words) -> str:
    """ "Photos in the week after the wedding" for "photos after the wedding"; "" without an event."""
    at = next((at for at, word in enumerate(words) if word.key in _WAYS or word.has("way")), -1)
    event = [word for word in words[at + 1 :] if word.text not in "?!."]
    if at < 0 or not event or (len(event) == 1 and event[0].has("definite")):
        return ""
    head = list(words[:at])
    while head and head[-1].key in ("right", "just", "shortly", "soon"):
        head.pop()
    owned = words[at].has("way") or event[0].has("definite") or event[0].key.endswith("'s")
    if not owned or any(word.is_mark and word.text in ",;" for word in [*head, *event]):
        return ""
    # What a street looks like after the rain is no matter of a week; "the day after" is for the cues.
    if (head and head[-1].has("unit")) or event[-1].has("weather"):
        return ""
    return f"{said(head) if head else 'photos'} in the week {words[at].key} {text_of(event)}"
