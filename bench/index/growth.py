"""How an album grows: file size, opening, searching and adding at 10³ … 10⁶ synthetic photos.

Also compared is the K-D tree with a numpy mask. A synthetic photo has memories of common and rare words,
entities, a text vector of the encoder's dimension around a topic, a place around a city, and a time in 2005 …
2024. A search is Engine.search without the LLM, once with the query's vector given and once with the bundle's
text encoder included.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, TypeVar

import numpy as np

from gamer.index import (
    Album,
    AlbumMeta,
    AlbumWriter,
    Box,
    Encoded,
    FloatArray,
    KDTree,
    Memory,
    Mention,
    Photo,
    RowArray,
)
from gamer.index.space.kdtree import Int64Array
from gamer.index.space.kdtree import build as build_tree
from gamer.runtime.models.models import Models
from gamer.runtime.search.answer import LAYERS
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import SearchOptions

from .. import machine
from ..files import write_atomically
from ..report import plots, result_plots
from ..study.declaration import About, Run, Work
from ..tables import Sheet, sheet
from .ann import unit

T = TypeVar("T")
_DELTA = 0.6
_BATCH = 2000
_START, _YEARS = 1_104_537_600_000, 20  # milliseconds; 2005 … 2024
_CITIES = (
    (48.85, 2.35),
    (52.52, 13.4),
    (41.9, 12.5),
    (35.68, 139.69),
    (40.71, -74.0),
    (-33.87, 151.2),
    (51.5, -0.12),
    (37.77, -122.4),
)
_LINE = (
    "beach dog cake train castle garden bridge market snow concert picnic museum kitchen boat forest "
    "birthday wedding lake football cat tower piano breakfast sunset campfire airport statue bicycle "
    "pumpkin lantern violin harbour glacier orchard lighthouse parade sculpture waterfall canyon kite"
)
_NOUNS = _LINE.split()
_WORDS = 20_000
_NOW = datetime(2025, 3, 1)
QUERIES = (
    "the dog on the beach",
    "birthday cake in the garden",
    "the castle we saw last summer",
    "concert in Berlin",
    "snow in 2015",
    "my cat in the kitchen",
    "market in Paris in spring 2019",
    "the violin",
    "sunset over the harbour in Sydney",
    "train in Tokyo last year",
    "pumpkin and lantern in October",
    "wedding",
    "breakfast in Rome",
    "the glacier not in 2012",
    "football in London",
    "kite at the lighthouse",
)


@dataclass(frozen=True)
class Settings:
    photos: Annotated[tuple[int, ...], About("sizes of the albums", least=100, quick=(1_000,))] = (
        1_000,
        10_000,
        100_000,
    )
    repetitions: Annotated[int, About("counted passes over the queries", least=1, quick=2)] = 10
    svg: Annotated[Path | None, About("draw the curves into this file")] = None


@dataclass(frozen=True)
class Layer:
    name: str
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True)
class Size:
    """One album. Times in milliseconds, except `build_s`.

    `search`: with the query's vector given; `search_encoding`: with the text encoder included. `parts_bytes`:
    the payload of rows and segments, of which `vector_bytes` are vectors and graph. `tree_ms`, `mask_ms`:
    medians of box queries. `build_s`: None if the album existed before.
    """

    photos: int
    build_s: float | None
    file_bytes: int
    parts_bytes: int
    vector_bytes: int
    album_open_ms: float
    engine_open_ms: float
    first_search_ms: float
    search: Layer
    search_encoding: Layer
    layers: tuple[Layer, ...]
    writer_open_ms: float
    add_one: Layer
    tree_ms: float
    mask_ms: float


@dataclass(frozen=True)
class Growth:
    bundle: str
    dim: int
    queries: tuple[str, ...]
    sizes: tuple[Size, ...]
    peak_rss_mb: float


def measure(run: Run[Settings]) -> Growth:
    """The run's home keeps the albums. An existing album is measured as it is; photos that a measurement adds
    are removed again.
    """
    models, what = run.models, run.settings
    dim = int(models.text.encode(["dimensions"]).shape[1])
    vectors = models.text.encode(QUERIES)
    sizes = tuple(
        _size(models, count, dim, vectors, run.home, what.repetitions, run.tell)
        for count in sorted(set(what.photos))
    )
    growth = Growth(run.bundle.name, dim, QUERIES, sizes, machine.peak_rss_mb())
    if what.svg:
        write_atomically(what.svg, plots.alone(result_plots.growth(asdict(growth))))
    return growth


def _size(
    models: Models,
    count: int,
    dim: int,
    vectors: FloatArray,
    folder: Path,
    passes: int,
    progress: Callable[[str], None],
) -> Size:
    path, build_s = folder / f"synthetic-{count}.gamer", None
    if not path.is_file():
        begin = time.perf_counter()
        build(path, models, count, dim, progress)
        build_s = round(time.perf_counter() - begin, 1)
    progress(f"{count} photos: searching")
    open_ms = [_timed(lambda: Album.open(path).close()) for _ in range(5)]
    album = Album.open(path)
    engine_ms, engine = _timed_value(lambda: Engine(models, album))
    first_ms = _timed(lambda: engine.search(QUERIES[0], now=_NOW, options=SearchOptions(vector=vectors[0])))
    engine.search(QUERIES[0], now=_NOW)
    album.load_graphs(wait=True)
    search_ms, layers = _searches(engine, vectors, passes)
    encoding_ms, _ = _searches(engine, None, passes)
    stats = album.stats()
    segment_bytes = sum(s.bytes for s in stats.segments)
    text_bytes = sum(c.bytes for c in stats.channels)
    fine_bytes = stats.photos * (8 + -(-dim // 4))
    graph_bytes = sum(s.bytes for s in stats.segments if s.name.startswith("hnsw"))
    parts_bytes = (
        segment_bytes
        + text_bytes
        + fine_bytes
        + stats.memory_bytes
        + stats.entity_bytes
        + 16 * (stats.mentions + stats.edges)
        + 64 * stats.photos
    )
    tree_ms, mask_ms = _boxes(album)
    engine.close()
    progress(f"{count} photos: adding")
    writer_ms, add_ms = _additions(path, dim, min(passes * 4, 40))
    return Size(
        photos=count,
        build_s=build_s,
        file_bytes=stats.file_bytes,
        parts_bytes=parts_bytes,
        vector_bytes=text_bytes + fine_bytes + graph_bytes,
        album_open_ms=float(np.median(open_ms)),
        engine_open_ms=engine_ms,
        first_search_ms=first_ms,
        search=_layer("search", search_ms),
        search_encoding=_layer("search with encoder", encoding_ms),
        layers=tuple(_layer(name, values) for name, values in layers.items()),
        writer_open_ms=writer_ms,
        add_one=_layer("add", add_ms),
        tree_ms=tree_ms,
        mask_ms=mask_ms,
    )


def build(path: Path, models: Models, count: int, dim: int, progress: Callable[[str], None]) -> None:
    meta = AlbumMeta(models.manifest.text_encoder, models.manifest.image_encoder, dim, _DELTA)
    with AlbumWriter.create(path, meta) as writer:
        rng = np.random.default_rng(count)
        topics = unit(rng.standard_normal((max(20, int(count**0.5)), dim), np.float32))
        for start in range(0, count, _BATCH):
            progress(f"{count} photos: {start} written")
            writer.add(list(photos(rng, topics, start, min(_BATCH, count - start), count)))
        progress(f"{count} photos: segments")
        writer.finish(
            lambda names: unit(
                np.random.default_rng(len(names)).standard_normal((len(names), dim), np.float32)
            )
        )


def photos(
    rng: np.random.Generator, topics: FloatArray, start: int, count: int, total: int
) -> Iterator[Encoded]:
    """Yields `count` photos with numbers from `start`, for an album of `total`.

    Words and entities follow Zipf's law shifted by twenty ranks: the commonest word is in two memories of a
    hundred. One photo in ten has no time, and one in five no place.
    """
    word_ranks, name_ranks = _ranks(rng, (count, 3), _WORDS), _ranks(rng, (count, 2), total // 20 + 40)
    vectors = unit(
        topics[rng.integers(0, len(topics), count)]
        + np.float32(0.7) * unit(rng.standard_normal((count, topics.shape[1]), np.float32))
    )
    for at in range(count):
        words = [_NOUNS[rank] if rank < len(_NOUNS) else f"thing{rank}" for rank in word_ranks[at].tolist()]
        names = [f"{_NOUNS[rank % len(_NOUNS)]} {rank}" for rank in name_ranks[at].tolist()]
        lat, lon = _CITIES[int(rng.integers(0, len(_CITIES)))]
        placed, dated = rng.random() > 0.2, rng.random() > 0.1
        photo = Photo(
            id=f"photo-{start + at}.jpg",
            path=f"/photos/photo-{start + at}.jpg",
            taken_at=_START + int(rng.integers(0, _YEARS * 31_557_600_000)) if dated else None,
            tz_source="local",
            lat=lat + float(rng.normal(0, 0.1)) if placed else None,
            lon=lon + float(rng.normal(0, 0.1)) if placed else None,
            memories=(
                Memory(
                    "caption", f"The {words[0]} and a {words[1]} near the {words[2]}, number {start + at}"
                ),
            ),
        )
        yield Encoded(
            photo,
            {"text": vectors[at : at + 1]},
            tuple(Mention(name, "thing") for name in dict.fromkeys(names)),
        )


def _ranks(rng: np.random.Generator, shape: tuple[int, int], limit: int) -> RowArray:
    """Random integers in 0..limit-1, with a probability proportional to 1 / (rank + 20)."""
    return np.asarray(np.minimum(20 * ((limit + 20) / 20) ** rng.random(shape) - 20, limit - 1), np.int64)


def _searches(
    engine: Engine, vectors: FloatArray | None, passes: int
) -> tuple[list[float], dict[str, list[float]]]:
    total_ms: list[float] = []
    layers: dict[str, list[float]] = {name: [] for name in LAYERS}
    for turn in range(passes + 1):
        for at, query in enumerate(QUERIES):
            begin = time.perf_counter()
            answer = engine.search(
                query, now=_NOW, options=SearchOptions(vector=None if vectors is None else vectors[at])
            )
            if turn:  # the first turn fills caches
                total_ms.append((time.perf_counter() - begin) * 1e3)
                for name, value in answer.trace.milliseconds.items():
                    layers[name].append(value)
    return total_ms, layers


def _additions(path: Path, dim: int, times: int) -> tuple[float, list[float]]:
    """Milliseconds to open a writer, and to add one photo in a durable transaction, `times` times.

    The photos are removed afterwards, so that the album keeps the size in its name.
    """
    rng = np.random.default_rng(1)
    topics = unit(rng.standard_normal((20, dim), np.float32))
    items = [list(photos(rng, topics, 10**9 + at, 1, 1000)) for at in range(times)]
    open_ms, writer = _timed_value(lambda: AlbumWriter.extend(path))
    with writer:
        add_ms = [_timed(lambda one=item: writer.add(one)) for item in items]  # type: ignore[misc]
        writer.remove([item[0].photo.id for item in items])
    return open_ms, add_ms


def _boxes(album: Album) -> tuple[float, float]:
    """Median milliseconds of city-and-month box queries: by the tree, and by a numpy mask over columns."""
    points = np.stack(
        [*(np.nan_to_num(album.positions() * 1e7, nan=-(2.0**63)).astype(np.int64).T), album.times()], axis=1
    )
    tree, rng = build_tree(points), np.random.default_rng(3)
    boxes = []
    for _ in range(40):
        lat, lon = _CITIES[int(rng.integers(0, len(_CITIES)))]
        begin = _START + int(rng.integers(0, _YEARS * 31_557_600_000))
        low = (int((lat - 0.1) * 1e7), int((lon - 0.1) * 1e7), begin)
        boxes.append(Box(low, (low[0] + 2_000_000, low[1] + 2_000_000, begin + 30 * 86_400_000)))
    return _median(_tree_run(tree), boxes), _median(_mask_run(np.ascontiguousarray(points.T)), boxes)


def _median(run: Callable[[Box], Int64Array], boxes: Sequence[Box]) -> float:
    return float(np.median([_timed(lambda b=box: run(b)) for box in boxes]))  # type: ignore[misc]


def _tree_run(tree: KDTree) -> Callable[[Box], Int64Array]:
    return lambda box: tree.range([box])


def _mask_run(columns: Int64Array) -> Callable[[Box], Int64Array]:
    def run(box: Box) -> Int64Array:
        inside = np.ones(columns.shape[1], np.bool_)
        for axis in range(3):
            inside &= (columns[axis] >= box.low[axis]) & (columns[axis] <= box.high[axis])
        return np.flatnonzero(inside)

    return run


def _layer(name: str, values: Sequence[float]) -> Layer:
    p50, p95 = np.percentile(values, (50, 95)) if len(values) else (0.0, 0.0)
    return Layer(name, round(float(p50), 3), round(float(p95), 3))


def _timed(run: Callable[[], object]) -> float:
    return _timed_value(run)[0]


def _timed_value(run: Callable[[], T]) -> tuple[float, T]:
    begin = time.perf_counter()
    value = run()
    return round((time.perf_counter() - begin) * 1e3, 3), value


def tables(result: Growth) -> list[Sheet | str]:
    columns: dict[str, Callable[[Size], str | int]] = {
        "photos": lambda size: size.photos,
        "search p95": lambda size: f"{size.search.p95_ms:.2f}",
        "with encoder p95": lambda size: f"{size.search_encoding.p95_ms:.2f}",
        "open": lambda size: f"{size.album_open_ms:.2f}",
        "first search": lambda size: f"{size.first_search_ms:.2f}",
        "add p95": lambda size: f"{size.add_one.p95_ms:.2f}",
        "tree": lambda size: f"{size.tree_ms:.2f}",
        "mask": lambda size: f"{size.mask_ms:.2f}",
        "vectors B/photo": lambda size: f"{size.vector_bytes / size.photos:.0f}",
        "file / parts": lambda size: f"{size.file_bytes / size.parts_bytes:.2f}",
    }
    return [sheet("milliseconds", result.sizes, columns)]


WORK = Work(Settings, measure, tables)
