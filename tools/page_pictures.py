"""Makes the pictures of the page in docs/: python -m tools.page_pictures BUNDLE ALBUM.

The sample album of quickstart is what they show; a person looks at them before they are committed.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class State:
    """A state of the page: its address, what is true once it is there, and what is clicked then."""

    name: str
    address: str
    ready: str
    click: str = ""
    opened: str = "true"
    widths: tuple[int, ...] = (390, 768, 1280)


ANSWERED = "document.querySelector('.card[data-row] img')?.complete && document.querySelector('#map .place')"
BROWSED = "document.querySelector('#cells img.there') && document.querySelector('.chip')"
SPRING = "/?q=coffee+I+photographed+last+spring&now=2026-11-21"
STATES = (
    State("start", "/", BROWSED),
    State("answer", SPRING, ANSWERED),
    State("german", "/?q=Kaffee+in+Wien&lang=de", ANSWERED, widths=(390,)),
    State(
        "photo",
        SPRING,
        ANSWERED,
        "document.querySelector('.card').click()",
        "document.querySelector('#viewer dl')",
    ),
    State("filter", "/", BROWSED, "document.querySelector('#filter-open').click()", widths=(390,)),
)


def main(bundle: Path, album: Path) -> None:
    binary = find()
    if binary is None:
        raise SystemExit("no Chromium: apt-get install chromium")
    engine = Engine.open(bundle, album)
    with serving(create_app(engine, ServerSettings())) as address, browser(binary) as page:
        for state in STATES:
            for width in state.widths:
                data = _picture(page, address, state, width)
                path = DOCS / f"page-{state.name}-{width}.webp"
                with Image.open(io.BytesIO(data)) as image:
                    image.convert("RGB").save(path, "WEBP", quality=QUALITY, method=6)
                print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    engine.close()


def _picture(page: Page, address: str, state: State, width: int) -> bytes:
    page.look(width, HEIGHTS[width])
    page.open(address + state.address, state.ready)
    if state.click:
        page.ask(state.click)
        page.wait(state.opened)
    page.ask(f"new Promise((done) => setTimeout(done, {1000 * SETTLED}))")
    path = DOCS / "page.tmp.png"
    try:
        page.picture(path)
        return path.read_bytes()
    finally:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:3]))
