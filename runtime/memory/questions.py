"""Which stored fact a question asks for, and whether it asks for the earlier value."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from gamer.index.memory.records import Item

from ..questions.words import Words, index_of, words_of
from .words import content, stem

# Words of questions that mean a key by another word.
_MEANT = {
    "home": "home live lives lived living reside address city town move moved based house",
    "job": "job work profession occupation career do-for",
    "employer": "employer company work employed firm works",
    "name": "name called",
    "persona: name": "name called",
    "age": "age old",
    "diet": "diet eat vegetarian vegan",
    "car": "car drive",
}


_LIVING = "for a living"


@dataclass(frozen=True)
class FactQuestion:
    """`past`: whether the value before the current one is asked for. `mine`: it is about the person.

    `owned`: of each thing that is called "my …", the stem of its first word.
    """

    words: frozenset[str]
    past: bool
    likes: bool
    mine: bool
    owned: tuple[str, ...]


def read(question: str) -> FactQuestion:
    """Reads a question, of which the first 2,000 characters count."""
    words = words_of(" ".join(question[:2_000].split()))
    past = any(_is_past(words, at) for at in range(len(words))) or _asks_what_was(words)
    said = _about_saying(words)
    return FactQuestion(
        words=frozenset(map(stem, _stems_of(words))),
        past=past and index_of(words, "now") < 0,
        likes=index_of(words, "liking") >= 0,
        mine=any(word.has("own") and at not in said for at, word in enumerate(words)),
        owned=_owned(words),
    )


def _is_past(words: Words, at: int) -> bool:
    """ "Before", "used to"; not "first name", nor "how old"."""
    if not words[at].has("past"):
        return False
    if words[at].key == "first":
        return at + 1 == len(words) or words[at + 1].key != "name"
    return words[at].key != "old" or at == 0 or words[at - 1].key != "how"


def _asks_what_was(words: Words) -> bool:
    """ "Where did I live?" asks for what no longer is, "when did I move?" does not."""
    asks = next((at for at, word in enumerate(words) if word.has("where", "which", "who")), len(words))
    return any(
        words[at].key == "did"
        and words[at + 1].key in ("i", "we")
        and not (at + 2 < len(words) and words[at + 2].key in ("mention", "say", "tell"))
        for at in range(asks + 1, len(words) - 1)
    )


def _about_saying(words: Words) -> set[int]:
    """The indices of the words of "did I tell you", "do you know", "tell me": they are not of the person."""
    out = set[int]()
    for at, word in enumerate(words):
        if not word.has("saying"):
            continue
        asked = at > 1 and words[at - 1].key in ("i", "you") and words[at - 2].has("aux", "modal")
        out |= {at - 1} if asked else set()
        out |= {at + 1} if word.key in ("tell", "told") and words[at + 1 : at + 2] else set()
    return out


def _owned(words: Words) -> tuple[str, ...]:
    out = []
    for at, word in enumerate(words):
        if word.key == "my":
            named = takewhile(lambda one: not one.is_mark, words[at + 1 : at + 5])
            first = next((one for one in named if not one.has("which one")), None)
            out += [stem(first.key.removesuffix("'s"))] if first else []
    return tuple(out)


def fitting(asked: FactQuestion, items: list[Item]) -> list[Item]:
    """The core memories whose key the question names, best first; of each key the value that is asked for."""
    keys: dict[str, list[Item]] = {}
    for item in items:
        if item.value.kind == "core":
            keys.setdefault(item.value.key, []).append(item)
    scored = [(_fit(asked, key), key) for key in keys]
    best = max((score for score, _ in scored), default=0.0)
    if best < 0.5:
        return []
    named = [key for score, key in scored if score > best - 1e-9]
    return [value for key in named if (value := _asked_for(keys[key], asked)) is not None]


def _fit(asked: FactQuestion, key: str) -> float:
    """0..1: the share of the key's words that the question holds."""
    head, _, rest = key.partition(" ")
    if head == "likes" or head.startswith("allergy"):
        words = {stem(word) for word in rest.split()}
        if (head == "likes" and not asked.likes) or not words or not _is_owners(asked, words | {"allergy"}):
            return 0.0
        return len(words & asked.words) / len(words)
    if key in _MEANT:
        meant = {stem(word) for word in _MEANT[key].split()}
        if not _is_owners(asked, meant):
            return 0.0
        hits = len(meant & asked.words)
        return min(0.5 + 0.1 * hits, 0.9) if hits else 0.0
    owner, of, what = key.rpartition("'s ")
    if of and what in _MEANT:  # "Clara's home": where does Clara live?
        named = {stem(word) for word in content(owner)} <= asked.words
        return 0.9 if named and {stem(word) for word in _MEANT[what].split()} & asked.words else 0.0
    words = {stem(word.removesuffix("'s")) for word in content(key) if word not in ("date", "name")} or {
        stem(key)
    }
    if asked.owned and not any(name in words for name in asked.owned):
        return 0.0  # "my sister's favourite colour" is not "favourite colour"
    hits = len(words & asked.words)
    return hits / len(words) if 2 * hits > len(words) else 0.0


def _is_owners(asked: FactQuestion, meant: set[str]) -> bool:
    """Whether a question is about the person's own home, name, likes: "where does my sister live?" is not."""
    return any(name in meant for name in asked.owned) if asked.owned else asked.mine


def _asked_for(values: list[Item], asked: FactQuestion) -> Item | None:
    """The current value, or the one that the question names; with `past`, the last other one before it.

    None if there is none.
    """
    named = [v for v in values if {stem(word) for word in content(v.value.text)} & asked.words]
    current = next((item for item in reversed(values) if not item.past), None)
    if not asked.past:
        return named[-1] if named else current
    pivot = named[-1] if named else current
    old = [
        item
        for item in values
        if item.past and (pivot is None or item.value.text.casefold() != pivot.value.text.casefold())
    ]
    if named and pivot is not None:
        old = [item for item in old if item.value.at < pivot.value.at]
    return max(old, key=lambda item: (item.value.at, item.id), default=None)


def _stems_of(words: Words) -> list[str]:
    """The words as keys and values are compared with them; "do-for" stands for a question about a job."""
    # "For a living" is about a job, and not about where one lives.
    named = [part for word in words if not word.is_mark and word.key != _LIVING for part in word.key.split()]
    job = any(word.key == _LIVING for word in words)
    does = any(word.key in ("did", "do") and _does(words[at + 1 :]) for at, word in enumerate(words))
    return [word.removesuffix("'s") for word in named] + ["do-for"] * (job or does)


def _does(words: Words) -> bool:
    """ "(What do) I do", "(what did) I use to do"."""
    keys = [word.key for word in words[:3]]
    return keys[:2] == ["i", "do"] or keys in (["i", "use to", "do"], ["i", "used to", "do"])
