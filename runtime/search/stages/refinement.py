"""The third stage, the first half of layer 2: Q → Q̂ and its vectors. The wording itself is refine.py's."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from gamer.index import FloatArray

from ...cues.parse import Cues
from ...defaults import PHRASED, PHRASING
from ..options import Observer
from ..state import Parts, Refined, State
from . import refine
from .replacement import Dictionary
from .things import Reflection, written


def refined(parts: Parts, state: State) -> State:
    """Adds Q̂ with its vectors, and what the bank of things says of the query where that is asked for."""
    request = state.request
    with request.observer.step("refine", "rewrite"):
        text, how = _rewritten(parts, state)
        options = request.options
        glossed = parts.glossed(text, options.language) if options.gloss and how != "given" else None
        if glossed is not None:
            text = glossed.text if how == "off" else refine.fast(glossed.text)
    if (vector := request.options.vector) is not None:
        found = Refined(text, how, vector, vector)
    else:
        plain = _vector(parts, text, request.observer)
        asked = request.options.adapter
        adapter = parts.adapter if asked is True else None if asked is False else asked
        aligned = _aligned(parts, text, plain, adapter, request.observer)
        projections = projected(parts, text, plain, request.observer)
        found = Refined(text, how, plain, aligned, adapter is not None, projections)
    reflection = _reflection(parts, state, text)
    return replace(state, refined=replace(found, reflection=reflection, glossed=glossed))


def projected(parts: Parts, text: str, vector: FloatArray, observer: Observer) -> dict[str, FloatArray]:
    """v_Q for those channels of the bundle's trained experts that the album has."""
    out = {}
    for channel in parts.models.manifest.channels:
        if channel.name in parts.album.channels():
            with observer.step("refine", "query head"):
                out[channel.name] = parts.models.query_vector(channel, text, vector)
    return out


def request_of(parts: Parts, query: str, cues: Cues) -> refine.RefinementRequest:
    """What the language model is asked for a refinement, and its answer is judged by."""
    context = refine.fitting(parts.facts.names, query)
    dictionary = Dictionary(parts.models.text.encode_query, parts.readable)
    return refine.RefinementRequest(query, refine.fast(cues.rest), context, dictionary)


def _rewritten(parts: Parts, state: State) -> tuple[str, str]:
    """(Q̂, how it was made), as Trace.refined and Trace.refined_by."""
    request, options = state.request, state.request.options
    if options.refined is not None:
        return options.refined, "given"
    if request.refined_by == "off":
        return request.query, "off"
    if request.refined_by == "fast":
        return refine.fast(state.cues.rest), "fast"
    with parts.llm_lock:
        return refine.by_llm(
            parts.models,
            request_of(parts, request.query, state.cues),
            parts.refinements if options.reuse_refinements else None,
            parts.album.generation,
            request.observer.generated,
        )


def _vector(parts: Parts, wording: str, observer: Observer, adapter: FloatArray | None = None) -> FloatArray:
    with observer.step("refine", "tokenise"):
        ids = parts.models.text.ids(wording)
    with observer.step("refine", "text tower"):
        return parts.models.text.embed(ids, adapter)


def _aligned(
    parts: Parts, text: str, plain: FloatArray, adapter: FloatArray | None, observer: Observer
) -> FloatArray:
    """The vector that photos are ranked by: as the adapter reads `text`, else blended with a sentence's."""
    if adapter is not None:
        return _vector(parts, text, observer, adapter)
    sentence = _vector(parts, PHRASING.format(text.rstrip(" .?!")), observer)
    return np.asarray((1 - PHRASED) * plain + PHRASED * sentence, np.float32)


def _reflection(parts: Parts, state: State, text: str) -> Reflection | None:
    request, by = state.request, state.request.options.things
    if by == "off":
        return None
    with request.observer.step("refine", "things"):
        if by == "template":
            return parts.things.reflect(request.query, text)
        with parts.llm_lock:
            return parts.things.reflect(request.query, text, partial(written, parts.models))
