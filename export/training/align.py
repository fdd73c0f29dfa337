"""`gamer train --align`: what a person's own searches teach: a query adapter, what searches weigh, titles.

The adapter goes on from the general one of the recipe. The searches are split by time: the first three
quarters are learned from, the last quarter is searched before and after, by the whole search. If more is
found, both are written beside the album, and its searches use them from then on. Where a language model is
trained too (writing.py), what it would call the photos enters the album in the same way. Nothing leaves this
machine.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from gamer.index import Album, AlbumWriter, FloatArray
from gamer.index.album.writing import storage
from gamer.index.opened import OpenedLog
from gamer.index.records import TITLE
from gamer.runtime.door.bundle import bundle_of
from gamer.runtime.indexing.captions import WRITTEN
from gamer.runtime.models import query_adapter as files
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import SearchOptions
from gamer.runtime.search.stages.earlier import EarlierSearches

from ..components import components, query_adapter
from ..components.language import Language
from ..errors import ExportError
from ..settings import Settings
from . import queries, sft, update, writing
from .pairs import Search, searches_of

K = 5
WEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.0)  # of earlier searches, in log-odds
CHOSEN_BY = 300  # the latest searches that choose among these


@dataclass(frozen=True)
class Aligned:
    """`learned`, `measured`: searches. `before`, `after`: recall@5 of the later ones, by the whole search.

    `earlier`: the weight of earlier searches. `titled`: photos that got titles.
    """

    path: Path
    learned: int
    measured: int
    before: float
    after: float
    earlier: float
    titled: int
    installed: bool

    def text(self, recipe: str) -> str:
        """For people: recall before and after, and what happens now."""
        lines = [
            f"before: recall@{K} of {self.measured} later searches {self.before:.3f}",
            f"after: {self.after:.3f}, with earlier searches weighing {self.earlier:.0f}"
            + (f" and titles of {self.titled} photos" if self.titled else ""),
        ]
        if self.installed:
            lines.append(
                f"{self.path}: learned from {self.learned} searches; the album's searches use it from now on "
                "(gamer search --no-adapter does not; delete the file to undo it)"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class Titling:
    """That a language model learns to write titles: the rank of its changes, and the folder of its run."""

    rank: int
    out: Path


def align(
    settings: Settings,
    album: Path,
    file: Path | None,
    bundle: Path | None,
    titling: Titling | None,
    epochs: int,
    rate: float,
    seed: int,
    report: Callable[[queries.Epoch], None],
    stage: Callable[[str, int, int], None],
    say: Callable[[str], None],
) -> Aligned:
    """Trains an adapter for `album`, and writes it beside it if the album's later searches find more with it.

    `file`: a JSONL of {"query", "photos"} in order of time, which join what the album keeps of searches, if
    it keeps them; None for what was opened. `bundle`: what searches; None for the album's own. Raises
    AlbumError, RuntimeFailure, and ExportError for too few searches and for an album whose texts another
    encoder has read.
    """
    shape = query_adapter.shape(settings)
    tower = components.build(settings, "text_tower", "fp32").source
    asked = searches_of(album, file)
    with closing(Engine.over(bundle_of(album, bundle).models, album)) as engine:
        if not engine.album.meta.text_encoder.startswith(f"{tower}/"):
            raise ExportError(
                f"{album}: its texts were read by {engine.album.meta.text_encoder}, not by {tower}: train "
                "with the recipe of its bundle"
            )
        library, known = library_of(engine.album, asked)
        learned, later = update.split(known, album)
        reader = queries.Reader(*components.text_reader(settings))
        general = query_adapter.of(settings)
        start = np.zeros(shape, np.float32) if general is None else general
        titler = None if titling is None else _titler(settings, engine.album, learned, titling, seed)
        taught = replace(library, queries=tuple((one.query, rows) for one, rows in learned))
        adapter = queries.train(reader, shape, [taught], epochs, rate, seed, general, report)
        measured, asked_later = Searches(engine, stage), [one for one, _ in later]
        before = measured.recall(asked_later, start, None, "before")
        after = measured.recall(asked_later, adapter, None, "with the adapter")
        if after <= before:  # a phone reads the adapter alone
            adapter, after = start, before
        opened, titled = None, 0
        weight = measured.weight([one for one, _ in learned], adapter) if OpenedLog(album).kept else 0.0
        if weight:
            opened = measured.opened([one for one, _ in learned], weight)
            together = measured.recall(asked_later, adapter, opened, "with earlier searches")
            weight, opened, after = (weight, opened, together) if together > after else (0.0, None, after)
        if titler is not None:
            texts = titler.write(stage, say)
            vectors = {photo: engine.models.text.encode(of) for photo, of in texts.items() if of}
            with with_titles(engine, vectors, titler.out) as other:
                together = Searches(other, stage).recall(asked_later, adapter, opened, "with titles")
            if together > after:
                titled, after = len(vectors), together
    path, better = files.path_beside(album), after > before
    if better:
        made = f"{len(learned)} of the owner's searches"
        header = files.Header(files.FORMAT, tower, shape, made, before, after, weight)
        files.write(path, files.QueryAdapter(header, adapter))
        if file is not None and weight:
            _keep(album, asked)
    if titler is not None and titled:
        _give(album, vectors, titler.memories)
    return Aligned(path, len(learned), len(later), before, after, weight, titled, better)


@dataclass(frozen=True, eq=False)
class _Titler:
    """What learns from searches and writes titles. `memories`: by photo id; `write`: also by photo id."""

    memories: Mapping[str, str]
    out: Path
    write: Callable[[writing.Stage, writing.Say], Mapping[str, tuple[str, ...]]]


def _titler(
    settings: Settings,
    album: Album,
    learned: Sequence[tuple[Search, tuple[int, ...]]],
    titling: Titling,
    seed: int,
) -> _Titler:
    """Refuses all that can be refused, before anything is trained. Raises ExportError."""
    memories = memories_of(album)
    pairs = writing.pairs_of(((one.query, one.photos) for one, _ in learned), memories)
    if not pairs:
        raise ExportError(f"{album.path}: no photo that was opened has a memory to learn titles from")
    told = {"recipe": settings.recipe, "sources": dict(settings.sources), "lora": titling.rank}
    writer = writing.Writer(writing.TITLES, pairs, memories, titling.out, told, seed)
    language = Language.of(settings, titling.rank).to(sft.device())
    return _Titler(
        memories,
        titling.out,
        lambda stage, say: writer.write(language, stage, say),
    )


def _give(album: Path, vectors: Mapping[str, FloatArray], memories: Mapping[str, str]) -> None:
    """Writes the titles, but for photos that went or were told otherwise while they were made."""
    with Album.open(album) as now:
        there = memories_of(now)
    kept = {photo: of for photo, of in vectors.items() if there.get(photo) == memories[photo]}
    with AlbumWriter.extend(album) as writer:
        writer.set_channel(TITLE, kept)


def memories_of(album: Album) -> dict[str, str]:
    """By photo id, what people wrote of it; photos of which nobody wrote are left out."""
    photos = album.photos(range(len(album)))
    written = {photo.id: " ".join(m.text for m in photo.memories if m.source in WRITTEN) for photo in photos}
    return {photo: text for photo, text in written.items() if text}


@contextmanager
def with_titles(engine: Engine, vectors: Mapping[str, FloatArray], folder: Path) -> Iterator[Engine]:
    """An engine over a copy of the album that has these titles; one that a killed run left goes first."""
    place = folder / "training" / "trial"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True, mode=0o700)
    try:
        copy = place / engine.album.path.name
        storage.copy(engine.album.path, copy)
        with AlbumWriter.extend(copy) as writer:
            writer.set_channel(TITLE, vectors)
        with closing(Engine.over(engine.models, copy)) as other:
            yield other
    finally:
        shutil.rmtree(place, ignore_errors=True)


def library_of(
    album: Album, asked: Sequence[Search]
) -> tuple[queries.Library, list[tuple[Search, tuple[int, ...]]]]:
    """The album's vectors, without queries, and the searches with the rows of their photos with a memory."""
    row_of = {photo: row for row, photo in enumerate(album.ids())}
    owners, vectors = album.vectors("text")
    with_memory = set(owners.tolist())
    known = []
    for one in asked:
        there = tuple(photo for photo in one.photos if row_of.get(photo) in with_memory)
        if there:
            known.append((Search(one.query, there), tuple(row_of[photo] for photo in there)))
    return queries.Library(vectors, owners, len(row_of), ()), known


