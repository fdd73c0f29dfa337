"""The engine: searches an album with the models of a bundle (paper section 3.2).

A search is five stages over one immutable state (state.py). `mode="fused"`, the default, ranks by the
features of all layers (fused.py). `mode="paper"` goes by the cube, then entity nodes over δ, then the
greatest cosine of a channel (vectors.py); a photo whose time or place is unknown counts as inside the cube,
and a layer that finds nothing filters nothing. `mode="strict"` has neither, and ranks by v_Q · v_I alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Lock
from time import perf_counter_ns

import numpy as np

from gamer.index import Album
from gamer.index.records import TITLE

from ..bundle.manifest import Ranking
from ..cues.parse import Cues
from ..errors import RuntimeFailure, check_choice
from ..glosses.bundled import Bundled
from ..models.models import Models, check_encoders
from ..questions.reader import MAX_READ
from ..questions.words import language_of_wishes
from . import hits, wishes_met
from .album_facts import AlbumFacts
from .answer import LAYERS, MODES, REFINEMENTS, Answer
from .options import DEFAULT, MAX_K, MAX_QUERY, SILENT, Observer, SearchOptions
from .stages import channels, cube, graph, query_reader, refine, refinement, vectors
from .stages.things import Things
from .state import SHARED, Parts, Request, State

# Each layer's stage, in order.
STAGES: dict[str, Callable[[Parts, State], State]] = {
    "cube": query_reader.read,
    "kdtree": cube.inside,
    "refine": refinement.refined,
    "graph": graph.matched,
    "vectors": vectors.ranked,
}


class Engine:
    """`Engine.open(bundle, album).search("coffee last spring", k=5)`.

    Several threads may search at once; the language model runs one call at a time. `clock` tells the
    nanoseconds from which a trace's milliseconds come: of the wall, unless a measurement sets another.
    """

    def __init__(self, models: Models, album: Album, ranking: Ranking | None = None) -> None:
        self.models, self.album = models, album
        self.ranking = ranking or models.manifest.ranking or Ranking()
        self.facts, self.things = AlbumFacts(album), Things(album)
        self.glosses = Bundled(models)
        self._parts = Parts(models, album, self.facts, self.ranking, self.things, self.glosses)
        self._warm_lock, self._warmed, self._llm_warm = Lock(), False, False
        self.clock: Callable[[], int] = perf_counter_ns

    @classmethod
    def open(
        cls,
        bundle: Path,
        album: Path,
        backend: str = "onnx",
        threads: int | None = None,
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

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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

        `now`: the user's wall-clock time, from which "last spring" is counted. With `options.wishes` the
        query is read as a person means it (wishes_met.py), which may search several times. Raises
        RuntimeFailure for an empty or overlong query, `k` outside 1..MAX_K, or an unknown mode or refinement.
        """
        request = self._request(query, k, refined_by, mode, now, options, observer)
        self.album.load_graphs()
        if options.wishes:
            return wishes_met.answer(self, request)
        clock = _Clock(options.timed, self.clock)
        with clock("load"):
            self._warm(refined_by)
        state = State(request)
        for layer, stage in STAGES.items():
            with clock(layer):
                state = stage(self._parts, state)
        return hits.answer(self._parts, state, clock.milliseconds)

    def cues(self, text: str, now: datetime | None = None) -> Cues:
        """The times and places that a text names, by rules alone and without looking up its events."""
        return query_reader.by_rules(self._parts, text, now or datetime.now())

    def cues_with_events(self, text: str, now: datetime | None = None, language: str = "") -> Cues:
        """As `cues`, with the album's events looked up. `language`: see SearchOptions."""
        return query_reader.resolved(self._parts, self.cues(text, now), language)

    def is_glossed(self, text: str, language: str = "") -> bool:
        """Whether a query is in another language than English, and read by glosses.

        `language`: see SearchOptions.
        """
        return self._parts.glossed(text, language) is not None

    def language_of(self, text: str) -> str:
        """The code of the language by whose table of glosses a query is read; "" for an English one."""
        reader = self._parts.glosses.reader
        wished = "" if reader is None else language_of_wishes(text[:MAX_READ], reader.tables)
        reading = self._parts.reading(text, wished)
        if reading is None:
            return "" if " " in text.strip() else wished  # "preferiti"
        return wished or reading.language

    def refinement_request(self, query: str, now: datetime | None = None) -> refine.RefinementRequest:
        """What a search with refined_by="llm" would ask the language model, and judge its answer by."""
        request = self._request(query, None, "llm", "fused", now, DEFAULT, SILENT)
        cues = query_reader.read(self._parts, State(request)).cues
        return refinement.request_of(self._parts, query, cues)

    def _request(
        self,
        query: str,
        k: int | None,
        refined_by: str,
        mode: str,
        now: datetime | None,
        options: SearchOptions,
        observer: Observer,
    ) -> Request:
        thresholds = self.models.manifest.thresholds
        k = thresholds.k if k is None else k
        check(query, k, refined_by, mode)
        own = None if mode == "fused" else thresholds.paper_delta
        return Request(
            query=query,
            k=k,
            refined_by=refined_by,
            mode=mode,
            now=now or datetime.now(),  # local time without a zone, because album times are wall times
            delta=next(d for d in (options.delta, own, self.album.meta.delta) if d is not None),
            weights=options.weights or self.ranking,
            options=options,
            observer=observer,
        )

    def _warm(self, refined_by: str) -> None:
        """Opens what a search needs, once, so that no layer's time includes opening a file."""
        if refined_by == "llm" and not self._llm_warm:
            with self._parts.llm_lock:
                _ = (self.models.language_model, self.models.llm_tokenizer)
                self._llm_warm = True
        with self._warm_lock:
            if not self._warmed:
                self._open_all()
                self._warmed = True

    def _open_all(self) -> None:
        zero = np.zeros(self.album.meta.dim, np.float32)
        queries = dict.fromkeys((*SHARED, TITLE), zero) | refinement.projected(self._parts, "", zero, SILENT)
        self.models.gazetteer.lookup("")
        self.models.text.encode([""])
        _ = (self._parts.adapter, self._parts.earlier.now())
        self.album.in_cubes([])
        first = np.arange(min(1, len(self.album)))
        self.album.match_entities(zero, first, 2.0)
        self.album.words("photo")
        self._parts.glossed("photo")
        _ = self.facts.conversations
        for channel in channels.searched(self.album, queries):
            self.album.scores(channel, queries[channel], first)


def check(query: str, k: int, refined_by: str, mode: str) -> None:
    if not query.strip():
        raise RuntimeFailure("the query is empty: say what is in the photo")
    if any("\ud800" <= letter <= "\udfff" for letter in query):
        raise RuntimeFailure("the query is not valid UTF-8: set the terminal's encoding to UTF-8")
    if len(query) > MAX_QUERY:
        raise RuntimeFailure(f"the query has {len(query)} characters: give at most {MAX_QUERY}")
    if not 1 <= k <= MAX_K:
        raise RuntimeFailure(f"k = {k}: choose 1 to {MAX_K}")
    check_choice("refinement", refined_by, REFINEMENTS)
    check_choice("mode", mode, MODES)


class _Clock:
    """Milliseconds by layer, measured with `with clock(layer):`; all 0 unless `timed`."""

    def __init__(self, timed: bool, now: Callable[[], int]) -> None:
        self._timed, self._now, self.milliseconds = timed, now, dict.fromkeys(("load", *LAYERS), 0.0)

    @contextmanager
    def __call__(self, layer: str) -> Iterator[None]:
        if not self._timed:
            yield
            return
        begin = self._now()
        yield
        self.milliseconds[layer] = round((self._now() - begin) / 1e6, 3)
