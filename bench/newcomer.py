"""The hobbyist's album: a Takeout folder, a chat, screenshots, and 25 queries of a newcomer.

The photographs are those that scikit-image and scikit-learn package; `write` lays copies of them out as
Google Takeout, WhatsApp and a phone do, and `ask` says which of the queries are answered as he expects.
Recall on large sets says little of negation, counting or of what is not there: this does.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageDraw, ImageFont, ImageOps

from gamer.index.json_checked import read_as
from gamer.runtime.search.options import AS_ASKED

from .sample import photograph
from .study.declaration import NoSettings, Run, Work
from .tables import Sheet, sheet

if TYPE_CHECKING:
    from gamer.runtime.search.answer import Answer
    from gamer.runtime.search.engine import Engine

SURE = 0.5  # a wrong first photo of a greater probability misleads
SHOWN = 5  # how many hits a newcomer looks at
# What he did to a photograph before it came into the album.
EDITS: dict[str, Callable[[Image.Image], Image.Image]] = {
    "": lambda image: image,
    "resaved": lambda image: image.resize((image.width * 3 // 4, image.height * 3 // 4)),
    "mirrored": ImageOps.mirror,
    "mirrored night": lambda image: ImageOps.mirror(image).point(lambda level: int(level * 0.6)),
    "face": lambda image: image.crop((60, 10, 380, 260)),
}


@dataclass(frozen=True)
class Wish:
    """A query and what a newcomer expects of its answer; photos are named by their file without its ending.

    `first`: one of them comes first. `never`: none of them is among the SHOWN. `among`: photo → it is among
    so many. `count`: what "how many" is answered with. `absent`: the answer says that nothing fits.
    """

    asks: str
    query: str
    first: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    among: dict[str, int] = field(default_factory=dict)
    count: int | None = None
    absent: bool = False


@dataclass(frozen=True)
class Verdict:
    """`objection`: why the answer is wrong, "" if it is right. `misleads`: its first photo is wrong, and
    called likelier than SURE. `shown`: photos and probabilities, best first.
    """

    asks: str
    query: str
    objection: str
    misleads: bool
    presence: float
    shown: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Newcomer:
    """What became of all queries. `right`: how many have no objection; `misled`: see Verdict.misleads."""

    bundle: str
    photos: int
    right: int
    misled: int
    verdicts: tuple[Verdict, ...]


def wishes() -> tuple[Wish, ...]:
    found: tuple[Wish, ...] = read_as(tuple[Wish, ...], _read()["queries"])
    return found


def now() -> datetime:
    return datetime.fromisoformat(_read()["now"])


def write(folder: Path) -> int:
    """Lays the album's files out in `folder`; returns the number of pictures. Raises SampleError."""
    data = _read()
    for row in data["photos"]:
        path = folder / row["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        picture = _printed(row["print"]) if "print" in row else _photograph(row["photo"], row.get("edit", ""))
        picture.save(path, quality=88)
        if "taken" in row:
            sidecar = path.with_name(path.name + ".supplemental-metadata.json")
            sidecar.write_text(json.dumps(_takeout(path.name, row)), encoding="utf-8")
    log = folder / "WhatsApp Chat with Anna" / "WhatsApp Chat with Anna.txt"
    log.write_text("\n".join(data["chat"]) + "\n", encoding="utf-8")
    return len(data["photos"])


def measure(run: Run[NoSettings]) -> Newcomer:
    """Builds the album with the bundle's models and OCR, and asks everything."""
    from gamer.runtime.indexing.build import build
    from gamer.runtime.indexing.encode import Encoder
    from gamer.runtime.indexing.ocr import TextReader
    from gamer.runtime.search.engine import Engine

    photos, album = run.home / "photos", run.home / "album.gamer"
    write(photos)
    built = build(photos, run.models, album, encoder=Encoder(run.models, TextReader("auto")))
    with Engine.over(run.models, album) as engine:
        verdicts = ask(engine)
    return Newcomer(
        bundle=run.recipe,
        photos=built.photos,
        right=sum(not verdict.objection for verdict in verdicts),
        misled=sum(verdict.misleads for verdict in verdicts),
        verdicts=verdicts,
    )


def ask(engine: Engine) -> tuple[Verdict, ...]:
    """Asks everything, as `gamer search` does without options."""
    return tuple(
        verdict(wish, engine.search(wish.query, SHOWN, now=now(), options=AS_ASKED)) for wish in wishes()
    )


def verdict(wish: Wish, answer: Answer) -> Verdict:
    shown = tuple((Path(hit.id).stem, hit.probability) for hit in answer.hits)
    wrong = bool(shown) and (wish.absent or shown[0][0] not in wish.first)
    return Verdict(
        wish.asks,
        wish.query,
        _objection(wish, answer, [name for name, _ in shown]),
        wrong and shown[0][1] > SURE,
        answer.presence,
        shown,
    )


def _objection(wish: Wish, answer: Answer, shown: list[str]) -> str:
    if wish.absent or answer.doubtful:
        if wish.absent == answer.doubtful:
            return ""
        return "called not in the album" if answer.doubtful else "nothing fits, and it is not said"
    if not shown or shown[0] not in wish.first:
        return f"{shown[0] if shown else 'nothing'} comes first"
    if unwanted := [name for name in shown if name in wish.never]:
        return f"{unwanted[0]} is shown"
    if missed := [name for name, place in wish.among.items() if name not in shown[:place]]:
        return f"{missed[0]} is not among the first {wish.among[missed[0]]}"
    if wish.count is not None and answer.count != wish.count:
        return f"counts {answer.count}, and there are {wish.count}"
    return ""


def _read() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return content


def _photograph(name: str, edit: str) -> Image.Image:
    with Image.open(photograph(name)) as image:
        return EDITS[edit](image.convert("RGB"))


def _printed(lines: list[str]) -> Image.Image:
    """A phone's screen with lines of text."""
    image = Image.new("RGB", (540, 960), "white")
    font = ImageFont.load_default(size=34)
    for number, line in enumerate(lines):
        ImageDraw.Draw(image).text((40, 120 + 70 * number), line, fill="black", font=font)
    return image


def _takeout(name: str, row: dict[str, Any]) -> dict[str, Any]:
    """The sidecar that Takeout writes beside a picture."""
    stamp = int(datetime.fromisoformat(row["taken"]).timestamp())
    lat, lon = row.get("at", (0.0, 0.0))
    sidecar: dict[str, Any] = {
        "title": name,
        "description": row.get("description", ""),
        "photoTakenTime": {"timestamp": str(stamp)},
        "geoData": {"latitude": lat, "longitude": lon, "altitude": 0.0},
    }
    if "people" in row:
        sidecar["people"] = [{"name": person} for person in row["people"]]
    return sidecar | ({"favorited": True} if row.get("favorited") else {})


def tables(result: Newcomer) -> list[Sheet | str]:
    columns: dict[str, Callable[[Verdict], str]] = {
        "": lambda verdict: "wrong" if verdict.objection else "right",
        "asks": lambda verdict: verdict.asks,
        "query": lambda verdict: verdict.query,
        "first photo": _first,
        "likely": lambda verdict: f"{verdict.shown[0][1] if verdict.shown else 0:.0%}",
        "here": lambda verdict: f"{verdict.presence:.0%}",
    }
    summary = (
        f"{result.right} of {len(result.verdicts)} right; {result.misled} wrong first photos called likelier "
        "than 50 %"
    )
    return [sheet("A newcomer's queries", result.verdicts, columns), summary]


def _first(verdict: Verdict) -> str:
    name = verdict.shown[0][0] if verdict.shown else "none"
    return f"{name}: {verdict.objection}" if verdict.objection else name


WORK = Work(NoSettings, measure, tables)
