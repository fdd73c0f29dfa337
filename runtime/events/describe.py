"""Names an event, sums it up and says where it was, by rules, from the memories of its photos.

Memories are untrusted text: what is taken over is cut to a length and cleaned of control characters, markers
and line breaks (search.stages.refine.clean), so that a name is one printable line wherever it is shown.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

import numpy as np

from gamer.index import Mention, canonical, extract

from .. import wall_time
from ..search.stages.refine import clean
from ..vectors import unit
from .segment import Moment

MAX_NAME, MAX_SUMMARY = 80, 400
_MAX_WORDS = 48  # characters of a name before its date
_SENTENCES = 3
_READ = 40  # photos of an event whose memories are read, evenly chosen
_READ_TEXT = 400  # characters of a memory in which entities are searched
_SENTENCE = re.compile(r".+?[.!?…。！？]+(?=\s|$)|.+", re.DOTALL)
# How telling a mention is by its kind; a date is in the name anyway, and a price names no event.
_TELLING = {"place": 3.0, "person": 2.0, "thing": 1.0}


@dataclass(frozen=True)
class Description:
    """`name`: at most MAX_NAME characters; `summary`: at most MAX_SUMMARY; both one printable line."""

    name: str
    summary: str
    place: str | None


def describe(moments: Sequence[Moment], common: Mapping[str, float] | None = None) -> Description:
    """Describes the photos of an event, which are not empty and in order of time.

    `common`: by canonical name, the share of the album's photos that mention it (`commonness`); what is
    everywhere does not tell one event from another.
    """
    place = _place(moments)
    told = _sample([m for m in moments if m.memories])
    words = (
        _words(told, common or {}) or (clean(place.split(",")[0], _MAX_WORDS) if place else "") or "Photos"
    )
    name = ", ".join(part for part in (words, dates(moments)) if part)
    return Description(name[:MAX_NAME], _summary(told), place)


def commonness(moments: Iterable[Moment]) -> dict[str, float]:
    """By canonical name, the share of the photos with memories that mention it."""
    counts, photos = Counter[str](), 0
    for moment in moments:
        if moment.memories:
            photos += 1
            counts.update({canonical(mention.name) for mention in mentions(moment)})
    return {name: count / photos for name, count in counts.items()}


def mentions(moment: Moment) -> tuple[Mention, ...]:
    """The entities of the beginning of a photo's first memory."""
    return _extracted(moment.memories[0][:_READ_TEXT]) if moment.memories else ()


@lru_cache(maxsize=1 << 16)
def _extracted(text: str) -> tuple[Mention, ...]:
    # A millisecond a text, and each is wanted twice: for `commonness` and for its event.
    return extract(text)


def dates(moments: Sequence[Moment]) -> str:
    """The day or days of the photos: "13 May 2025", "13–15 May 2025"; "" if none is dated."""
    walls = [m.wall for m in moments if m.wall is not None]
    if not walls:
        return ""
    first, last = (wall_time.moment(wall) for wall in (min(walls), max(walls)))
    if first is None or last is None:
        return ""
    end = f"{last.day} {last:%b} {last.year}"
    if first.date() == last.date():
        return end
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}–{end}"
    return f"{first.day} {first:%b}{'' if first.year == last.year else f' {first.year}'} – {end}"


def _words(moments: Sequence[Moment], common: Mapping[str, float]) -> str:
    """The most telling mention, and the next if both fit; "" without mentions."""
    weight, spelling = defaultdict[str, float](float), dict[str, str]()
    for moment in moments:
        for key, mention in {canonical(m.name): m for m in mentions(moment)}.items():
            rarity = log(2 / max(common.get(key, 1e-3), 1e-3))
            weight[key] += _TELLING.get(mention.kind, 0.0) * rarity
            spelling.setdefault(key, clean(mention.name, _MAX_WORDS))
    ranked = sorted((k for k in weight if weight[k] > 0 and spelling[k]), key=lambda k: (-weight[k], k))
    words = ""
    for key in ranked[:2]:
        joined = f"{words} and {spelling[key]}" if words else spelling[key]
        if len(joined) <= _MAX_WORDS:
            words = joined
    return words[:1].upper() + words[1:]


def _summary(moments: Sequence[Moment]) -> str:
    """The first sentences of the memories of the most central photos, in order of time, each once."""
    chosen = sorted(_central(moments)[:_SENTENCES])
    sentences = dict.fromkeys(_first_sentence(moments[at].memories[0]) for at in chosen)
    text = ""
    for sentence in (s for s in sentences if s):
        room = MAX_SUMMARY - len(text) - bool(text)
        if len(sentence) <= room:
            text = f"{text} {sentence}".strip()
    return text


def _first_sentence(memory: str) -> str:
    """At most half a summary long, so that a memory without an end leaves room for the others."""
    match = _SENTENCE.match(memory.strip()[: 4 * MAX_SUMMARY])
    return clean(match[0], MAX_SUMMARY // 2) if match else ""


def _central(moments: Sequence[Moment]) -> list[int]:
    """Positions, those nearest to the mean of the text vectors first; photos without a vector come last."""
    vectors = [m.text for m in moments if m.text is not None]
    if not vectors:
        return list(range(len(moments)))
    mean = unit(np.asarray(np.sum(vectors, axis=0), np.float32))
    near = [-2.0 if m.text is None else float(m.text @ mean) for m in moments]
    return sorted(range(len(moments)), key=lambda at: (-near[at], at))


def _sample(moments: Sequence[Moment]) -> list[Moment]:
    step = max(1, -(-len(moments) // _READ))
    return list(moments[::step])


def _place(moments: Sequence[Moment]) -> str | None:
    """The most frequent place of the photos, the earliest of equals."""
    names = Counter(name for m in moments for place in m.places if (name := clean(place, MAX_NAME)))
    return names.most_common(1)[0][0] if names else None
