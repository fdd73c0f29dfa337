"""What a search works with, and what its stages have found so far: each returns the state with its part.

The stages are, in order, cues (query_reader.py), cube (cube.py), refinement (refinement.py), graph (graph.py)
and vectors (vectors.py); engine.py runs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from gamer.index import Album, EntityMatch, FloatArray, RowArray, RowSet

from ..bundle.manifest import Ranking
from ..cues.parse import Cues
from ..glosses.bundled import Bundled
from ..glosses.choice import Glossed, chosen
from ..glosses.reading import Reading
from ..models.models import Models
from ..models.query_adapter import path_beside, weight_of_earlier
from .album_facts import AlbumFacts
from .options import Observer, SearchOptions
from .stages.earlier import SearchHistory
from .stages.refine import REMEMBERED, Refinements
from .stages.things import Reflection, Things

SHARED = ("text", "image")  # the channels whose queries are the text tower's vector
Positions = NDArray[np.int64]  # indices into Ranked.rows
_NOBODY = RowSet(np.zeros(0, np.bool_))


def _no_rows() -> RowArray:
    return np.zeros(0, np.int64)


def _no_values() -> FloatArray:
    return np.zeros(0, np.float32)


@dataclass(frozen=True, eq=False)
class Parts:
    """What one album's searches share. `llm_lock`: the language model runs one call at a time."""

    models: Models
    album: Album
    facts: AlbumFacts
    ranking: Ranking
    things: Things
    glosses: Bundled
    refinements: Refinements = field(default_factory=lambda: Refinements(REMEMBERED))
    llm_lock: Lock = field(default_factory=Lock)

    @cached_property
    def adapter(self) -> FloatArray | None:
        """What reads the queries, float32 [layers, 2, rank, H]; None for the text tower as it is."""
        return self.models.query_adapter(path_beside(self.album.path))

    @cached_property
    def earlier(self) -> SearchHistory:
        """What was searched before, and opened."""
        return SearchHistory(self.album, weight_of_earlier(path_beside(self.album.path)))

    def glossed(self, text: str, language: str = "") -> Glossed | None:
        """A query in another language than English in English words; None for an English one.

        `language`: that it is probably in, or "".
        """
        reading = self.reading(text, language)
        return None if reading is None else chosen(reading, self.album.holding)

    def reading(self, text: str, language: str = "") -> Reading | None:
        """A query in another language than English with the glosses of its words; None for an English one."""
        reader = self.glosses.reader
        return None if reader is None else reader.read(text, self.facts.name_words, language)

    def readable(self, word: str) -> bool:
        """Whether the text tower knows the word whole, or a memory holds it."""
        return word in self.models.text.words or bool(self.album.words(word).bm25.any())


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked for. `now`: wall time; `delta`: the entity threshold δ; `weights`: of mode "fused"."""

    query: str
    k: int
    refined_by: str
    mode: str
    now: datetime
    delta: float
    weights: Ranking
    options: SearchOptions
    observer: Observer


@dataclass(frozen=True, eq=False)
class Refined:
    """The refined query Q̂ and its vectors, float32 [D].

    `how`: see Trace.refined_by. `plain`: the vector of `text`. `aligned`: the one that photos are ranked by,
    which the query adapter makes; without one, `plain` blended with the vector of a sentence that contains
    `text`. `adapted`: which of the two. `projected`: v_Q of the channels of trained experts, by channel.
    `reflection`: what the bank of things says of the query. `glossed`: the words that `text` was made of, if
    the query is in another language.
    """

    text: str
    how: str
    plain: FloatArray = field(default_factory=_no_values)
    aligned: FloatArray = field(default_factory=_no_values)
    adapted: bool = False
    projected: dict[str, FloatArray] = field(default_factory=dict)
    reflection: Reflection | None = None
    glossed: Glossed | None = None

    def vectors(self, shared: FloatArray) -> dict[str, FloatArray]:
        """The vector of each channel; `shared`: the one of the text tower's channels."""
        return dict.fromkeys(SHARED, shared) | self.projected


@dataclass(frozen=True, eq=False)
class Scope:
    """`photos`: all that the query does not exclude; `cube`: those of them inside the cube.

    `widened`: no photo of known time and place fits the cues, so that the cube was dropped. `then`: photos
    that fit the query's times whatever their own.
    """

    photos: RowSet = _NOBODY
    cube: RowSet = _NOBODY
    widened: bool = False
    then: RowSet = _NOBODY


@dataclass(frozen=True, eq=False)
class Nodes:
    """The entity nodes over δ. `linked`: float32 [photos of the album] in 0..1, the strength of the best node
    that each photo's own memories name; `related`: of the best that the graph reaches from what the photo
    hangs on. `reached`: the rows of photos in the cube that hang on one.
    """

    matches: tuple[EntityMatch, ...] = ()
    linked: FloatArray = field(default_factory=_no_values)
    related: FloatArray = field(default_factory=_no_values)
    reached: RowArray = field(default_factory=_no_rows)


@dataclass(frozen=True, eq=False)
class Ranked:
    """Rows with the summands of their scores.

    `features`: unweighted, `parts`: weighted; each name → float32 [rows]. `plan`: how the vectors were
    searched, in one line. `best`: positions of the k best rows, best first.
    """

    rows: RowArray = field(default_factory=_no_rows)
    features: dict[str, FloatArray] = field(default_factory=dict)
    parts: dict[str, FloatArray] = field(default_factory=dict)
    plan: str = ""
    best: Positions = field(default_factory=_no_rows)


@dataclass(frozen=True, eq=False)
class State:
    """A search, as far as its stages have come."""

    request: Request
    cues: Cues = field(default_factory=Cues)
    scope: Scope = field(default_factory=Scope)
    refined: Refined = field(default_factory=lambda: Refined("", "off"))
    nodes: Nodes = field(default_factory=Nodes)
    ranked: Ranked = field(default_factory=Ranked)

    @property
    def narrowed(self) -> bool:
        """Whether the graph says what is ranked: in "strict", and in "paper" if a photo hangs on a node."""
        mode = self.request.mode
        return mode == "strict" or (mode == "paper" and self.nodes.reached.size > 0)
