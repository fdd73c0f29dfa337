"""The engine: a bundle and an album in, `search(query)` out (paper section 3.2). Knows layers and their order; each layer lives elsewhere.

Ranking: a hit's score is a weighted sum of what the layers know (`Weights`). Cues narrow the candidates; a photo whose time or place is
unknown is never dropped by them. `mode="paper"` is the paper's form: cube, nodes over δ, then v_Q · v_I alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Lock
from time import perf_counter_ns

import numpy as np
from gamer.index import Album, Cube, EntityMatch, FloatArray, RowArray
from numpy.typing import NDArray

from . import refine
from .anchors import AlbumEvents
from .answer import Answer, Hit, Trace
from .cues import Cues, parse, resolve
from .errors import RuntimeFailure
from .gazetteer import Place
from .home import learn_home
from .models import Models

MODES = ("fused", "paper")
CHANNELS = ("text", "image")
EXACT_ROWS = 20_000  # up to here a scan of every photo left costs less than choosing among them
CANDIDATES = 200
NAMES = 500  # the most linked entities that a refinement may choose its context from
MAX_K = 1000
MAX_QUERY = 100_000
UNKNOWN_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Weights:
    """The summands of the fused score. Chosen on the development users of camroll-mpr (README, "Quality"): few enough to read.

    text, image: cosine of the channel. words: BM25, divided by the best of the query. entity: similarity of the best entity node that is
    linked to the photo, over δ. inside: the photo's known fields lie in a cube of the query.
    """

    text: float = 1.0
    image: float = 0.6
    words: float = 0.2
    entity: float = 0.05
    inside: float = 0.1


class Engine:
    """`Engine.open(bundle, album).search("coffee last spring", k=5)`. Readers may call from several threads; the LLM is used one at a time."""

    def __init__(self, models: Models, album: Album, weights: Weights = Weights()) -> None:
        self.models, self.album, self.weights = models, album, weights
        self._llm_lock, self._refinements = Lock(), refine.Refinements()
        self._warmed = self._llm_warm = False
        times = album.times()
        known = times[times != UNKNOWN_TIME]
        self._extent = (int(known.min()), int(known.max())) if len(known) else None
        latitudes = album.positions()[:, 0]
        placed = latitudes[np.isfinite(latitudes)]
        self._southern = bool(len(placed) and np.median(placed) < 0)

    @classmethod
    def open(cls, bundle: Path, album: Path, backend: str = "onnx", threads: int = 2) -> Engine:
        """Opens both read-only. Raises BundleError, AlbumError, or RuntimeFailure when another encoder made the album's vectors."""
        models = Models.open(bundle, backend, threads)
        opened = Album.open(album)
        for ours, theirs in (
            (models.manifest.text_encoder, opened.meta.text_encoder),
            (models.manifest.image_encoder, opened.meta.image_encoder),
        ):
            if ours != theirs:
                opened.close()
                raise RuntimeFailure(f"{album}: its vectors are {theirs}'s, the bundle has {ours}: run `gamer index update {album} -b {bundle}`")
        return cls(models, opened)

    def close(self) -> None:
        self.album.close()

    def search(
        self,
        query: str,
        k: int | None = None,
        *,
        refined_by: str = "fast",
        mode: str = "fused",
        now: datetime | None = None,
        vector: FloatArray | None = None,
    ) -> Answer:
        """The `k` photos (default: the bundle's K) that `query` means, with the trace.

        `now`: the person's wall clock, for "last spring". `vector`: the query's embedding if it was computed already (float32 [D]).
        Raises RuntimeFailure for an empty or absurdly long query, or k outside 1..MAX_K.
        """
        k = self.models.manifest.thresholds.k if k is None else k
        self._check(query, k, refined_by, mode)
        clock = _Clock()
        with clock("load"):
            self._warm(refined_by)
        with clock("cube"):
            # The clock of the wall, without its zone: album times are wall times.
            named = parse(query, now or datetime.now(), self.models.gazetteer, self._extent, self._near, lambda: self._home, self._southern)
            cues = resolve(named, AlbumEvents(self.album, lambda phrase: self.models.text.encode([phrase])[0]))
        with clock("kdtree"):
            cube = self.album.in_cubes(cues.cubes)
            # A cue that fits no photo was misread or mistaken: ranking all beats showing the undated few.
            widened = bool(cues.cubes) and not len(cube.inside)
            rows = np.setdiff1d(np.arange(len(self.album)) if widened else cube.rows, self._negated(cues))
            left = {"album": len(self.album), "cube": len(rows)}
        with clock("refine"):
            text, how = self._refine(query, cues, refined_by)
            encoded = self.models.text.encode([text])[0] if vector is None else vector
        with clock("graph"):
            delta = self.album.meta.delta
            matches = self.album.match_entities(encoded, rows, delta)
            linked = _linked(matches, len(self.album), delta)
            found = int((linked[rows] > 0).sum())
            if mode == "paper" and found:
                rows = rows[linked[rows] > 0]
            left["graph"] = len(rows)
        with clock("vectors"):
            inside = np.zeros(len(self.album), np.float32)
            if cues.cubes:
                inside[cube.inside] = 1.0
            rows, plan = self._candidates(text, encoded, rows, linked)
            parts = self._parts(text, encoded, rows, linked, inside, mode)
            order = _best(parts, k)
            left["vectors"] = len(order)
        hits = self._hits(rows, order, parts, matches)
        spent = dict(clock.milliseconds)
        load = spent.pop("load")
        seen = (_cue_lines(cues), _cube_lines(cues), cues.cubes)
        trace = Trace(query, *seen, text, how, delta, tuple(matches[:8]), left, found, widened, load, spent, plan, mode)
        return Answer(hits, trace)

    def _warm(self, refined_by: str) -> None:
        """Opens what a search needs, once, so that no layer's time holds a file's."""
        if refined_by == "llm" and not self._llm_warm:
            with self._llm_lock:
                _ = (self.models.language_model, self.models.llm_tokenizer)
                self._llm_warm = True
        if self._warmed:
            return
        zero = np.zeros(self.album.meta.dim, np.float32)
        self.models.gazetteer.lookup("")
        self.models.text.encode([""])
        self.album.in_cubes([Cube(start=0)])
        self.album.match_entities(zero, np.zeros(1, np.int64), 2.0)
        self.album.search_text("photo", 1)
        for channel in self.album.channels():
            self.album.scores(channel, zero)
        self._warmed = True

    def _check(self, query: str, k: int, refined_by: str, mode: str) -> None:
        if not query.strip():
            raise RuntimeFailure("the query is empty: say what is in the photo")
        if any("\ud800" <= letter <= "\udfff" for letter in query):
            raise RuntimeFailure("the query is not valid UTF-8: set the terminal's encoding to UTF-8")
        if len(query) > MAX_QUERY:
            raise RuntimeFailure(f"the query has {len(query)} characters; at most {MAX_QUERY} are read")
        if not 1 <= k <= MAX_K:
            raise RuntimeFailure(f"k = {k}: choose 1 to {MAX_K}")
        if refined_by not in refine.MODES:
            raise RuntimeFailure(f"unknown refinement {refined_by!r}; choose one of: {', '.join(refine.MODES)}")
        if mode not in MODES:
            raise RuntimeFailure(f"unknown mode {mode!r}; choose one of: {', '.join(MODES)}")

    @cached_property
    def _home(self) -> Cube | None:
        """Where the album's nights are; learned when a query first says "at home"."""
        return learn_home(self.album.positions(), self.album.times())

    def _near(self, place: Place) -> int:
        positions = self.album.positions()
        lat, lon = positions[:, 0], positions[:, 1]
        within = np.zeros(len(lat), np.bool_)
        for south, north, west, east in place.parts or ((place.south, place.north, place.west, place.east),):
            across = (lon >= west) & (lon <= east) if west <= east else (lon >= west) | (lon <= east)
            within |= (lat >= south) & (lat <= north) & across
        return int(within.sum())

    def _negated(self, cues: Cues) -> RowArray:
        """Rows that lie, by known fields, in what the query excludes ("not in Paris")."""
        boxes = [Cube(start=t.start, end=t.end) for t in cues.negated_times] + [box for p in cues.negated_places for box in p.boxes]
        return self.album.in_cubes(boxes).inside if boxes else np.zeros(0, np.int64)

    def _refine(self, query: str, cues: Cues, refined_by: str) -> tuple[str, str]:
        if refined_by == "off":
            return query, "off"
        plain = refine.fast(cues.rest)
        if refined_by == "fast":
            return plain, "fast"
        with self._llm_lock:
            context = refine.fitting(self.album.entity_names(NAMES), query)
            return refine.by_llm(self.models, query, plain, context, self._refinements, self.album.generation)

    def _candidates(self, text: str, encoded: FloatArray, rows: RowArray, linked: FloatArray) -> tuple[RowArray, str]:
        """The rows to score, and how they were found: all of them, or beyond EXACT_ROWS the best that each layer names.

        The index's planner then chooses between its HNSW graph and a filtered scan, channel by channel.
        """
        channels = [name for name in CHANNELS if name in self.album.channels()]
        if len(rows) <= EXACT_ROWS:
            return rows, f"exact scan of {len(rows)} photos, channels {' + '.join(channels) or 'none'}"
        named = None if len(rows) == len(self.album) else rows
        found = {name: self.album.search_vectors(name, encoded, CANDIDATES, named) for name in channels}
        words = self.album.search_text(text, CANDIDATES, named).rows
        nodes = rows[np.argsort(-linked[rows], kind="stable")[:CANDIDATES]]
        kept = np.unique(np.concatenate([*(r.rows for r in found.values()), words, nodes]))
        plans = ", ".join(f"{name} by {result.plan}" for name, result in found.items())
        return kept, f"{len(kept)} candidates of {len(rows)} photos ({plans}), re-ranked exactly"

    def _parts(self, text: str, encoded: FloatArray, rows: RowArray, linked: FloatArray, inside: FloatArray, mode: str) -> dict[str, FloatArray]:
        """Each summand of the score for each of `rows`, weighted."""
        album, w = self.album, self.weights
        channels: dict[str, FloatArray] = {name: _floor(album.scores(name, encoded, rows)) for name in CHANNELS if name in album.channels()}
        if mode == "paper":
            best = np.max(np.stack(list(channels.values())), axis=0) if channels else np.zeros(len(rows), np.float32)
            return {"cosine": best}
        words = np.zeros(len(album), np.float32)
        found = album.search_text(text, CANDIDATES, rows)
        if len(found.rows):
            words[found.rows] = found.scores / found.scores[0]
        parts: dict[str, FloatArray] = {name: getattr(w, name) * score for name, score in channels.items()}
        parts["words"] = w.words * words[rows]
        parts["entity"] = w.entity * linked[rows]
        parts["inside"] = w.inside * inside[rows]
        return parts

    def _hits(self, rows: RowArray, order: NDArray[np.int64], parts: dict[str, FloatArray], matches: list[EntityMatch]) -> tuple[Hit, ...]:
        hits = []
        for at in order:
            row = int(rows[at])
            photo = self.album.photo(row)
            own = {name: round(float(values[at]), 4) for name, values in parts.items()}
            said = [m.text for m in photo.memories if m.source not in ("label", "place")] or [m.text for m in photo.memories]
            matched = tuple(m.name for m in matches if row in m.photos)[:4]
            hits.append(
                Hit(
                    row,
                    photo.id,
                    photo.path,
                    photo.taken_at,
                    photo.lat,
                    photo.lon,
                    round(sum(own.values()), 4),
                    own,
                    said[0] if said else None,
                    matched,
                )
            )
        return tuple(hits)


