"""Makes the pictures of the page in docs/: python -m tools.page_pictures BUNDLE SAMPLE.

SAMPLE is quickstart's `out/sample.jsonl`, of which an album is made aside, with its people: the bundle needs
the part faces. A person looks at the pictures before they are committed.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from gamer.bench.chrome import Page, browser, find
from gamer.bench.serving import serving
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve.app import create_app
from gamer.runtime.serve.server.settings import ServerSettings

DOCS = Path(__file__).resolve().parents[1] / "docs"
HEIGHTS = {390: 844, 768: 900, 1280: 900}
SETTLED = 0.4  # seconds for pictures to fade in
QUALITY = 72
SHOWN, PARTS = "astronaut", ((120, 0, 340, 260), (60, 0, 420, 400))  # left, top, right, bottom


WIDE, NARROW = (390, 768, 1280), (390,)


@dataclass(frozen=True)
class State:
    """A state of the page: its address, what is true once it is there, and what is done then.

    `acts`: what is done, and what is true once it has happened.
    """

    name: str
    address: str
    ready: str
    acts: tuple[tuple[str, str], ...] = ()
    widths: tuple[int, ...] = WIDE


def _click(selector: str) -> str:
    return f"document.querySelector('{selector}').click()"


def _typed(selector: str, text: str) -> str:
    return f"document.querySelector('{selector}').value = {text!r};"


def _said(turns: int) -> str:
    """Whether so many turns are answered; of each there are a line of one's own and the answer."""
    done = "document.querySelector('#talk-stop').hidden"
    return f"{done} && document.querySelectorAll('#talk-said li p')[{2 * turns - 1}].textContent"


SENT = _click("#talk-form .go")
PICKED = "document.querySelector('#pick-count').textContent"
KEPT = "!document.querySelector('#kept').hidden"
ANSWERED = "document.querySelector('.card[data-row] img')?.complete && document.querySelector('#map .place')"
BROWSED = "document.querySelector('#cells img.there') && document.querySelector('.chip')"
SPRING = "/?q=coffee+I+photographed+last+spring&now=2026-11-21"
FACES = "document.querySelector('#people:not([hidden]) button')"
STATES = (
    State("start", "/", BROWSED),
    State("answer", SPRING, ANSWERED),
    State("german", "/?q=Kaffee+in+Wien&lang=de", ANSWERED, widths=NARROW),
    State("photo", SPRING, ANSWERED, ((_click(".card"), "document.querySelector('#viewer dl')"),)),
    State("filter", "/", BROWSED, ((_click("#filter-open"), "true"),), NARROW),
    State("empty", "/?q=photos+from+Iceland", "!document.querySelector('#banner').hidden"),
    State(
        "ask",
        "/?q=when+did+I+see+the+temple%3F&how=ask",
        "document.querySelector('#steps li') && document.querySelector('.card[data-row] img')?.complete",
    ),
    State(
        "selected",
        "/",
        BROWSED,
        (
            ("for (const at of [1, 2]) document.querySelectorAll('#cells .tick')[at].click()", PICKED),
            (_click("#pick-keep"), "document.querySelector('#keep-as').open"),
            (_typed("#keep-text", "Portfolio") + _click("#keep-form .go"), KEPT),
        ),
    ),
    State("person", "/", FACES, ((_click("#people button"), "document.querySelector('#person').open"),)),
    State(
        "memory",
        "/?view=memory",
        "!document.querySelector('#own').hidden && document.querySelector('#own').ariaBusy === 'false'",
        (
            (_typed("#talk-text", "I live in Braga. Before that I lived in Porto.") + SENT, _said(1)),
            (_typed("#talk-text", "Where do I live?") + SENT, _said(2)),
        ),
    ),
)


def main(bundle: Path, sample: Path) -> None:
    binary = find()
    if binary is None:
        raise SystemExit("no Chromium: apt-get install chromium")
    with TemporaryDirectory() as folder, browser(binary) as page:
        made = _album(bundle, sample, Path(folder))
        for state, width in ((one, width) for one in STATES for width in one.widths):
            album = Path(folder, "album.gamer")  # its own for each: what is said and kept is written into it
            shutil.copy(made, album)
            engine = Engine.open(bundle, album)
            with serving(create_app(engine, ServerSettings())) as address:
                data = _picture(page, address, state, width)
            engine.close()
            path = DOCS / f"page-{state.name}-{width}.webp"
            with Image.open(io.BytesIO(data)) as image:
                image.convert("RGB").save(path, "WEBP", quality=QUALITY, method=6)
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def _album(bundle: Path, sample: Path, folder: Path) -> Path:
    """An album of the sample, in which a face is seen three times: in a picture, and in two parts of it."""
    lines = [json.loads(line) for line in sample.read_text(encoding="utf-8").splitlines()]
    shown = next(line for line in lines if line["id"] == SHOWN)
    with Image.open(shown["path"]) as image:
        for n, edges in enumerate(PARTS, 1):
            part = folder / f"{SHOWN}-{n}.png"
            image.convert("RGB").crop(edges).save(part)
            lines.append({"id": part.stem, "path": str(part), "taken_at": f"2026-07-03T15:0{n}:00"})
    (folder / "sample.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    album = folder / "made.gamer"
    command = ["index", "build", folder / "sample.jsonl", "-b", bundle, "-o", album, "--people"]
    subprocess.run([sys.executable, "-m", "gamer", *map(str, command)], check=True)
    return album


def _picture(page: Page, address: str, state: State, width: int) -> bytes:
    page.look(width, HEIGHTS[width])
    page.open(address + state.address, state.ready)
    for act, happened in state.acts:
        page.ask(act)
        page.wait(happened)
    page.ask(f"new Promise((done) => setTimeout(done, {1000 * SETTLED}))")
    path = DOCS / "page.tmp.png"
    try:
        page.picture(path)
        return path.read_bytes()
    finally:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:3]))
