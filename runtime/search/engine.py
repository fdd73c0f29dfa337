"""The engine: a bundle and an album in, `search(query)` out (paper section 3.2). Knows layers and their
order; each layer lives elsewhere.

`mode="fused"`, the default, ranks by all that the layers know (ranking.py): a cue is evidence there, and only
a "not" removes a photo. `mode="paper"` is the paper's form: cube, nodes over δ, then v_Q · v_I alone; a photo
whose time or place is unknown stays in the cube.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path
from threading import Lock
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from gamer.index import Album, Cube, EntityMatch, FloatArray, RowArray, RowSet, distinct, greatest, top
from gamer.index.album.lexical import WordScores

from ..bundle.gazetteer import Place
from ..bundle.manifest import Ranking
from ..cues.anchors import AlbumEvents
from ..cues.dates import TimeContext
from ..cues.home import learn_home
from ..cues.parse import Cues, parse, resolve, with_quotes
from ..cues.recurring import into_day, into_week
from ..cues.times import merged
from ..errors import RuntimeFailure
from ..models.models import Models
from . import ranking, refine
from .answer import MODES, REFINEMENTS, Answer, Hit, Trace
from .explain import cube_lines, cue_lines

CHANNELS = ("text", "image")
EXACT_ROWS = 20_000  # up to here a scan of every photo left costs less than choosing among them
# of each layer; on the development users 60, 100 and 200 find the same as ranking everything does, to 0.0002
# of recall@5
CANDIDATES = 100
PREFERRED = 50  # hits among which a person's preferences may change the order
# Words that may say when or where though the rules read nothing: worth half a second of the language model.
HINT = re.compile(
    r"\b(?:when|while|during|ago|since|until|before|after|back then|that (?:day|night|week|summer|winter|year))\b|\b(?:in|at|near|from) [A-Z]"
)
PHRASING, PHRASED = (
    "This photo shows {}.",
    1 / 3,
)  # a title reads unlike a memory; a sentence about it stands nearer, and both count
NAMES = 500  # the most linked entities that a refinement may choose its context from
MAX_K = 1000
MAX_QUERY = 100_000
UNKNOWN_TIME = np.iinfo(np.int64).min

# Told of every fused search: the rows that are ranked, and what the layers know of each, unweighted. For
# fitting and for ablations.
Watch = Callable[[RowArray, dict[str, FloatArray]], None]


class Engine:
    """`Engine.open(bundle, album).search("coffee last spring", k=5)`.

    Readers may call from several threads; the LLM is used one at a time.
    """

    def __init__(self, models: Models, album: Album, ranking: Ranking | None = None) -> None:
        self.models, self.album = models, album
        self.ranking = ranking or models.manifest.ranking or Ranking()
        self.watch: Watch | None = None
        self.without: frozenset[str] = (
            frozenset()
        )  # for ablations: "cube" (no cue is read), "vectors" (mode paper ranks by entity nodes alone)
        self._llm_lock, self._warm_lock, self._refinements = Lock(), Lock(), refine.Refinements()
        self._warmed = self._llm_warm = False
        times = album.times()
        self._dated = times != UNKNOWN_TIME
        known = times[self._dated]
        self._extent = (int(known.min()), int(known.max())) if len(known) else None
        latitudes = album.positions()[:, 0]
        self._placed = np.isfinite(latitudes)
        placed = latitudes[self._placed]
        self._southern = bool(
            len(placed) and np.count_nonzero(placed < 0) * 2 > len(placed)
        )  # np.median would load numpy.ma

    @classmethod
    def open(
        cls,
        bundle: Path,
        album: Path,
        backend: str = "onnx",
        threads: int = 2,
        max_memory: int | None = None,
        allow_random: bool = False,
    ) -> Engine:
        """Opens both read-only. `max_memory`: bytes of models held at once, `allow_random`: see models.py.

        Raises BundleError, AlbumError, or RuntimeFailure when another encoder made the album's vectors.
        """
        return cls.over(Models.open(bundle, backend, threads, max_memory, allow_random), album)

    @classmethod
    def over(cls, models: Models, album: Path) -> Engine:
        """The engine of models that are open already. Raises as `open` does."""
        opened = Album.open(album)
        for ours, theirs in (
            (models.manifest.text_encoder, opened.meta.text_encoder),
            (models.manifest.image_encoder, opened.meta.image_encoder),
        ):
            if ours != theirs:
                opened.close()
                raise RuntimeFailure(
                    f"{album}: made by {theirs}, the bundle has {ours}: run `gamer index update {album} -b {models.bundle}`"
                )
        try:
            return cls(models, opened)
        except BaseException:
            opened.close()
            raise

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

        `now`: the person's wall clock, for "last spring". `vector`: the query's embedding if it was computed
        already (float32 [D]). Raises RuntimeFailure for an empty or absurdly long query, or k outside
        1..MAX_K.
        """
        k = self.models.manifest.thresholds.k if k is None else k
        self._check(query, k, refined_by, mode)
        clock = _Clock()
        with clock("load"):
            self._warm(refined_by)
        with clock("cube"):
            # The clock of the wall, without its zone: album times are wall times.
            wall = now or datetime.now()
            named = self._parsed(query, wall)
            if (
                refined_by == "llm"
                and HINT.search(query)
                and not (named.times or named.places or named.negated or named.anchors)
            ):
                named = self._quoted(query, named, wall)
            cues = resolve(
                named, AlbumEvents(self.album, lambda phrase: self.models.text.encode([phrase])[0])
            )
        with clock("kdtree"):
            cube = self.album.in_cubes(cues.cubes)
            # A cue that fits no photo was misread or mistaken: ranking all beats showing the undated few.
            widened = bool(cues.cubes) and not len(cube.within)
            every, negated = self.album.in_cubes([]).found, self._negated(cues)
            photos, inside = (some.without(negated) for some in (every, every if widened else cube.found))
            left = {"album": len(self.album), "cube": len(inside)}
        with clock("refine"):
            text, how = self._refine(query, cues, refined_by)
            plain, phrased = (vector, vector) if vector is not None else self._encode(text)
        with clock("graph"):
            delta = self.album.meta.delta
            matches = self.album.match_entities(plain, inside, delta)
            linked = _linked(matches, len(self.album), delta)
            reached = inside.keep(np.flatnonzero(linked > 0))
            narrowed = mode == "paper" and reached.size > 0
            left["graph"] = len(reached) if narrowed else len(inside)
        with clock("vectors"):
            if mode == "paper":
                rows = reached if narrowed else inside.rows
                plan = f"exact scan of {len(rows)} photos"
                features = (
                    {"entity": linked[rows]} if "vectors" in self.without else self._cosines(plain, rows)
                )
                parts = {"cosine": np.max([np.zeros(len(rows), np.float32), *features.values()], axis=0)}
            else:
                words = self.album.words(text)
                rows, plan = self._candidates(words, phrased, inside, photos, linked)
                clues = self._clues(cues)
                features = self._features(words, phrased, rows, linked, clues)
                if self.watch:
                    self.watch(rows, features)
                parts = ranking.weighted(features, self.ranking)
                if clues and refine.says_nothing(text):
                    parts = ranking.by_cues(parts)
            order = self._order(parts, rows, k)
            left["vectors"] = len(order)
        presence = self._presence(features, order)
        hits = self._hits(rows, order, parts, matches, presence)
        spent = dict(clock.milliseconds)
        load = spent.pop("load")
        seen = (cue_lines(cues), cube_lines(cues), cues.cubes)
        trace = Trace(
            query,
            *seen,
            text,
            how,
            delta,
            tuple(matches[:8]),
            left,
            len(reached),
            widened,
            load,
            spent,
            plan,
            mode,
            self.models.describe(),
        )
        return Answer(hits, trace, round(presence, 4))

    def _warm(self, refined_by: str) -> None:
        """Opens what a search needs, once, so that no layer's time holds a file's."""
        if refined_by == "llm" and not self._llm_warm:
            with self._llm_lock:
                _ = (self.models.language_model, self.models.llm_tokenizer)
                self._llm_warm = True
        with self._warm_lock:
            if not self._warmed:
                self._open_all()
                self._warmed = True

    def _open_all(self) -> None:
        zero = np.zeros(self.album.meta.dim, np.float32)
        self.models.gazetteer.lookup("")
        self.models.text.encode([""])
        self.album.in_cubes([Cube(start=0, south=0.0, west=0.0)])
        self.album.match_entities(zero, np.zeros(1, np.int64), 2.0)
        self.album.words("photo")
        _ = self._conversations
        for channel in self.album.channels():
            self.album.scores(channel, zero)

    def _check(self, query: str, k: int, refined_by: str, mode: str) -> None:
        if not query.strip():
            raise RuntimeFailure("the query is empty: say what is in the photo")
        if any("\ud800" <= letter <= "\udfff" for letter in query):
            raise RuntimeFailure("the query is not valid UTF-8: set the terminal's encoding to UTF-8")
        if len(query) > MAX_QUERY:
            raise RuntimeFailure(f"the query has {len(query)} characters: give at most {MAX_QUERY}")
        if not 1 <= k <= MAX_K:
            raise RuntimeFailure(f"k = {k}: choose 1 to {MAX_K}")
        if refined_by not in REFINEMENTS:
            raise RuntimeFailure(
                f"unknown refinement {refined_by!r}; choose one of: {', '.join(REFINEMENTS)}"
            )
        if mode not in MODES:
            raise RuntimeFailure(f"unknown mode {mode!r}; choose one of: {', '.join(MODES)}")

    @cached_property
    def _home(self) -> Cube | None:
        """Where the album's nights are; learned when a query first says "at home"."""
        return learn_home(self.album.positions(), self.album.times())

    def _near(self, place: Place) -> int:
        """How many photos lie there."""
        parts = place.parts or ((place.south, place.north, place.west, place.east),)
        return len(
            self.album.within(
                [Cube(south=south, north=north, west=west, east=east) for south, north, west, east in parts]
            )
        )

    def _parsed(self, query: str, wall: datetime) -> Cues:
        if "cube" in self.without:
            return Cues(rest=query, query=query)
        return parse(
            query, wall, self.models.gazetteer, self._extent, self._near, lambda: self._home, self._southern
        )

    def _negated(self, cues: Cues) -> RowSet:
        """Rows that lie, by known fields, in what the query excludes ("not in Paris")."""
        boxes = [Cube(start=t.start, end=t.end) for t in cues.negated_times] + [
            box for p in cues.negated_places for box in p.boxes
        ]
        return self.album.within(boxes)

    def _quoted(self, query: str, cues: Cues, now: datetime) -> Cues:
        """The cues that the language model quotes from the query, where the rules saw none."""
        from ..cues.quoted import cues_by_llm

        if "cues" not in self.models.manifest.prompts:
            return cues
        with self._llm_lock:
            said = cues_by_llm(self.models, query)
        context = TimeContext(now, self._extent, self._southern)
        return (
            with_quotes(cues, said.time, said.place, context, self.models.gazetteer, self._near)
            if said
            else cues
        )

    @cached_property
    def _names(self) -> list[str]:
        """The album's most linked entities."""
        return self.album.entity_names(NAMES)

    def _refine(self, query: str, cues: Cues, refined_by: str) -> tuple[str, str]:
        if refined_by == "off":
            return query, "off"
        plain = refine.fast(cues.rest)
        if refined_by == "fast":
            return plain, "fast"
        with self._llm_lock:
            context = refine.fitting(self._names, query)
            return refine.by_llm(self.models, query, plain, context, self._refinements, self.album.generation)

    def _encode(self, text: str) -> tuple[FloatArray, FloatArray]:
        """The query's vector, and its blend with the vector of a sentence about it: float32 [D] each."""
        plain, sentence = self.models.text.encode([text, PHRASING.format(text.rstrip(" .?!"))])
        return plain, np.asarray((1 - PHRASED) * plain + PHRASED * sentence, np.float32)

    @cached_property
    def _conversations(self) -> ranking.Conversations:
        return ranking.Conversations(self.album.times(), self.album.conversations)

    @cached_property
    def _into_week(self) -> NDArray[np.int32]:
        return np.asarray(into_week(self.album.times()), np.int32)

    @cached_property
    def _into_day(self) -> NDArray[np.int32]:
        return np.asarray(into_day(self.album.times()), np.int32)

    def _clues(self, cues: Cues) -> list[ranking.Clue]:
        """What the query says of when and where, asked of the album: time and place apart, so that one that
        is unknown or wrong spares the other.
        """
        dated, out = self._dated, []
        if cues.times:
            boxes = [Cube(start=start, end=end) for start, end in merged(cues.times)]
            out.append(
                ranking.Clue(dated, self.album.within(boxes).mask, max(cue.confidence for cue in cues.times))
            )
        if places := [place for place in cues.places if place.photos != 0]:
            boxes = [box for place in places for box in place.boxes]
            out.append(
                ranking.Clue(self._placed, self.album.within(boxes).mask, max(p.confidence for p in places))
            )
        for cue in cues.recurring:
            fits = np.asarray(cue.fits(self._into_week if cue.weekdays else self._into_day))
            out.append(ranking.Clue(dated, fits & dated, cue.confidence))
        # A cue that fits no photo was misread or mistaken: it would only favour the photos without a date.
        return [clue for clue in out if clue.inside.any()]

    def _candidates(
        self, words: WordScores, vector: FloatArray, cube: RowSet, photos: RowSet, linked: FloatArray
    ) -> tuple[RowArray, str]:
        """The rows to score, and how they were found: all of `photos`, or beyond EXACT_ROWS the best that
        each layer names, in the cube and outside.

        The index's planner then chooses between its HNSW graph and a filtered scan, channel by channel.
        """
        channels = [name for name in CHANNELS if name in self.album.channels()]
        if len(photos) <= EXACT_ROWS:
            return (
                photos.rows,
                f"exact scan of {len(photos)} photos, channels {' + '.join(channels) or 'none'}",
            )
        found = {
            name: self.album.search_vectors(name, vector, CANDIDATES, None if photos.whole else photos.rows)
            for name in channels
        }
        named = [result.rows for result in found.values()]
        if len(cube) < len(photos):
            named += [
                self.album.search_vectors(name, vector, CANDIDATES, cube.rows).rows for name in channels
            ]
        for scores in (words.bm25, linked):
            positive = np.flatnonzero(scores > 0)
            named += [_greatest(scores, among.keep(positive)) for among in (photos, cube)]
        kept = photos.keep(distinct(np.concatenate([*named, *self._beside(named)]), len(self.album)))
        plans = ", ".join(f"{name} by {result.plan}" for name, result in found.items())
        return kept, f"{len(kept)} candidates of {len(photos)} photos ({plans}), re-ranked exactly"

    def _beside(self, named: list[RowArray]) -> list[RowArray]:
        """The messages around those that were named."""
        if not self._conversations.any:
            return []
        rows = distinct(np.concatenate(named), len(self.album))
        near = [self._conversations.neighbour(rows, step) for step in ranking.NEAR]
        return [other[joined] for other, joined in near]

    def _cosines(self, vector: FloatArray, rows: RowArray) -> dict[str, FloatArray]:
        return {
            name: _floor(self.album.scores(name, vector, rows))
            for name in CHANNELS
            if name in self.album.channels()
        }

    def _features(
        self,
        words: WordScores,
        vector: FloatArray,
        rows: RowArray,
        linked: FloatArray,
        clues: list[ranking.Clue],
    ) -> dict[str, FloatArray]:
        """What the layers know of each of `rows`, unweighted, by the names of Ranking's fields."""
        around, held = ranking.context(words, self._conversations, rows)
        return self._cosines(vector, rows) | {
            "words": words.bm25[rows],
            "coverage": words.coverage[rows],
            "context_words": around,
            "context_coverage": held,
            "entity": linked[rows],
            "cue": ranking.evidence(clues, rows),
        }

    def _order(self, parts: dict[str, FloatArray], rows: RowArray, k: int) -> NDArray[np.int64]:
        """Positions in `rows` of the k best, best first; what a person said to prefer goes before what it was
        preferred to.
        """
        best = top(np.sum(list(parts.values()), axis=0), max(k, PREFERRED))
        place = {int(row): at for row, at in zip(rows[best], best, strict=True)}
        return np.array([place[row] for row in self.album.preferred(list(place))][:k], np.int64)

    def _presence(self, features: dict[str, FloatArray], order: NDArray[np.int64]) -> float:
        if not len(order):
            return 0.0
        first = order[0]
        own = {name: float(values[first]) for name, values in features.items()}
        cosine = max(own.get(name, 0.0) for name in CHANNELS)
        return ranking.presence(
            self.ranking,
            cosine,
            max(own.get("coverage", 0.0), own.get("context_coverage", 0.0)),
            own.get("cue", 0.0),
        )

    def _hits(
        self,
        rows: RowArray,
        order: NDArray[np.int64],
        parts: dict[str, FloatArray],
        matches: list[EntityMatch],
        presence: float,
    ) -> tuple[Hit, ...]:
        likely = ranking.likelihoods(parts)
        hits = []
        for at, photo in zip(order, self.album.photos(rows[order]), strict=True):
            row = int(rows[at])
            own = {name: round(float(values[at]), 4) for name, values in parts.items()}
            said = [m.text for m in photo.memories if m.source not in ("label", "place")] or [
                m.text for m in photo.memories
            ]
            hits.append(
                Hit(
                    row=row,
                    id=photo.id,
                    path=photo.path,
                    taken_at=photo.wall,
                    lat=photo.lat,
                    lon=photo.lon,
                    score=round(sum(own.values()), 4),
                    probability=round(presence * float(likely[at]), 4),
                    parts=own,
                    memory=said[0] if said else None,
                    matched=tuple(m.name for m in matches if row in m.photos)[:4],
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
    """For each photo, how far its best entity node stands over δ, as a share of what is possible: float32
    [photos] in 0..1.
    """
    out = np.zeros(photos, np.float32)
    for match in matches:
        if match.photos:
            rows = np.asarray(match.photos)
            share = np.float32(max(0.05, (match.similarity - delta) / max(1e-6, 1.0 - delta)))
            out[rows] = np.maximum(out[rows], share)
    return out


def _greatest(scores: FloatArray, rows: RowArray) -> RowArray:
    """Of `rows`, the CANDIDATES with the greatest scores."""
    return rows[greatest(scores[rows], CANDIDATES)]
