"""The engine: searches an album with the models of a bundle (paper section 3.2).

`mode="fused"`, the default, ranks by the features of all layers (fused.py). `mode="paper"` follows the paper
(paper_mode.py): the cube, then entity nodes over δ, then v_Q · v_I alone; a photo whose time or place is
unknown counts as inside the cube.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Lock
from time import perf_counter_ns
from typing import Literal

import numpy as np

from gamer.index import Album, Cube, EntityMatch, FloatArray, RowSet

from ..bundle.manifest import Ranking
from ..cues.parse import Cues
from ..errors import RuntimeFailure
from ..models.models import Models, check_encoders
from . import hits, paper_mode, refine
from .album_facts import AlbumFacts
from .answer import LAYERS, MODES, REFINEMENTS, Answer, Trace
from .explain import cube_lines, cue_lines
from .fused import SHARED, FusedRanker, Ranked, Scope, searched
from .options import DEFAULT, MAX_K, SILENT, Observer, SearchOptions
from .query_reader import QueryReader
from .replacement import Dictionary
from .things import WEIGHT, Reflection, Target, Things, written

# The vector of the query is blended with the vector of a sentence that contains it, with weight PHRASED:
# memories are sentences, so a sentence embeds nearer to them than a bare title does.
PHRASING, PHRASED = "This photo shows {}.", 1 / 3
MAX_QUERY = 100_000


@dataclass(frozen=True, eq=False)
class _Refined:
    """The refined query Q̂ and its vectors, float32 [D].

    `how`: see Trace.refined_by. `plain`: the vector of `text`. `phrased`: `plain` blended with the vector of
    a sentence that contains `text`. `projected`: v_Q of the channels of trained experts, by channel.
    """

    text: str
    how: str
    plain: FloatArray
    phrased: FloatArray
    projected: dict[str, FloatArray]

    def vectors(self, shared: FloatArray) -> dict[str, FloatArray]:
        """The vector of each channel; `shared`: the one of the text tower's channels."""
        return dict.fromkeys(SHARED, shared) | self.projected


