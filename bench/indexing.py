"""How many photos a second are indexed, by format and step, beside twenty lines that decode and encode.

The pictures are made of packaged photographs, enlarged to twelve megapixels, with grain; copies of one file
cost what other files do. The twenty lines decode at reduced scale, resize and run the bundle's own image
encoder, a thread a core; they hash nothing, read no metadata and write no album. With full decoding they do
what the loaders of open_clip and rclip do, but for torch.
"""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
from PIL import Image

import gamer
from gamer.export.components import fixtures
from gamer.index import FloatArray, Size, load_pixels
from gamer.index.ingest import picture
from gamer.runtime.door.bundle import Bundle, Running
from gamer.runtime.door.encoding import Reading, build
from gamer.runtime.indexing.likeness import likeness
from gamer.runtime.indexing.ocr import MAX_SIDE
from gamer.runtime.models.image import prepare

from . import machine
from .study.declaration import About, Run, Tell, Work
from .tables import Sheet, sheet

FORMATS: dict[str, dict[str, Any]] = {
    "jpg": {"quality": 88},
    "png": {"compress_level": 1},
    "webp": {"quality": 80, "method": 0},
    "heic": {"quality": 70, "enc_params": {"preset": "ultrafast"}},
}
DISTINCT = 8  # encoding HEIC takes seconds
SIZE = (4000, 3000)
_MANY = 1_000  # small pictures; fewer are only to see that it runs
GRAIN = 6  # levels up and down


@dataclass(frozen=True)
class Settings:
    photos: Annotated[int, About("pictures of each format", least=DISTINCT, most=10_000, quick=16)] = 160
    formats: Annotated[tuple[str, ...], About("the formats", choices=tuple(FORMATS))] = tuple(FORMATS)
    again: Annotated[int, About("small photos of a folder that is gone over again", least=1, quick=100)] = (
        20_000
    )


@dataclass(frozen=True)
class Format:
    """`indexed`, `plain`, `full`: photos a second by this project, and in the same run by the twenty lines,
    decoding at reduced scale and in full.

    `worst`, `mean`: cosine of a photo's vector with that of the picture decoded in full.
    """

    name: str
    photos: int
    megabytes: float
    indexed: float
    plain: float
    full: float
    worst: float
    mean: float

    @property
    def ratio(self) -> float:
        return self.indexed / self.plain


@dataclass(frozen=True)
class Step:
    """`milliseconds`: of a thread, for a photo, the median over the distinct ones."""

    name: str
    milliseconds: float


@dataclass(frozen=True)
class Again:
    """`first`, `again`: seconds to index a folder of small photos, and to go over it unchanged."""

    photos: int
    first: float
    again: float


@dataclass(frozen=True)
class Indexing:
    """`steps`: of the first format. `beside`: photos a second of it with what is done beside (people, text in
    all pictures), where the bundle has the part. `peak_mb`: of the process, with all of that.
    """

    load: float | None
    size: tuple[int, int]
    formats: tuple[Format, ...]
    steps: tuple[Step, ...]
    beside: dict[str, float]
    peak_mb: int
    again: Again


def measure(run: Run[Settings]) -> Indexing:
    """Raises ExportError without the packages that hold the photographs, and as Bundle does."""
    load, opened = machine.load(), Bundle(run.bundle)
    with tempfile.TemporaryDirectory() as aside:
        rows = [
            _format(opened, Path(aside) / name, name, run.settings.photos, run.tell)
            for name in run.settings.formats
        ]
        first = Path(aside) / run.settings.formats[0]
        steps = _steps(opened, sorted(first.iterdir())[:DISTINCT])
        beside = _beside(opened, first, run.tell)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_000
        again = _again(opened, Path(aside) / "small", run.settings.again, run.tell)
    return Indexing(load, SIZE, tuple(rows), steps, beside, peak, again)