class Searches:
    """Whole searches of an album, and what they find. `now`: the time of them all."""

    def __init__(
        self, engine: Engine, stage: Callable[[str, int, int], None], now: datetime | None = None
    ) -> None:
        self._engine, self._stage, self._now = engine, stage, now

    def opened(self, searches: Sequence[Search], weight: float) -> EarlierSearches:
        pairs = ((one.query, photo) for one in searches for photo in one.photos)
        return EarlierSearches.of(self._engine.album, pairs, weight)

    def weight(self, learned: Sequence[Search], adapter: FloatArray | bool) -> float:
        """The weight by which each search is found best by the others; the least of equal ones.

        0 unless the gain is above its standard error, so that a few searches decide nothing.
        """
        tried = learned[-CHOSEN_BY:]
        shares = np.zeros((len(WEIGHTS), len(tried)))
        for n, one in enumerate(tried):
            others = self.opened([other for other in learned if other.query != one.query], 0.0)
            for at, weight in enumerate(WEIGHTS):
                opened = replace(others, weight=weight) if weight else None
                shares[at, n] = self._share(one, adapter, opened)
            self._stage("what earlier searches weigh", n + 1, len(tried))
        best = int(np.argmax(shares.sum(axis=1).round(6)))
        gains = shares[best] - shares[0]
        return WEIGHTS[best] if gains.sum() > np.sqrt(np.square(gains).sum()) else 0.0

    def recall(
        self,
        searches: Sequence[Search],
        adapter: FloatArray | bool,
        opened: EarlierSearches | None,
        when: str,
    ) -> float:
        shares = []
        for n, one in enumerate(searches):
            shares.append(self._share(one, adapter, opened))
            self._stage(f"later searches, {when}", n + 1, len(searches))
        return float(np.mean(shares))

    def _share(self, one: Search, adapter: FloatArray | bool, opened: EarlierSearches | None) -> float:
        """The share of a search's photos among the first K."""
        options = SearchOptions(adapter=adapter, earlier=opened or False, timed=False)
        hits = self._engine.search(one.query, K, now=self._now, options=options).hits
        return len({hit.id for hit in hits} & set(one.photos)) / min(K, len(set(one.photos)))


def _keep(album: Path, asked: Sequence[Search]) -> None:
    """Adds the searches of a file to those that are kept beside the album; none twice."""
    log = OpenedLog(album)
    there = {(entry.query, entry.photo) for entry in log.read()}
    for one in asked:
        for photo in one.photos:
            if (one.query, photo) not in there:
                log.add(one.query, photo)
