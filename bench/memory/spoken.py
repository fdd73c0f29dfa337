"""Conversations typed by five authors who had not seen the rules: what is told, asked, shown and ordered.

Each turn may say what its answer must have, must not have, that it must say that nothing is known, and which
photos of the sample album it must show; a turn that says nothing of photos must show none. The rules were
changed after a look at a to d; e was not looked at.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from gamer.index.json_checked import read_as
from gamer.index.memory.store import MemoryStore
from gamer.runtime.memory.chat import Conversation, Exchange
from gamer.runtime.memory.pictures import Pictures
from gamer.runtime.memory.recall import encoder_of

from .. import sample
from ..study.declaration import NoSettings, Run, Work
from ..tables import Sheet, sheet

AUTHORS = tuple("abcde")
LEFT_ALONE = "e"  # not looked at while the rules were written
_START = datetime(2026, 11, 2, 10)
_UNKNOWN = ("nothing", "not know", "not told", "no photo", "not say", "does not seem")
_BEFORE = " before that "  # what was true before stands after it, and is no answer


@dataclass(frozen=True)
class SpokenTurn:
    """A turn. `answer`: what its answer must have, "a|b" is either; `never`: what it must not have.

    `unknown`: whether it must say that nothing is known. `photos`: ids that must be shown; `only`: those
    beside which none may be; None where no photos are asked for. `later`: minutes since the turn before.
    """

    say: str
    answer: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    unknown: bool = False
    photos: tuple[str, ...] | None = None
    only: tuple[str, ...] | None = None
    later: int = 2

    @property
    def expects(self) -> bool:
        asks_photos = self.photos is not None or self.only is not None
        return bool(self.answer or self.never or self.unknown or asks_photos)


@dataclass(frozen=True)
class Script:
    """A conversation. `family`: the kind of wording."""

    family: str
    turns: tuple[SpokenTurn, ...]


@dataclass(frozen=True)
class Share:
    """Of some turns: how many expect something, and how many are as expected."""

    name: str
    turns: int
    right: int


@dataclass(frozen=True)
class Spoken:
    """`unasked`: turns in which photos were shown though none were asked for. `wrong`: of the authors but
    LEFT_ALONE, what was said, answered, and what is wrong with it.
    """

    bundle: str
    turns: int
    unasked: int
    authors: tuple[Share, ...]
    families: tuple[Share, ...]
    wrong: tuple[tuple[str, str, str], ...] = field(default=())


def scripts(author: str) -> Iterator[Script]:
    """The conversations of one author."""
    path = Path(__file__).parent / "spoken" / f"{author}.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines():
        yield read_as(Script, json.loads(line))


def measure(run: Run[NoSettings]) -> Spoken:
    from gamer.runtime.indexing.build import build
    from gamer.runtime.indexing.encode import Encoder
    from gamer.runtime.search.engine import Engine

    lines, album = run.home / "sample.jsonl", run.home / "album.gamer"
    sample.write(lines)
    build(lines, run.models, album, encoder=Encoder(run.models))
    judged: list[tuple[str, str, SpokenTurn, str, list[str]]] = []
    with Engine.over(run.models, album) as engine:
        for author in AUTHORS:
            run.tell(f"author {author}")
            for number, script in enumerate(scripts(author)):
                copy = run.home / f"{author}-{number}.gamer"
                shutil.copy(album, copy)
                with MemoryStore.open(copy) as store:
                    talk = Conversation(store, encoder_of(run.models), Pictures(engine))
                    for said, answer, wrong in converse(talk, script):
                        judged.append((author, script.family, said, answer, wrong))
                copy.unlink()
    return Spoken(
        bundle=run.recipe,
        turns=len(judged),
        unasked=sum("photos that nobody asked for" in wrong for *_, wrong in judged),
        authors=_shares((author, said, wrong) for author, _, said, _, wrong in judged),
        families=_shares((family, said, wrong) for _, family, said, _, wrong in judged),
        wrong=tuple(
            (said.say, answer, "; ".join(wrong))
            for author, _, said, answer, wrong in judged
            if wrong and author != LEFT_ALONE
        ),
    )


def converse(talk: Conversation, script: Script) -> Iterator[tuple[SpokenTurn, str, list[str]]]:
    """Says a script's turns: each with its answer and what is wrong with that."""
    now = _START
    for said in script.turns:
        now += timedelta(minutes=said.later)
        answered = talk.say(said.say, now)
        yield said, answered.text, objections(said, answered)


def objections(said: SpokenTurn, answered: Exchange) -> list[str]:
    """What is wrong with an answer."""
    text = answered.text.casefold().replace("’", "'")
    now, shown = text.split(_BEFORE)[0], set(answered.photos)
    own = re.sub("“[^”]*”", "", text)  # without what is quoted
    out = [f"wants {one}" for one in said.answer if not any(part in now for part in one.split("|"))]
    out += [f"has {one}" for one in said.never if one.casefold() in now]
    out += ["should be unknown"] if said.unknown and not any(one in own for one in _UNKNOWN) else []
    out += [f"misses {photo}" for photo in said.photos or () if photo not in shown]
    if said.only is not None:
        out += [f"shows {photo}" for photo in sorted(shown.difference(said.only))]
    elif said.photos is None and shown:
        out.append("photos that nobody asked for")
    return out


def _shares(judged: Iterable[tuple[str, SpokenTurn, Sequence[str]]]) -> tuple[Share, ...]:
    of: dict[str, list[bool]] = {}
    for name, said, wrong in judged:
        if said.expects:
            of.setdefault(name, []).append(not wrong)
    return tuple(Share(name, len(right), sum(right)) for name, right in of.items())


def tables(result: Spoken) -> list[Sheet | str]:
    def rows(shares: Sequence[Share]) -> Sheet:
        return sheet(
            "turns answered as expected",
            shares,
            {
                "": lambda one: one.name,
                "right": lambda one: one.right,
                "of": lambda one: one.turns,
                "share": lambda one: f"{one.right / one.turns:.2f}",
            },
        )

    return [
        rows(result.authors),
        rows(result.families),
        f"{result.turns} turns; photos that nobody asked for: {result.unasked}; not looked at: {LEFT_ALONE}",
    ]


WORK = Work(NoSettings, measure, tables)
