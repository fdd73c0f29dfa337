"""How many questions are read as they are meant, by author and by family of wording.

A reading is exact if its structure (what is asked for, relation, unit, order, number …) is the author's and
its phrases have the same words, but for articles and the like. Rules that were written after a look at some
families say little about those: `families` lets a caller leave them out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

from gamer.runtime.agent.question import read_question
from gamer.runtime.search.refine import fast
from gamer.runtime.search.wishes import read_wishes

from ..retrieval.datasets import DatasetError
from ..study.declaration import About, Run, Work
from ..tables import Sheet, sheet

AUTHORS = ("a", "b", "c", "d")
STRUCTURE = (
    "asks", "relation", "unit", "shift", "side", "order", "number", "anchor_order", "favourites",
)  # fmt: skip
PHRASES = ("target", "anchor", "other", "without")
# Words that two people leave out or put in as they like.
_ARTICLES = "the a an my our of in on at with from and i we to for this that it is was were are did do me us"
_PICTURES = [word + plural for word in ("photo", "picture", "pic", "shot", "image") for plural in ("", "s")]
_SMALL = frozenset((*_ARTICLES.split(), *_PICTURES, ""))
Reader = Callable[[str], "Reading"]


@dataclass(frozen=True)
class Settings:
    families: Annotated[bool, About("also print a line for each family of wording")] = False


@dataclass(frozen=True)
class Reading:
    """What a question asks for; the fields are those of runtime/agent/question.Question, but for `number`
    (its `count`), `without` (a list) and `favourites`.
    """

    asks: str = "photos"
    target: str = ""
    relation: str = ""
    anchor: str = ""
    other: str = ""
    unit: str = ""
    shift: int = 0
    side: str = ""
    order: int = 0
    number: int = 0
    anchor_order: int = 0
    without: tuple[str, ...] = ()
    favourites: bool = False


@dataclass(frozen=True)
class Labelled:
    """A question with its author's reading. `family`: the author's name for the kind of wording."""

    author: str
    family: str
    text: str
    reading: Reading


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
                out.append(Labelled(author, family, text, _reading(row)))
            except (ValueError, TypeError, KeyError) as error:
                raise DatasetError(f"{path.name}:{number}: no question ({error})") from None
    return out


def _reading(row: Mapping[str, object]) -> Reading:
    listed = row.get("without", [])
    without = tuple(map(str, listed)) if isinstance(listed, list) else ()
    return Reading(**{**row, "without": without})  # type: ignore[arg-type]


def by_rules(text: str) -> Reading:
    """As `gamer ask` and `gamer search` read a question today, by two sets of rules."""
    wishes = read_wishes(text)
    found = read_question(wishes.text if wishes.without or wishes.favourites or wishes.count else text)
    bare = not found.relation and not found.order  # a search then takes filler off the words
    return Reading(
        asks="count" if wishes.count else found.asks,
        target=fast(found.target) if bare else found.target,
        relation=found.relation,
        anchor=found.anchor,
        other=found.other,
        unit=found.unit,
        shift=found.shift,
        side=found.side,
        order=found.order,
        number=found.count,
        anchor_order=found.anchor_order,
        without=wishes.without or ((found.without,) if found.without else ()),
        favourites=wishes.favourites,
    )


def measure(read: Reader = by_rules) -> QuestionReport:
    labelled = questions()
    judged = [(one, differences(one.reading, read(one.text))) for one in labelled]
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


def differences(meant: Reading, read: Reading) -> frozenset[str]:
    """The names of the fields that differ."""
    return frozenset(
        one.name
        for one in fields(Reading)
        if _plain(getattr(meant, one.name)) != _plain(getattr(read, one.name))
    )


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return frozenset(_plain(one) for one in value)
    if isinstance(value, str) and " " in value.strip():
        return frozenset(word for word in re.findall(r"[\w']+", value.lower()) if word not in _SMALL)
    return frozenset({value.lower()} - _SMALL) if isinstance(value, str) else value


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
