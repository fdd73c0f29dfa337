"""Where the person's home is, learned from where the album's nights are ("at home"). Arithmetic on positions
and times; no names, no model.

A home is a place of a few hundred metres where photos were taken on many different nights over a long time; a
holiday's hotel has its nights in one row. Positions are degrees (WGS 84), times ms of wall time stored as
UTC.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import UNKNOWN_TIME, Cube

CELL_KM, RADIUS_KM = 0.25, 0.4
NIGHT_FROM, NIGHT_TO = (
    20,
    7,
)  # hours: people are at home at nine in the evening more surely than they are asleep
MIN_NIGHTS, MIN_SHARE, MIN_WEEKS = 5, 0.15, 4
KM_PER_DEGREE = 111.195
HOUR_MS, DAY_MS = 3_600_000, 86_400_000


def learn_home(positions: NDArray[np.float64], times: NDArray[np.int64]) -> Cube | None:
    """float64 [n, 2] degrees (nan unknown) and int64 [n] ms → a box around the home, open in time; None when
    no place stands out.
    """
    known = np.isfinite(positions).all(axis=1) & (times != UNKNOWN_TIME)
    hour = times // HOUR_MS % 24
    night = known & ((hour >= NIGHT_FROM) | (hour < NIGHT_TO))
    if not night.any():
        return None
    where, when = positions[night], times[night]
    nights = (when + (24 - NIGHT_FROM) * HOUR_MS) // DAY_MS  # the small hours belong to the evening before
    cells = _cells(where)
    spent = np.unique(
        np.column_stack([cells, nights]), axis=0
    )  # one vote a night and cell, however many photos
    places, votes = np.unique(spent[:, :2], axis=0, return_counts=True)
    best = places[int(np.argmax(votes))]
    around = np.abs(cells - best).max(axis=1) <= 1
    own = np.unique(nights[around])
    enough = (
        len(own) >= MIN_NIGHTS
        and len(own) >= MIN_SHARE * len(np.unique(nights))
        and len(np.unique(own // 7)) >= MIN_WEEKS
    )
    return _box(np.median(where[around], axis=0)) if enough else None


def _cells(where: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows and columns of a grid of CELL_KM; columns shrink with latitude, by whole degrees so that
    neighbours share a grid.
    """
    shrink = np.maximum(0.05, np.cos(np.radians(np.round(where[:, 0]))))
    step = CELL_KM / KM_PER_DEGREE
    return np.column_stack([np.floor(where[:, 0] / step), np.floor(where[:, 1] * shrink / step)]).astype(
        np.int64
    )


def _box(middle: Any) -> Cube:
    lat, lon = float(middle[0]), float(middle[1])
    dlat = RADIUS_KM / KM_PER_DEGREE
    dlon = dlat / max(0.05, math.cos(math.radians(lat)))
    west, east = ((lon + d + 180.0) % 360.0 - 180.0 for d in (-dlon, dlon))
    return Cube(south=max(-90.0, lat - dlat), north=min(90.0, lat + dlat), west=west, east=east)
