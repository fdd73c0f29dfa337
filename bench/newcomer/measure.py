"""Which of a newcomer's queries are answered as their owner expects; the half held out is only counted.

Recall on large sets says little of negation, counting or of what is not there: this does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gamer.runtime.search.options import AS_ASKED
from gamer.runtime.versions import installed

from ..study.declaration import About, Run, Work
from ..tables import Sheet, sheet
from .album import SHOWN, STAMPS, Drawn, Wish, draw, write

if TYPE_CHECKING:
    from gamer.runtime.search.answer import Answer
    from gamer.runtime.search.engine import Engine

SURE = 0.5  # a wrong first photo of a greater probability misleads
UNSEEN = "cannot be searched for"  # what an answer says of a word that the image encoder does not know


@dataclass(frozen=True)
class Settings:
    stamps: Annotated[Path, About("the folder of stamps of Debian's tuxpaint-stamps-default")] = STAMPS
    release: Annotated[str, About("the release whose album is drawn, this one by default")] = ""


@dataclass(frozen=True)
class Verdict:
    """`objection`: why the answer is wrong, "" if it is right. `owned`: it says that pictures cannot be
    searched for this. `misleads`: its first photo is wrong, and called likelier than SURE. `shown`: photos
    and probabilities, best first.
    """

    asks: str
    query: str
    objection: str
    owned: bool
    misleads: bool
    presence: float
    shown: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Share:
    """Of a kind of query: how many, how many are right, and how many others are owned (see Verdict)."""

    asks: str
    queries: int
    right: int
    owned: int


@dataclass(frozen=True)
class Newcomer:
    """`verdicts`: of the queries that may be looked at. `held_out`: of the others, the counts alone."""

    bundle: str
    release: str
    photos: int
    seen: tuple[Share, ...]
    held_out: tuple[Share, ...]
    misled: int
    misled_held_out: int
    verdicts: tuple[Verdict, ...]


def measure(run: Run[Settings]) -> Newcomer:
    """Builds the album with the bundle's models and OCR, and asks everything. Raises StampsError."""
    from gamer.runtime.indexing.build import build
    from gamer.runtime.indexing.encode import Encoder
    from gamer.runtime.indexing.ocr import TextReader
    from gamer.runtime.search.engine import Engine

    release = run.settings.release or installed("gamer-on-device") or ""
    drawn = draw(run.settings.stamps, release)
    photos, album = run.home / "photos", run.home / "album.gamer"
    write(photos, drawn.shots)
    built = build(
        photos, run.models, album, encoder=Encoder(run.models, TextReader(lambda: run.models.lines, "auto"))
    )
    with Engine.over(run.models, album) as engine:
        seen = ask(engine, drawn, held_out=False)
        held_out = ask(engine, drawn, held_out=True)
    return Newcomer(
        run.recipe,
        release,
        built.photos,
        shares(seen),
        shares(held_out),
        sum(verdict.misleads for verdict in seen),
        sum(verdict.misleads for verdict in held_out),
        seen,
    )


def ask(engine: Engine, drawn: Drawn, *, held_out: bool) -> tuple[Verdict, ...]:
    """Asks one half, as `gamer search` does without options."""
    return tuple(
        verdict(wish, engine.search(wish.query, SHOWN, now=drawn.now, options=AS_ASKED))
        for wish in drawn.wishes
        if wish.held_out == held_out
    )


def verdict(wish: Wish, answer: Answer) -> Verdict:
    shown = tuple((Path(hit.id).stem, hit.probability) for hit in answer.hits)
    wrong = bool(shown) and (wish.absent or shown[0][0] not in wish.fits)
    return Verdict(
        wish.asks,
        wish.query,
        _objection(wish, answer, [name for name, _ in shown]),
        UNSEEN in (answer.note or ""),
        wrong and shown[0][1] > SURE,
        answer.presence,
        shown,
    )


def _objection(wish: Wish, answer: Answer, shown: Sequence[str]) -> str:
    if wish.absent or answer.doubtful:
        if wish.absent == answer.doubtful:
            return ""
        return "called not in the album" if answer.doubtful else "nothing fits, and it is not said"
    first = shown[: wish.least]
    if unwanted := next((name for name in first if name not in wish.fits), ""):
        return f"{unwanted} is among the first {wish.least}"
    if len(first) < wish.least:
        return f"shows {len(first)}, and {wish.least} fit"
    if wish.count is not None and answer.count != wish.count:
        return f"counts {answer.count}, and there are {wish.count}"
    return ""


def shares(verdicts: Sequence[Verdict]) -> tuple[Share, ...]:
    """Counts by kind, in the order of the queries."""
    kinds = dict.fromkeys(verdict.asks for verdict in verdicts)
    return tuple(_share(kind, [verdict for verdict in verdicts if verdict.asks == kind]) for kind in kinds)


def _share(kind: str, verdicts: Sequence[Verdict]) -> Share:
    wrong = [verdict for verdict in verdicts if verdict.objection]
    return Share(kind, len(verdicts), len(verdicts) - len(wrong), sum(verdict.owned for verdict in wrong))


def tables(result: Newcomer) -> list[Sheet | str]:
    columns: dict[str, Callable[[Verdict], str]] = {
        "": lambda verdict: "wrong" if verdict.objection else "right",
        "asks": lambda verdict: verdict.asks,
        "query": lambda verdict: verdict.query,
        "first photo": _first,
        "likely": lambda verdict: f"{verdict.shown[0][1] if verdict.shown else 0:.0%}",
        "here": lambda verdict: f"{verdict.presence:.0%}",
    }
    held = {share.asks: share for share in result.held_out}
    kinds: dict[str, Callable[[Share], str]] = {
        "asks": lambda share: share.asks,
        "right": lambda share: f"{share.right} of {share.queries}",
        "else says what it cannot see": lambda share: str(share.owned),
        "held out, right": lambda share: f"{held[share.asks].right} of {held[share.asks].queries}",
    }
    return [
        sheet("A newcomer's queries", result.verdicts, columns),
        sheet("By what they ask", [share for share in result.seen if share.asks in held], kinds),
        f"{_total(result.seen)}; held out {_total(result.held_out)}; {result.misled} and "
        f"{result.misled_held_out} wrong first photos called likelier than 50 %",
    ]


def _total(shares: Sequence[Share]) -> str:
    return f"{sum(share.right for share in shares)} of {sum(share.queries for share in shares)} right"


def _first(verdict: Verdict) -> str:
    name = verdict.shown[0][0] if verdict.shown else "none"
    return f"{name}: {verdict.objection}" if verdict.objection else name


WORK = Work(Settings, measure, tables)
