"""Turns what was found into a sentence with its evidence: a date, a place, names, a count, or a quotation."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import date, datetime, timedelta

from .. import defaults
from ..cues.calendar_days import DAY_MS
from ..questions import clauses, quotations
from ..questions.dates import said
from ..questions.grouped import SHOWN, UNKNOWN, counted, line
from ..questions.question import Question
from ..questions.quotations import Quotation, QuotedPhoto
from ..search.answer import photos
from .loop import NOTHING, Answer
from .results import Item, Result, one_line
from .toolbox import Toolbox

EVIDENCE, NEAREST, LED = defaults.EVIDENCE, defaults.EVIDENCE_SHOWN, defaults.EVIDENCE_LED
_CLOCK = re.compile(r"\bwhat time\b", re.IGNORECASE)
PRINTED = defaults.PRINTED
_DAYS = re.compile(r"\s*(?:on )?how many days\b", re.IGNORECASE)
_WAS = re.compile(r"\b(?:was|were|did|had|last|first)\b", re.IGNORECASE)
# Labels that only name an animal
_NO_ANIMAL = re.compile(
    r"\b(?:teddy|computer|hot ?dog|hen-of|birdhouse|bird house|cage|bars?)\b", re.IGNORECASE
)
COMMON = 1.0  # rarity of a word that too many memories have to be looked up


def sentence(words: str) -> str:
    """ "none in 2025" as "None in 2025."."""
    return f"{words[:1].upper()}{words[1:]}."


def count(found: Result) -> Answer:
    return Answer(found.rows, str(len(found.rows))) if found.rows else NOTHING


def grouped(toolbox: Toolbox, question: Question, found: Result) -> Answer:
    """How many of the photos are of each day, month, year or place, or which of these has the most."""
    names = [one_line(name, 80) for name in toolbox.groups(question.each, found.rows)]
    counts = counted(names, question.most)
    if not counts:
        return NOTHING
    if not question.most:
        return Answer(found.rows, line(counts))
    rows = tuple(row for row, name in zip(found.rows, names, strict=True) if name in counts)
    each = " each" if len(counts) > 1 else ""
    told = photos(next(iter(counts.values())))
    return Answer(rows, f"{' and '.join(list(counts)[:SHOWN])}: {told}{each}")


def earlier(question: Question, first: Result, second: Result) -> Answer:
    """Which of two anchors has the earlier photo; both are the evidence."""
    if not first.items or not second.items:
        return replace(NOTHING, sentence=first.note or second.note or NOTHING.sentence)
    a, b = first.items[0], second.items[0]
    if a.taken is None or b.taken is None:
        return Answer((a.row, b.row), "The album does not know when one of the two was.", found=False)
    name = question.anchor if a.taken <= b.taken else question.other
    return Answer((a.row, b.row), f"{name[:1].upper()}{name[1:]} first")


def answer(toolbox: Toolbox, question: Question, led: Result, nearest: Result) -> Answer:
    """The sentence that the photos show; at most EVIDENCE of them are its evidence.

    `led`: what the question's relation to an anchor led to; it comes first. `nearest`: what a search for the
    question found.
    """
    by_row = {item.row: item for item in (*led.items[:LED], *nearest.items)}
    items = tuple(by_row.values())[:EVIDENCE]
    if not items:
        return NOTHING
    evidence = tuple(item.row for item in items)
    facts = {"when": _when, "where": _where, "who": _who}.get(question.asks)
    # What the others say is not said of the photos to which the question leads.
    told = led.items[:EVIDENCE] or items
    fact = facts(toolbox, question, told) if facts else _animal(toolbox, question, items)
    unheard = not led.items and _names_unheard(toolbox, question.text)
    doubts = unheard or (bool(nearest.note) and not led.items)  # the search doubts that the album holds it
    said = Quotation(fact, not doubts) if fact else _quoted(toolbox, items, question.text, doubts)
    if unheard or not said.answers:
        unsure = f"The album does not seem to say. Nearest: {said.text}"
        return Answer(evidence, unsure, found=False, shown=NEAREST)
    return Answer(evidence, said.text, shown=NEAREST)


def _names_unheard(toolbox: Toolbox, text: str) -> bool:
    """Whether an English question names somebody by words of which no memory and no entity has any, or a
    place where no photo was taken.
    """
    engine = toolbox.engine
    words = clauses.words_in(text)
    if engine.language_of(text) or not any(word[:1].islower() for word in words if clauses.is_content(word)):
        return False  # nouns have capitals in German, and so have all words of a heading
    cues = engine.cues(text)
    elsewhere = [place.name.lower().split() for place in cues.places if place.photos == 0]
    if any(not toolbox.album.holding(name) for name in elsewhere):
        return True
    read = " ".join(text[slice(*cue.span)] for cue in (*cues.times, *cues.places, *cues.negated))
    return any(
        not any(word in engine.facts.name_words for word in name) and not toolbox.album.holding(name)
        for name in clauses.names_in(text, read)
    )


def asks_for_days(question: Question) -> bool:
    return question.asks == "fact" and _DAYS.match(question.text) is not None


def days(toolbox: Toolbox, question: Question, found: Result) -> Answer:
    """On how many days photos were taken, and when."""
    known = sorted({*toolbox.groups("day", found.rows)} - {UNKNOWN})
    if not known:
        return Answer(found.rows, "The album does not know when.", found=False)
    first, last = said_date(known[0]), said_date(known[-1])
    if len(known) > 1:
        return Answer(found.rows, f"Photos of {len(known)} days, from {first} to {last}")
    return Answer(found.rows, first if question.asks == "when" else f"Photos of 1 day, {first}")


def places(toolbox: Toolbox, found: Result) -> Answer:
    """Where photos were taken, the places with the most of them first."""
    counts = Counter(one_line(name, 80) for name in toolbox.groups("place", found.rows) if name != UNKNOWN)
    if not counts:
        return Answer(found.rows, "The album does not know where.", found=False)
    return Answer(found.rows, "; ".join(name for name, _ in counts.most_common(SHOWN)))


def around(taken: str, days: int) -> tuple[str, str]:
    """ISO dates `days` before and after an ISO time, within the calendar."""
    day = date.fromisoformat(taken[:10])
    first, last = max(day.toordinal() - days, 1), min(day.toordinal() + days, date.max.toordinal())
    return date.fromordinal(first).isoformat(), date.fromordinal(last).isoformat()


def hours(taken: str, count: int) -> tuple[str, str]:
    """The ISO times that bound the `count` hours after an ISO time, or before it for a negative `count`."""
    moment = datetime.fromisoformat(taken)
    try:
        other = moment + timedelta(hours=count)
    except OverflowError:
        other = moment
    first, last = sorted((moment, other))
    return first.isoformat(timespec="seconds"), last.isoformat(timespec="seconds")


def shifted(taken: str, count: int, unit: str) -> str:
    """The condition for the day `count` days after an ISO time (nights, mornings and evenings are days), the
    month or the year that many after its own, the weekend, or the week that many weeks after it, day 1 to
    day 7.
    """
    when = date.fromisoformat(taken[:10])
    day = when.toordinal()
    if unit in ("month", "year"):
        months = 12 * when.year + when.month - 1 + count * (12 if unit == "year" else 1)
        year, month = divmod(min(max(months, 12), 12 * date.max.year + 11), 12)
        return f"time = {year:04d}" if unit == "year" else f"time = {year:04d}-{month + 1:02d}"
    if unit == "weekend":
        # The weekend before a day of a weekend is another one, and so is the one after it.
        saturday = day - (when.weekday() - 5) % 7
        saturday += 7 * (count if count > 0 or when.weekday() >= 5 else count + 1)
        return f"time >= {_on(saturday).isoformat()} and time <= {_on(saturday + 1).isoformat()}"
    if unit != "week":
        return f"time = {_on(day + count).isoformat()}"
    ends = sorted((day + (1 if count > 0 else -1) * (7 * (abs(count) - 1) + 1), day + 7 * count))
    return f"time >= {_on(ends[0]).isoformat()} and time <= {_on(ends[1]).isoformat()}"


def _on(day: int) -> date:
    return date.fromordinal(min(max(day, 1), date.max.toordinal()))


def said_date(taken: str) -> str:
    """ "2025-05-13T08:54:29" as "13 May 2025"."""
    return said(date.fromisoformat(taken[:10]))


def _when(toolbox: Toolbox, question: Question, items: tuple[Item, ...]) -> str:
    if not _WAS.search(question.text):  # what a ticket says, not when its picture was taken
        ticket = _printed(toolbox, items[0].row)
        if line := clauses.printed(clauses.sought(question.text), ticket, ""):
            return one_line(line, 200)
    taken = next((item.taken for item in items if item.taken), None)
    if taken and _CLOCK.search(question.text):
        return f"{said_date(taken)} at {taken[11:16]}"
    return said_date(taken) if taken else "The album does not know when."


def _where(toolbox: Toolbox, question: Question, items: tuple[Item, ...]) -> str:
    for item in items:
        for place in toolbox.album.photo(item.row).told("place"):
            return one_line(place, 100)
    return ""


def _who(toolbox: Toolbox, question: Question, items: tuple[Item, ...]) -> str:
    names: Counter[str] = Counter()
    for item in items:
        for text in toolbox.album.photo(item.row).told("people"):
            names.update(name.strip() for name in text.split(",") if name.strip())
    return ", ".join(name for name, _ in names.most_common(3))


def _animal(toolbox: Toolbox, question: Question, items: tuple[Item, ...]) -> str:
    """The animal that the best photo's label names, if one is asked for and its memories do not say."""
    if clauses.sought(question.text).wanted != "animal":
        return ""
    animal, photo = clauses.VALUES["animal"], toolbox.album.photo(items[0].row)
    if any(animal.search(one.text) for one in photo.memories if one.source not in ("label", "place")):
        return ""
    labels = (name.strip() for text in photo.told("label") for name in text.split(","))
    return next((name for name in labels if animal.search(name) and not _NO_ANIMAL.search(name)), "")


