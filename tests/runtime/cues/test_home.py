"""Home is where many nights over many weeks were spent; a fortnight in a hotel is no home."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from gamer.index.records import UNKNOWN_TIME
from gamer.runtime.cues.home import learn_home

HOME, HOTEL, OFFICE = (48.137, 11.575), (41.902, 12.496), (48.150, 11.600)
DAY, HOUR = 86_400_000, 3_600_000
START = 1_700_000_000_000 // DAY * DAY


def taken(
    where: tuple[float, float], days: range, hour: int, each: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """`each` photos a day at about that place and hour."""
    noise = np.random.default_rng(len(days)).normal(0, 0.0004, (len(days) * each, 2))
    times = np.repeat([START + d * DAY + hour * HOUR for d in days], each)
    return np.array(where) + noise, times.astype(np.int64)


def joined(
    *parts: tuple[NDArray[np.float64], NDArray[np.int64]],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return np.concatenate([p for p, _ in parts]), np.concatenate([t for _, t in parts])


def test_nights_over_months_are_a_home() -> None:
    photos = joined(
        taken(HOME, range(0, 300, 10), 22),
        taken(OFFICE, range(0, 300, 2), 11, each=3),
        taken(HOTEL, range(100, 112), 23, each=40),  # many photos, one fortnight
    )
    home = learn_home(*photos)
    assert home is not None
    assert home.south is not None
    assert home.north is not None
    assert home.west is not None
    assert home.east is not None
    assert home.south < HOME[0] < home.north
    assert home.west < HOME[1] < home.east
    assert home.north - home.south < 0.02
    assert not home.south < OFFICE[0] < home.north
    assert not home.has_time


def test_the_small_hours_count_as_the_evening_before() -> None:
    assert learn_home(*joined(taken(HOME, range(0, 300, 10), 1), taken(HOTEL, range(3), 22))) is not None


@pytest.mark.parametrize(
    "photos",
    [
        taken(HOTEL, range(14), 23, each=40),
        taken(OFFICE, range(0, 300, 2), 11),
        taken(HOME, range(0, 40, 10), 22),
        (np.zeros((0, 2)), np.zeros(0, np.int64)),
        (np.full((50, 2), np.nan), np.arange(50) * 7 * DAY),
        (np.tile(HOME, (50, 1)), np.full(50, UNKNOWN_TIME)),
    ],
    ids=["hotel", "days only", "four nights", "nothing", "no positions", "no times"],
)
def test_too_few_nights_or_no_data_give_no_home(
    photos: tuple[NDArray[np.float64], NDArray[np.int64]],
) -> None:
    assert learn_home(*photos) is None


@settings(deadline=None)
@given(
    hnp.arrays(np.int64, 30, elements=st.integers(-(2**62), 2**62)), st.floats(-90, 90), st.floats(-180, 180)
)
def test_any_times_and_places_give_no_home_or_one_around_the_place(
    times: NDArray[np.int64], lat: float, lon: float
) -> None:
    home = learn_home(np.tile([lat, lon], (30, 1)), times)
    assert home is None or (
        home.south is not None and home.north is not None and home.south <= lat <= home.north
    )
