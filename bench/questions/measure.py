"""How many questions are read as they are meant, by author and by family of wording.

A reading is exact if its structure (what is asked for, relation, unit, order, number …) is the author's and
its phrases have the same words, but for articles and the like. Rules that were written after a look at some
families say little about those: `families` lets a caller leave them out. translated.jsonl has 60 questions in
each of seven languages, whose words were gathered with three fifths of them in view.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

from gamer.runtime.cues.parse import parse
from gamer.runtime.questions.question import Question
from gamer.runtime.questions.reader import content, read
from gamer.runtime.questions.words import words_of

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
_MARKED = dict(
    zip(PHRASES, map(re.compile, (r"\[(.*?)\]", r"{(.*?)}", r"<(.*?)>", r"\((.*?)\)")), strict=True)
)
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
    languages: tuple[Share, ...]


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


def translated() -> list[Labelled]:
    """The questions in other languages, worded by hand: the author is the language, the family the line.

    Their texts mark the phrases of the reading: [target], {anchor}, <other>, (without).
    """
    lines = Path(__file__).with_name("translated.jsonl").read_text(encoding="utf-8").splitlines()
    out = []
    for number, row in enumerate(map(json.loads, lines)):
        structure = row.pop("reading")
        for language, marked in row.items():
            phrases = {name: _MARKED[name].findall(marked) for name in PHRASES}
            joined = {name: " ".join(parts) for name, parts in phrases.items()} | {
                "without": phrases["without"]
            }
            text = re.sub(r"[][{}<>()]", "", marked)
            out.append(Labelled(language, str(number), text, _reading(text, structure | joined)))
    return out


def _reading(text: str, row: Mapping[str, object]) -> Question:
    listed = row.get("without", [])
    without = tuple(map(str, listed)) if isinstance(listed, list) else ()
    return Question(**{**row, "text": text, "without": without})  # type: ignore[arg-type]


def by_rules(text: str, language: str = "") -> Question:
    """As `gamer ask` and `gamer search` read a question, without an album: no place is known by name."""

    def is_time(phrase: str) -> bool:
        cues = parse(phrase, _NOW, None)
        return bool(cues.times or cues.negated_times) and not content(cues.rest)

    return read(text, is_time, is_time, language=language)


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
        languages=_languages(),
    )


def _languages() -> tuple[Share, ...]:
    """By language, and of that the questions that were not looked at while its words were gathered."""
    wrong: dict[str, list[frozenset[str]]] = defaultdict(list)
    for one in translated():
        differs = differences(one.reading, by_rules(one.text, one.author), one.author)
        wrong[one.author].append(differs)
        if _is_kept_aside(one.family):
            wrong[f"{one.author}, kept aside"].append(differs)
    return tuple(_share(name, wrong[name]) for name in sorted(wrong))


def _is_kept_aside(number: str) -> bool:
    return int(hashlib.sha256(number.encode()).hexdigest(), 16) % 2 == 0


def differences(meant: Question, read: Question, language: str = "") -> frozenset[str]:
    """The names of the fields that differ."""
    sides = ({n: _plain(getattr(one, n), language) for n in (*STRUCTURE, *PHRASES)} for one in (meant, read))
    return frozenset(dict(set(next(sides).items()) ^ set(next(sides).items())))


def _plain(value: object, language: str) -> object:
    if isinstance(value, tuple):
        return frozenset(_plain(one, language) for one in value)
    if not isinstance(value, str):
        return value
    spelt = " ".join(word.key for word in words_of(value, language)) if language else value
    return frozenset(word for word in re.findall(r"[\w']+", spelt.lower()) if word not in _SMALL)


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
    languages = shares("language", result.languages)
    return [*families, shares("author", (*result.authors, result.all)), languages, parts]


def _study(run: Run[Settings]) -> QuestionReport:
    report = measure()
    return WithFamilies(**vars(report)) if run.settings.families else report


WORK = Work(Settings, _study, tables)
