"""The second stage, the K-D tree of layer 1: which photos a query's times and places leave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gamer.index import Album, Cube, RowSet

from ...cues.parse import Cues
from ..state import Parts, Scope, State


def inside(parts: Parts, state: State) -> State:
    """Adds the photos that the query does not exclude, and those of them inside the cube.

    A cue that fits no photo is misread or wrong: the cube is dropped then, because ranking all photos is
    better than showing only the few that have no date.
    """
    album, options, cues = parts.album, state.request.options, state.cues
    if state.request.mode == "strict":
        return _walked(parts, state)
    with state.request.observer.step("kdtree", "K-D query"):
        cube = album.in_cubes(cues.cubes)
    widened = bool(cues.cubes) and not len(cube.within)
    everything, excluded = album.in_cubes([]).found, _excluded(album, cues)
    found = everything if widened else cube.found
    if options.within is not None:
        everything, found = everything.among(options.within), found.among(options.within)
    then = options.then or RowSet(np.zeros(len(album), np.bool_))
    scope = Scope(everything.without(excluded), found.without(excluded), widened, then)
    return replace(state, scope=scope)


def _walked(parts: Parts, state: State) -> State:
    """The paper's layer 1 as printed: the K-D tree's photos in the cube. An unknown field is in no bounds,
    and nothing is widened.
    """
    with state.request.observer.step("kdtree", "K-D query"):
        found = parts.album.walked(state.cues.cubes)
    if state.request.options.within is not None:
        found = found.among(state.request.options.within)
    return replace(state, scope=Scope(found, found))


def _excluded(album: Album, cues: Cues) -> RowSet:
    """The photos whose known time or place the query excludes ("not in Paris")."""
    boxes = [Cube(start=t.start, end=t.end) for t in cues.negated_times]
    return album.within(boxes + [box for place in cues.negated_places for box in place.boxes])
