"""How many questions are read as they are meant, by author and by family of wording.

A reading is exact if its structure (what is asked for, relation, unit, order, number …) is the author's and
its phrases have the same words, but for articles and the like. Rules that were written after a look at some
families say little about those: `families` lets a caller leave them out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

from gamer.runtime.cues.parse import parse
from gamer.runtime.questions.question import Question
from gamer.runtime.questions.reader import content, read

from ..retrieval.datasets import DatasetError
from ..study.declaration import About, Run, Work
from ..tables import Sheet, sheet

_NOW = datetime(2025, 6, 1)  # the authors named times of the years before
AUTHORS = tuple("abcdefgh")  # h was not looked at while the reader was written
STRUCTURE = (
    "asks", "relation", "unit", "shift", "side", "order", "number", "anchor_order", "favourites",
)  # fmt: skip
PHRASES = ("target", "anchor", "other", "without")
# Words that two people leave out or put in as they like.
_ARTICLES = "the a an my our of in on at with from and i we to for this that it is was were are did do me us"
_PICTURES = [word + plural for word in ("photo", "picture", "pic", "shot", "image") for plural in ("", "s")]
_SMALL = frozenset((*_ARTICLES.split(), *_PICTURES, ""))
Reader = Callable[[str], Question]


@dataclass(frozen=True)
class Settings:
    families: Annotated[bool, About("also print a line for each family of wording")] = False


@dataclass(frozen=True)
class Labelled:
    """A question with its author's reading. `family`: the author's name for the kind of wording."""

    author: str
    family: str
    text: str
    reading: Question


@dataclass(frozen=True)
class Share:
    """Of some questions: how many, and the shares that are read exactly, and with the right structure."""

    name: str
    questions: int
    exact: float
    structure: float


@dataclass(frozen=True)
class QuestionReport:
    all: Share
    authors: tuple[Share, ...]
    families: tuple[Share, ...]
    parts: dict[str, float]


@dataclass(frozen=True)
class WithFamilies(QuestionReport):
    """The same, whose families are printed too."""


def questions(authors: Iterable[str] = AUTHORS) -> list[Labelled]:
    """Raises DatasetError for a line that is none."""
    out = []
    for author in authors:
        path = Path(__file__).parent / f"{author}.jsonl"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                row = json.loads(line)
                text, family = row.pop("text"), row.pop("family")
                out.append(Labelled(author, family, text, _reading(text, row)))
            except (ValueError, TypeError, KeyError) as error:
                raise DatasetError(f"{path.name}:{number}: no question ({error})") from None
    return out


def _reading(text: str, row: Mapping[str, object]) -> Question:
    listed = row.get("without", [])
    without = tuple(map(str, listed)) if isinstance(listed, list) else ()
    return Question(**{**row, "text": text, "without": without})  # type: ignore[arg-type]


def by_rules(text: str) -> Question:
    """As `gamer ask` and `gamer search` read a question, without an album: no place is known by name."""

    def is_time(phrase: str) -> bool:
        cues = parse(phrase, _NOW, None)
        return bool(cues.times or cues.negated_times) and not content(cues.rest)

    return read(text, is_time, is_time)


def measure(reader: Reader = by_rules) -> QuestionReport:
    labelled = questions()
    judged = [(one, differences(one.reading, reader(one.text))) for one in labelled]
    parts = {
        name: round(sum(name not in wrong for _, wrong in judged) / len(judged), 3)
        for name in (*STRUCTURE, *PHRASES)
    }

    def shares(name_of: Callable[[Labelled], str]) -> tuple[Share, ...]:
        names = sorted({name_of(one) for one, _ in judged})
        return tuple(_share(name, [wrong for one, wrong in judged if name_of(one) == name]) for name in names)

    return QuestionReport(
        all=_share("all", [wrong for _, wrong in judged]),
        authors=shares(lambda one: one.author),
        families=shares(lambda one: f"{one.author}: {one.family}"),
        parts=parts,
    )


def differences(meant: Question, read: Question) -> frozenset[str]:
    """The names of the fields that differ."""
    return frozenset(
        name for name in (*STRUCTURE, *PHRASES) if _plain(getattr(meant, name)) != _plain(getattr(read, name))
    )


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return frozenset(_plain(one) for one in value)
    if not isinstance(value, str):
        return value
    return frozenset(word for word in re.findall(r"[\w']+", value.lower()) if word not in _SMALL)


def _share(name: str, wrong: list[frozenset[str]]) -> Share:
    exact = sum(not one for one in wrong) / len(wrong)
    structure = sum(one.isdisjoint(STRUCTURE) for one in wrong) / len(wrong)
    return Share(name, len(wrong), round(exact, 3), round(structure, 3))


def tables(result: QuestionReport) -> list[Sheet | str]:
    def shares(title: str, rows: Iterable[Share]) -> Sheet:
        columns: dict[str, Callable[[Share], str | int]] = {
            title: lambda row: row.name,
            "questions": lambda row: row.questions,
            "read exactly": lambda row: f"{row.exact:.2f}",
            "structure right": lambda row: f"{row.structure:.2f}",
        }
        return sheet(f"Questions by {title}", rows, columns)

    parts = ", ".join(f"{name} {share:.2f}" for name, share in result.parts.items())
    families = [shares("family", result.families)] if isinstance(result, WithFamilies) else []
    return [*families, shares("author", (*result.authors, result.all)), parts]


def _study(run: Run[Settings]) -> QuestionReport:
    report = measure()
    return WithFamilies(**vars(report)) if run.settings.families else report


WORK = Work(Settings, _study, tables)
