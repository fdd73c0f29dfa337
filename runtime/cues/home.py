"""Learns where the user's home is, for "at home", from the positions of the photos taken at night.

A home is a place of a few hundred metres where photos were taken on many different nights over a long time;
the nights at a holiday's hotel are consecutive. No names and no model are used. Positions are degrees
(WGS 84), times ms of wall time stored as UTC.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import UNKNOWN_TIME, Cube

CELL_KM, RADIUS_KM = 0.25, 0.4
# Hours. The evening counts as night: at nine people are more likely to be at home than asleep.
NIGHT_FROM, NIGHT_TO = 20, 7
MIN_NIGHTS, MIN_SHARE, MIN_WEEKS = 5, 0.15, 4  # nights at home, their share of all nights, different weeks
KM_PER_DEGREE = 111.195
HOUR_MS, DAY_MS = 3_600_000, 86_400_000


def learn_home(positions: NDArray[np.float64], times: NDArray[np.int64]) -> Cube | None:
    """A box around the home, open in time; None when no place stands out.

    `positions`: float64 [n, 2] in degrees, NaN if unknown. `times`: int64 [n] in ms.
    """
    known = np.isfinite(positions).all(axis=1) & (times != UNKNOWN_TIME)
    hour = times // HOUR_MS % 24
    night = known & ((hour >= NIGHT_FROM) | (hour < NIGHT_TO))
    if not night.any():
        return None
    where, when = positions[night], times[night]
    nights = (
        when + (24 - NIGHT_FROM) * HOUR_MS
    ) // DAY_MS  # hours after midnight count as the evening before
    cells = _cells(where)
    # One vote per night and cell, however many photos.
    visits = np.unique(np.column_stack([cells, nights]), axis=0)
    places, votes = np.unique(visits[:, :2], axis=0, return_counts=True)
    best = places[int(np.argmax(votes))]
    around = np.abs(cells - best).max(axis=1) <= 1
    home_nights = np.unique(nights[around])
    enough = (
        len(home_nights) >= MIN_NIGHTS
        and len(home_nights) >= MIN_SHARE * len(np.unique(nights))
        and len(np.unique(home_nights // 7)) >= MIN_WEEKS
    )
    return _box(np.median(where[around], axis=0)) if enough else None


def _cells(where: NDArray[np.float64]) -> NDArray[np.int64]:
    """int64 [n, 2]: each position's row and column in a grid of cells of CELL_KM.

    Longitudes are scaled by the cosine of the latitude rounded to full degrees, so that neighbours share a
    grid.
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
