"""The page of a large album in a headless Chromium: how soon it opens, how evenly it scrolls.

The album is made here: many rows over fifteen years, whose pictures are copies of a few. Frames are timed by
the page's own clock (requestAnimationFrame) while the browser turns the mouse wheel.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from PIL import Image

from gamer.index import AlbumMeta, AlbumWriter, Encoded, Photo
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve.app import create_app
from gamer.runtime.serve.live import LiveAlbum
from gamer.runtime.serve.server.settings import ServerSettings

from . import machine
from .chrome import Page, browser, find
from .sample import SampleError
from .serving import serving
from .study.declaration import About, Run, Work
from .tables import Sheet, sheet

PICTURES = 24  # distinct ones
SIZE = (4000, 3000)
FIRST, LAST = 1_293_840_000_000, 1_767_225_599_999  # 2011 to 2025, ms
WINDOW = (1280, 900)
SPEEDS = (800, 2400, 6000)  # pixels a second: reading, looking for something, turning the wheel hard
SECONDS = 6
LATE_MS = 25.0  # a frame that missed at least one of sixty a second
# When the first photos have their places, and when all pictures in view are there.
_OPENING = """
window.seen = {};
const look = () => {
    const cells = [...document.querySelectorAll("#cells .cell")];
    const inView = cells.filter((cell) => cell.getBoundingClientRect().top < innerHeight);
    const drawn = inView.length && inView.every((cell) => cell.querySelector("img.there"));
    if (cells.some((cell) => cell.dataset.row)) seen.photos ??= performance.now();
    if (drawn) seen.pictures ??= performance.now();
    if (seen.pictures === undefined) requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
_TIMING = """
window.frames_ = []; window.most = 0; window.timing = true;
requestAnimationFrame(function tick(now) {
    if (tick.last) frames_.push(now - tick.last);
    tick.last = now;
    most = Math.max(most, document.querySelectorAll("#cells .cell").length);
    if (timing) requestAnimationFrame(tick);
});
"""


@dataclass(frozen=True)
class Settings:
    photos: Annotated[int, About("photos of the made album", least=100, most=200_000, quick=1_000)] = 20_000
    repetitions: Annotated[int, About("how often the page is opened", least=1, quick=2)] = 5


@dataclass(frozen=True)
class Opening:
    """Milliseconds from the start of the navigation. `photos`: until the first are placed; `pictures`: until
    all pictures in view are drawn. `first`: with an empty cache of thumbnails.
    """

    first: bool
    photos: float
    pictures: float


@dataclass(frozen=True)
class Scrolling:
    """Frames while the wheel turns at `speed` pixels a second (0: nothing moves, the clock's own evenness).

    `late`: the share of frames of more than LATE_MS. `busy_ms`: what the page's own thread worked for a
    frame, in the mean; the rest of a long frame is the drawing and what else the machine does. `cells`: the
    most photos that were elements at once.
    """

    speed: int
    frames: int
    p50_ms: float
    p95_ms: float
    late: float
    busy_ms: float
    cells: int


@dataclass(frozen=True)
class PageReport:
    """`load`: how many processes wanted a core in the minute before: above the cores, frames wait for others.

    `pictures`: distinct ones. `window`: width and height in pixels.
    """

    browser: str
    load: float | None
    photos: int
    pictures: int
    window: tuple[int, int]
    openings: tuple[Opening, ...]
    scrolling: tuple[Scrolling, ...]


def measure(run: Run[Settings]) -> PageReport:
    """Makes the album, serves it, and looks at it. Raises SampleError without a browser."""
    binary = find()
    if binary is None:
        raise SampleError("no Chromium found: install chromium, or google-chrome")
    load, photos = machine.load(), run.settings.photos
    models = Models.open(run.bundle, allow_random=True)
    run.tell("making the album, opening and scrolling")
    album = made(run.home, models, photos)
    live = LiveAlbum.of(Engine.over(models, album))
    try:
        app = create_app(live, ServerSettings())
        with serving(app) as address, browser(binary) as page:
            page.look(*WINDOW)
            version = page.call("Browser.getVersion")["product"]
            opened = tuple(_open(page, f"{address}/", first=n == 0) for n in range(run.settings.repetitions))
            scrolled = tuple(_scroll(page, speed) for speed in (0, *SPEEDS))
    finally:
        live.close()
    return PageReport(version, load, photos, PICTURES, WINDOW, opened, scrolled)


def made(folder: Path, models: Models, photos: int) -> Path:
    """An album of `photos` rows, spread evenly over the years; the same for the same number."""
    for number in range(PICTURES):
        _picture(number).save(folder / f"{number}.jpg", quality=88)
    path, manifest = folder / "large.gamer", models.manifest
    meta = AlbumMeta(manifest.text_encoder, manifest.image_encoder, manifest.dim, manifest.thresholds.delta)
    times = np.linspace(FIRST, LAST, photos).astype(np.int64).tolist()
    with AlbumWriter.create(path, meta) as writer:
        for start in range(0, photos, 2000):
            rows = range(start, min(start + 2000, photos))
            writer.add([Encoded(_photo(folder, row, times[row])) for row in rows])
        writer.finish(models.text.encode)
    return path


def _photo(folder: Path, row: int, time_: int) -> Photo:
    return Photo(
        f"IMG_{row:05}.jpg",
        str(folder / f"{row * 31 % PICTURES}.jpg"),
        time_,
        lat=48.2 + row % 97 / 100,
        lon=16.4 + row % 89 / 100,
    )


def _picture(number: int) -> Image.Image:
    """Waves of a colour, as hard to decode as a photograph."""
    width, height = SIZE[0] // 4, SIZE[1] // 4
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    waves = [
        np.sin(x / (60 + 9 * number) + channel) * np.cos(y / (50 + 11 * number % 90)) for channel in range(3)
    ]
    tint = np.array([(number * 37 + channel * 80) % 160 + 48 for channel in range(3)], np.float32)
    small = Image.fromarray((tint + 46 * np.stack(waves, 2)).clip(0, 255).astype(np.uint8))
    return small.resize(SIZE, Image.Resampling.BICUBIC)


def _open(page: Page, address: str, first: bool) -> Opening:
    page.open("about:blank", "location.href === 'about:blank'")
    script = page.call("Page.addScriptToEvaluateOnNewDocument", source=_OPENING)["identifier"]
    page.open(address, "seen.pictures")
    page.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    seen = page.ask("seen")
    return Opening(first, round(seen["photos"], 1), round(seen["pictures"], 1))


def _scroll(page: Page, speed: int) -> Scrolling:
    """From the top, by the wheel, SECONDS long."""
    page.ask("scrollTo(0, 0)")
    time.sleep(1)
    before = _task_seconds(page)
    page.ask(_TIMING)
    if speed:
        page.call(
            "Input.synthesizeScrollGesture",
            x=WINDOW[0] // 3,
            y=WINDOW[1] // 2,
            yDistance=-speed * SECONDS,
            speed=speed,
            gestureSourceType="mouse",
        )
    else:
        time.sleep(SECONDS)
    page.ask("timing = false")
    spent = _task_seconds(page) - before
    frames = np.array(page.ask("frames_"), np.float64)
    p50, p95 = (round(float(np.percentile(frames, share)), 2) for share in (50, 95))
    late = round(float((frames > LATE_MS).mean()), 4)
    busy = round(1000 * spent / len(frames), 2)
    return Scrolling(speed, len(frames), p50, p95, late, busy, page.ask("most"))


def _task_seconds(page: Page) -> float:
    page.call("Performance.enable")
    metrics = page.call("Performance.getMetrics")["metrics"]
    return next(float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")


def tables(result: PageReport) -> list[Sheet | str]:
    columns: dict[str, Callable[[Scrolling], str | int]] = {
        "pixels/s": lambda row: row.speed,
        "frame p50 ms": lambda row: f"{row.p50_ms:.1f}",
        "p95 ms": lambda row: f"{row.p95_ms:.1f}",
        "late": lambda row: f"{row.late:.1%}",
        "page busy ms/frame": lambda row: f"{row.busy_ms:.1f}",
        "photos in the page": lambda row: row.cells,
    }
    opened = (
        f"opened, {'no thumbnail made yet' if one.first else 'again'}: photos after {one.photos:.0f} ms, "
        f"pictures after {one.pictures:.0f} ms"
        for one in result.openings
    )
    title = f"{result.photos} photos, {result.browser}, load {result.load}"
    return [*opened, sheet(title, result.scrolling, columns)]


WORK = Work(Settings, measure, tables)