def _quoted(toolbox: Toolbox, items: tuple[Item, ...], question: str, doubts: bool) -> Quotation:
    """The sentence of the memories found that answers best, or the nearest one."""
    asked, album = quotations.asking(question), toolbox.album
    forms = {**asked.around, **asked.core}
    held = {word.text: word for word in album.words("", [(form,) for form in forms.values()]).words}
    days = album.times() // DAY_MS
    around = [held[form] for form in asked.around.values() if form in held and held[form].rows.size]
    total = sum(word.rarity for word in around) or 1.0

    def share(row: int) -> float:
        told = (word.rarity for word in around if row in word.rows or days[row] in days[word.rows])
        return sum(told) / total

    told = [_told(toolbox, item.row, share(item.row), doubts) for item in items]
    rarity = {stem: held[form].rarity if form in held else COMMON for stem, form in forms.items()}
    nearest = one_line(items[0].memory or "The album says nothing about it.", 300)
    found = quotations.quotation(asked, told, rarity) or Quotation(nearest, False)
    rows = [item.row for item, one in zip(items, told, strict=True) if found.text in one.text]
    text = _line_of(toolbox, rows, asked.sought, found.text) or found.text
    return replace(found, text=one_line(text, 300))


def _line_of(toolbox: Toolbox, rows: list[int], asked: clauses.Sought, text: str) -> str:
    """Where `text` is printed in a picture, the line of it that answers: the password, not the network."""
    for row in rows:
        printed = _printed(toolbox, row)
        if text in printed.splitlines():
            return clauses.printed(asked, printed, "")
    return ""


def _printed(toolbox: Toolbox, row: int) -> str:
    return "\n".join(toolbox.album.photo(row).told("ocr"))[:PRINTED]


def _told(toolbox: Toolbox, row: int, around: float, doubts: bool) -> QuotedPhoto:
    memories = [one for one in toolbox.album.photo(row).memories if one.source not in ("label", "place")]
    replies = not doubts and any(one.source == "chat" for one in memories)
    return QuotedPhoto("\n".join(one.text for one in memories), replies, around)