class Engine:
    """`Engine.open(bundle, album).search("coffee last spring", k=5)`.

    Several threads may search at once; the language model runs one call at a time.
    """

    def __init__(self, models: Models, album: Album, ranking: Ranking | None = None) -> None:
        self.models, self.album = models, album
        self.ranking = ranking or models.manifest.ranking or Ranking()
        self._llm_lock, self._warm_lock, self._refinements = Lock(), Lock(), refine.Refinements()
        self._warmed = self._llm_warm = False
        self.facts = AlbumFacts(album)
        self._reader = QueryReader(models, album, self.facts, self._llm_lock)
        self._fused = FusedRanker(album, self.facts)
        self.things = Things(album)

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
        """Opens both read-only.

        `max_memory`: the most bytes of models held in memory at once. `allow_random`: see models.py. Raises
        BundleError, AlbumError, or RuntimeFailure when other encoders made the album's vectors.
        """
        return cls.over(Models.open(bundle, backend, threads, max_memory, allow_random), album)

    @classmethod
    def over(cls, models: Models, album: Path) -> Engine:
        """An engine that uses models that are already open. Raises as `open` does."""
        opened = Album.open(album)
        try:
            check_encoders(models, opened.meta, album)
            return cls(models, opened)
        except BaseException:
            opened.close()
            raise

    def close(self) -> None:
        self.album.close()

    def _delta(self, mode: str) -> float:
        own = self.models.manifest.thresholds.paper_delta if mode == "paper" else None
        return self.album.meta.delta if own is None else own

    def search(
        self,
        query: str,
        k: int | None = None,
        *,
        refined_by: str = "fast",
        mode: str = "fused",
        now: datetime | None = None,
        options: SearchOptions = DEFAULT,
        observer: Observer = SILENT,
    ) -> Answer:
        """The `k` photos (default: the bundle's K) that match `query` best, with the trace.

        `now`: the user's wall-clock time, from which "last spring" is counted. Raises RuntimeFailure for an
        empty or overlong query, `k` outside 1..MAX_K, or an unknown mode or refinement.
        """
        k = self.models.manifest.thresholds.k if k is None else k
        check(query, k, refined_by, mode)
        delta = self._delta(mode) if options.delta is None else options.delta
        weights = options.weights or self.ranking
        clock = _Clock(options.timed)
        with clock("load"):
            self._warm(refined_by)
        with clock("cube"):
            # Local time without a zone, because album times are wall times.
            cues = self._reader.read(query, refined_by, now or datetime.now(), options, observer)
        with clock("kdtree"):
            photos, cube, widened = self._inside(cues, options, observer)
        with clock("refine"):
            refined = self._refine(query, cues, refined_by, options, observer)
            reflection = self._reflect(query, refined.text, options, observer)
        with clock("graph"):
            with observer.step("graph", "entity match"):
                matches = self.album.match_entities(refined.plain, cube, delta)
            linked, related = (
                _strengths(matches, kind, len(self.album), delta) for kind in ("photos", "reached")
            )
            reached = cube.keep(np.flatnonzero((linked > 0) | (related > 0)))
        with clock("vectors"):
            narrowed = mode == "paper" and reached.size > 0
            if mode == "paper":
                rows = reached if narrowed else cube.rows
                nodes = np.maximum(linked, related)
                vectors = refined.vectors(refined.plain)
                ranked = paper_mode.rank(self.album, vectors, rows, nodes, options)
            else:
                none = RowSet(np.zeros(len(self.album), np.bool_))
                scope = Scope(photos, cube, linked, related, options.then or none)
                vectors = refined.vectors(refined.phrased)
                target = self._target(reflection, options)
                ranked = self._fused.rank(refined.text, vectors, cues, scope, weights, observer, target)
            with observer.step("vectors", "re-rank"):
                positions = hits.order(self.album, ranked, k)
        trace = Trace(
            query=query,
            cues=cue_lines(cues) + (reflection.lines if reflection else ()),
            cube_lines=cube_lines(cues),
            cubes=cues.cubes,
            refined=refined.text,
            refined_by=refined.how,
            delta=delta,
            entities=tuple(matches[:8]),
            left={
                "album": len(self.album),
                "cube": len(cube),
                "graph": len(reached) if narrowed else len(cube),
                "vectors": len(positions),
            },
            linked=len(reached),
            widened=widened,
            load_ms=clock.milliseconds["load"],
            milliseconds={layer: clock.milliseconds[layer] for layer in LAYERS},
            plan=ranked.plan,
            mode=mode,
            models=self.models.describe(),
        )
        return self._answer(ranked, positions, matches, weights, trace, observer, vectors["image"])

    def read(self, text: str, now: datetime | None = None) -> Cues:
        """The times and places that a text names, by rules alone and without looking up its events."""
        return self._reader.parse(text, now or datetime.now())

    def resolved(self, text: str, now: datetime | None = None) -> Cues:
        """As `read`, with the album's events looked up."""
        return self._reader.read(text, "off", now or datetime.now(), DEFAULT, SILENT)

    def asked(self, query: str, now: datetime | None = None) -> refine.Asked:
        """What a search with refined_by="llm" would ask the language model, and judge its answer by."""
        return self._asked(query, self._reader.read(query, "llm", now or datetime.now(), DEFAULT, SILENT))

    def _asked(self, query: str, cues: Cues) -> refine.Asked:
        context = refine.fitting(self.facts.names, query)
        dictionary = Dictionary(self._reader.encode, self._readable)
        return refine.Asked(query, refine.fast(cues.rest), context, dictionary)

    def _inside(self, cues: Cues, options: SearchOptions, observer: Observer) -> tuple[RowSet, RowSet, bool]:
        """(the photos not excluded, those of them inside the cube, whether the cube was dropped)."""
        with observer.step("kdtree", "K-D query"):
            cube = self.album.in_cubes(cues.cubes)
        # A cue that fits no photo is misread or wrong: ranking all photos is better than showing only the
        # few that have no date.
        widened = bool(cues.cubes) and not len(cube.within)
        everything, excluded = self.album.in_cubes([]).found, self._reader.excluded(cues)
        inside = everything if widened else cube.found
        if options.within is not None:
            everything, inside = everything.among(options.within), inside.among(options.within)
        return everything.without(excluded), inside.without(excluded), widened

    def _refine(
        self, query: str, cues: Cues, refined_by: str, options: SearchOptions, observer: Observer
    ) -> _Refined:
        """Refines Q to Q̂ and encodes it."""
        with observer.step("refine", "rewrite"):
            text, how = self._rewritten(query, cues, refined_by, options, observer)
        if options.vector is not None:
            return _Refined(text, how, options.vector, options.vector, {})
        vectors = []
        for wording in (text, PHRASING.format(text.rstrip(" .?!"))):
            with observer.step("refine", "tokenise"):
                ids = self.models.text.ids(wording)
            with observer.step("refine", "text tower"):
                vectors.append(self.models.text.embed(ids))
        plain, sentence = vectors
        phrased = np.asarray((1 - PHRASED) * plain + PHRASED * sentence, np.float32)
        return _Refined(text, how, plain, phrased, self._projected(text, plain, observer))

    def _reflect(
        self, query: str, text: str, options: SearchOptions, observer: Observer
    ) -> Reflection | None:
        """What the bank of things says of a query, where `options` ask for it."""
        if options.things == "off":
            return None
        with observer.step("refine", "things"):
            if options.things == "template":
                return self.things.reflect(query, text)
            with self._llm_lock:
                return self.things.reflect(query, text, partial(written, self.models))

    def _target(self, reflection: Reflection | None, options: SearchOptions) -> Target | None:
        if reflection is None:
            return None
        weight = WEIGHT if options.thing_weight is None else options.thing_weight
        return Target(self.models.text.encode([reflection.target])[0], weight)

    def _projected(self, text: str, vector: FloatArray, observer: Observer) -> dict[str, FloatArray]:
        """v_Q for those channels of the bundle's trained experts that the album has."""
        out = {}
        for channel in self.models.manifest.channels:
            if channel.name in self.album.channels():
                with observer.step("refine", "query head"):
                    out[channel.name] = self.models.query_vector(channel, text, vector)
        return out

    def _rewritten(
        self, query: str, cues: Cues, refined_by: str, options: SearchOptions, observer: Observer
    ) -> tuple[str, str]:
        """(Q̂, how it was made), as Trace.refined and Trace.refined_by."""
        if options.refined is not None:
            return options.refined, "given"
        if refined_by == "off":
            return query, "off"
        plain = refine.fast(cues.rest)
        if refined_by == "fast":
            return plain, "fast"
        with self._llm_lock:
            asked = self._asked(query, cues)
            known = self._refinements if options.reuse_refinements else None
            return refine.by_llm(
                self.models,
                query,
                asked.plain,
                asked.context,
                known,
                self.album.generation,
                observer.generated,
                asked.dictionary,
            )

    def _readable(self, word: str) -> bool:
        """Whether the text tower knows the word whole, or a memory holds it."""
        return word in self.models.text.words or bool(self.album.words(word).bm25.any())

    def _answer(
        self,
        ranked: Ranked,
        positions: hits.Positions,
        matches: list[EntityMatch],
        weights: Ranking,
        trace: Trace,
        observer: Observer,
        image_query: FloatArray,
    ) -> Answer:
        with observer.step("answer", "presence"):
            presence = hits.presence(ranked, positions, weights)
        with observer.step("answer", "rows of hits"):
            shown = hits.hits(self.album, ranked, positions, matches, presence, image_query)
        return Answer(shown, trace, round(presence, 4))

    def _warm(self, refined_by: str) -> None:
        """Opens what a search needs, once, so that no layer's time includes opening a file."""
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
        queries = dict.fromkeys(SHARED, zero) | self._projected("", zero, SILENT)
        self.models.gazetteer.lookup("")
        self.models.text.encode([""])
        self.album.in_cubes([Cube(start=0, south=0.0, west=0.0)])
        self.album.match_entities(zero, np.zeros(1, np.int64), 2.0)
        self.album.words("photo")
        _ = self.facts.conversations
        for channel in searched(self.album, queries):
            self.album.scores(channel, queries[channel])