@contextmanager
def _forgetting(folder: Path) -> Iterator[None]:
    """What scans remember is kept in a folder of the study's own."""
    before = os.environ.get("GAMER_CACHE")
    os.environ["GAMER_CACHE"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("GAMER_CACHE")
        os.environ.update({"GAMER_CACHE": before} if before else {})


def _format(bundle: Bundle, folder: Path, name: str, photos: int, tell: Tell) -> Format:
    tell(f"making {photos} pictures: {name}")
    files = made(folder, name, photos)
    tell(f"indexing {photos} pictures: {name}")
    _ = bundle.models.text
    bundle.models.session("image_tower")
    with _forgetting(folder.with_suffix(".cache")):
        begin = time.perf_counter()
        build(folder, folder.with_suffix(".gamer"), bundle, reading=Reading(ocr="off"))
        ours = time.perf_counter() - begin
    tell(f"twenty lines: {name}")
    plain, full = (_twenty_lines(bundle, files, reduced) for reduced in (True, False))
    tell(f"comparing: {name}")
    spec = bundle.manifest.pixels()
    least = Size(spec.least)
    cosines = [_cosine(bundle, file, least) for file in files[:DISTINCT]]
    return Format(
        name=name,
        photos=photos,
        megabytes=round(sum(file.stat().st_size for file in files) / photos / 1e6, 2),
        indexed=round(photos / ours, 1),
        plain=round(photos / plain, 1),
        full=round(photos / full, 1),
        worst=round(min(cosines), 4),
        mean=round(sum(cosines) / len(cosines), 4),
    )


def made(folder: Path, name: str, photos: int) -> list[Path]:
    """Writes so many pictures of SIZE to the folder, upright and across; DISTINCT, and copies of these."""
    import pillow_heif

    pillow_heif.register_heif_opener()
    folder.mkdir(parents=True)
    sources = [Image.open(path).convert("RGB") for path in fixtures.paths()]
    rng = np.random.default_rng(0)
    files = [folder / f"{number:04}.{name}" for number in range(photos)]
    for number, file in enumerate(files):
        if number >= DISTINCT:
            shutil.copy(files[number % DISTINCT], file)
            continue
        large = _detail(sources[number % len(sources)], SIZE if number % 3 else SIZE[::-1], rng)
        large.save(file, "HEIF" if name == "heic" else None, **FORMATS[name])
    return files


def _detail(source: Image.Image, size: tuple[int, int], rng: np.random.Generator) -> Image.Image:
    """A part of a photograph, enlarged, with grain."""
    width, height = (int(side * rng.uniform(0.7, 1)) for side in source.size)
    left, top = int(rng.integers(source.width - width + 1)), int(rng.integers(source.height - height + 1))
    box = (left, top, left + width, top + height)
    large = np.asarray(source.resize(size, Image.Resampling.BICUBIC, box), np.int16)
    grain = rng.integers(-GRAIN, GRAIN + 1, (*large.shape[:2], 1), np.int16)
    return Image.fromarray((large + grain).clip(0, 255).astype(np.uint8))


def _steps(bundle: Bundle, files: Sequence[Path]) -> tuple[Step, ...]:
    models, spec = bundle.models, bundle.manifest.pixels()
    least = Size(spec.least)
    times: dict[str, list[float]] = {}

    def timed(name: str, made: Callable[[], Any]) -> Any:
        begin = time.perf_counter()
        value = made()
        times.setdefault(name, []).append(1e3 * (time.perf_counter() - begin))
        return value

    for file in files:
        timed("hash", partial(picture.sha256, file))
        timed("header", partial(picture.header, file))
        pixels = timed("decode", partial(load_pixels, file, least=least))
        timed("encode", partial(models.encode_image, pixels))
        timed("copies", partial(likeness, pixels))
        if models.has_lines:
            timed("text", partial(models.lines.read, load_pixels(file, least=Size(least.shorter, MAX_SIDE))))
        if models.has_faces:
            timed("people", partial(models.faces.read, pixels))
    return tuple(Step(name, round(median(all_of_it), 2)) for name, all_of_it in times.items())


def _beside(bundle: Bundle, folder: Path, tell: Tell) -> dict[str, float]:
    parts = {"text": bundle.models.has_lines, "people": bundle.models.has_faces}
    found = {}
    for name in (name for name, has in parts.items() if has):
        tell(f"indexing again, with {name}")
        reading, album = Reading(ocr="all" if name == "text" else "off"), folder.with_name(f"{name}.gamer")
        with _forgetting(album.with_suffix(".cache")):
            begin = time.perf_counter()
            built = build(folder, album, bundle, reading=reading, people=name == "people")
            found[name] = round(built.photos / (time.perf_counter() - begin), 1)
    return found


def _again(bundle: Bundle, folder: Path, photos: int, tell: Tell) -> Again:
    tell(f"making {photos} small pictures")
    folder.mkdir()
    shades = np.random.default_rng(0).integers(0, 256, (photos, 6, 8, 3), np.uint8)
    for number, shade in enumerate(shades):
        Image.fromarray(shade).resize((320, 240)).save(folder / f"{number:06}.jpg")
    if photos >= _MANY:
        tell("waiting until the pictures are a minute old: younger ones are read again")
        time.sleep(61)
    tell(f"indexing {photos} small pictures, and going over them again")
    album, reading = folder.with_suffix(".gamer"), Reading(ocr="off")
    with _forgetting(folder.with_suffix(".cache")):
        times = [time.perf_counter()]
        build(folder, album, bundle, reading=reading)
        times.append(time.perf_counter())
        with gamer.open(album, bundle) as built:
            built.add(folder, reading=reading)
        times.append(time.perf_counter())
    return Again(photos, *(round(end - begin, 1) for begin, end in pairwise(times)))


def _twenty_lines(bundle: Bundle, files: Sequence[Path], reduced: bool) -> float:
    """Seconds."""
    single = Bundle(bundle.path, Running(threads=1))
    spec, tower = single.manifest.pixels(), single.models.session("image_tower")
    given = tower.artifact.inputs[0].name

    def encode(file: Path) -> FloatArray:
        with Image.open(file) as image:
            if reduced:
                image.draft("RGB", (2 * spec.resize, 2 * spec.resize))
            pixels = np.asarray(image.convert("RGB"))
        return tower.run({given: prepare(pixels, spec)})["embedding"].astype(np.float32)

    encode(files[0])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        begin = time.perf_counter()
        list(pool.map(encode, files))
        return time.perf_counter() - begin


def _cosine(bundle: Bundle, file: Path, least: Size) -> float:
    reduced, full = (bundle.models.encode_image(load_pixels(file, least=size)) for size in (least, None))
    return float(reduced.embedding @ full.embedding)


def tables(result: Indexing) -> list[Sheet | str]:
    columns: dict[str, Callable[[Format], str | float]] = {
        "format": lambda row: row.name,
        "MB": lambda row: row.megabytes,
        "photos/s": lambda row: row.indexed,
        "twenty lines": lambda row: row.plain,
        "full decoding": lambda row: row.full,
        "ratio": lambda row: f"{row.ratio:.2f}",
        "cosine with full decoding": lambda row: f"≥ {row.worst:.4f}",
        "mean": lambda row: f"{row.mean:.4f}",
    }
    width, height = result.size
    by_step: dict[str, Callable[[Step], str | float]] = {
        "step": lambda row: row.name,
        "ms a photo": lambda row: row.milliseconds,
    }
    first = result.formats[0]
    beside = "".join(f", with {name} {rate}" for name, rate in result.beside.items())
    return [
        sheet(f"{width} × {height} pixels, load {result.load}", result.formats, columns),
        sheet(f"{first.name}, one thread", result.steps, by_step),
        f"{result.again.photos} small photos: {result.again.first} s, unchanged {result.again.again} s",
        f"photos a second of {first.name}: {first.indexed}{beside}; at most {result.peak_mb} MB of memory",
    ]


WORK = Work(Settings, measure, tables)