class _Clock:
    """Milliseconds by layer."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, layer: str) -> Iterator[None]:
        begin = perf_counter_ns()
        yield
        self.milliseconds[layer] = round((perf_counter_ns() - begin) / 1e6, 3)


def _floor(scores: FloatArray) -> FloatArray:
    """A photo with no vector in a channel gets 0 there: unknown is neither like nor unlike."""
    return np.where(np.isfinite(scores), scores, np.float32(0.0)).astype(np.float32)


def _linked(matches: list[EntityMatch], photos: int, delta: float) -> FloatArray:
    """For each photo, how far its best entity node stands over δ, as a share of what is possible: float32 [photos] in 0..1."""
    out = np.zeros(photos, np.float32)
    for match in matches:
        if match.photos:
            rows = np.asarray(match.photos)
            share = np.float32(max(0.05, (match.similarity - delta) / max(1e-6, 1.0 - delta)))
            out[rows] = np.maximum(out[rows], share)
    return out


def _best(parts: dict[str, FloatArray], k: int) -> NDArray[np.int64]:
    total = np.sum(np.stack(list(parts.values())), axis=0)
    return np.argsort(-total, kind="stable")[:k]


def day(ms: int | None) -> str:
    """ "2011-04-25", or "…" for an open end."""
    if ms is None:
        return "…"
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d")
    except (OverflowError, OSError, ValueError):
        return "…"


def _cue_lines(cues: Cues) -> tuple[str, ...]:
    lines = [f"time {cue.text!r}" for cue in cues.times] + [f"place {cue.text!r} = {cue.name}" for cue in cues.places]
    lines += [f"often {cue.text!r}" for cue in cues.recurring] + [f"event not found {anchor.text!r}" for anchor in cues.anchors]
    return tuple(lines + [f"not {cue.text!r}" for cue in cues.negated])


def _cube_lines(cues: Cues) -> tuple[str, ...]:
    out = []
    for cube in cues.cubes[:4]:
        when = f"{day(cube.start)} to {day(cube.end)}" if cube.has_time else "any time"
        where = f"{cube.south:.2f}…{cube.north:.2f} N, {cube.west:.2f}…{cube.east:.2f} E" if cube.has_place else "anywhere"
        out.append(f"{when}, {where}")
    return tuple(out + ([f"and {len(cues.cubes) - 4} more"] if len(cues.cubes) > 4 else []))