def check(query: str, k: int, refined_by: str, mode: str) -> None:
    if not query.strip():
        raise RuntimeFailure("the query is empty: say what is in the photo")
    if any("\ud800" <= letter <= "\udfff" for letter in query):
        raise RuntimeFailure("the query is not valid UTF-8: set the terminal's encoding to UTF-8")
    if len(query) > MAX_QUERY:
        raise RuntimeFailure(f"the query has {len(query)} characters: give at most {MAX_QUERY}")
    if not 1 <= k <= MAX_K:
        raise RuntimeFailure(f"k = {k}: choose 1 to {MAX_K}")
    if refined_by not in REFINEMENTS:
        raise RuntimeFailure(f"unknown refinement {refined_by!r}; choose one of: {', '.join(REFINEMENTS)}")
    if mode not in MODES:
        raise RuntimeFailure(f"unknown mode {mode!r}; choose one of: {', '.join(MODES)}")


class _Clock:
    """Milliseconds by layer, measured with `with clock(layer):`; all 0 unless `timed`."""

    def __init__(self, timed: bool) -> None:
        self._timed, self.milliseconds = timed, dict.fromkeys(("load", *LAYERS), 0.0)

    @contextmanager
    def __call__(self, layer: str) -> Iterator[None]:
        if not self._timed:
            yield
            return
        begin = perf_counter_ns()
        yield
        self.milliseconds[layer] = round((perf_counter_ns() - begin) / 1e6, 3)


def _strengths(
    matches: list[EntityMatch], kind: Literal["photos", "reached"], photos: int, delta: float
) -> FloatArray:
    """float32 [photos] in 0..1: how similar each photo's best entity node of that kind is to the query.

    Scaled so that δ is 0 and a similarity of 1 is 1, but at least 0.05 for a linked photo; 0 for all others.
    """
    shares = np.zeros(photos, np.float32)
    for match in matches:
        rows = np.asarray(getattr(match, kind), np.int64)
        share = np.float32(max(0.05, (match.similarity - delta) / max(1e-6, 1.0 - delta)))
        shares[rows] = np.maximum(shares[rows], share)
    return shares
