"""Work ahead of its turn: the same results in the same order, errors where they belong, and a bound."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.runtime.indexing.ahead import Ahead, iterated


def square(number: int) -> int:
    if number % 7 == 3:
        raise ValueError(f"no square of {number}")
    return number * number


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.booleans()), unique_by=lambda pair: pair[0]), st.integers(1, 5)
)
def test_results_and_errors_are_those_of_the_work(numbers: list[tuple[int, bool]], window: int) -> None:
    ahead = Ahead(square, window, workers=3)
    for number, added in numbers:
        if added:
            ahead.add(number)
    for number, _ in numbers:
        if number % 7 == 3:
            with pytest.raises(ValueError, match=f"no square of {number}"):
                ahead.result(number)
        else:
            assert ahead.result(number) == number * number
    ahead.close()


def test_no_more_is_begun_than_the_window_holds() -> None:
    begun: list[int] = []
    ahead = Ahead(begun.append, window=4, workers=2)
    for number in range(20):
        ahead.add(number)
    time.sleep(0.2)
    assert sorted(begun) == [0, 1, 2, 3]
    ahead.result(0)
    time.sleep(0.2)
    assert sorted(begun) == [0, 1, 2, 3, 4]
    ahead.close()
    assert len(begun) == 5


def test_after_closing_work_is_done_at_its_turn() -> None:
    ahead = Ahead(square, window=2)
    ahead.add(4)
    ahead.close()
    assert ahead.result(4) == 16
    ahead.add(5)
    assert ahead.result(5) == 25
    ahead.close()


@given(st.lists(st.integers(), max_size=40), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_items_come_in_order(items: list[int], size: int) -> None:
    assert list(iterated(iter(items), size)) == items


def test_an_error_of_a_scan_is_raised_after_what_came_before() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    taken = []
    with pytest.raises(OSError, match="the disk is gone"):
        for item in iterated(items(), 3):
            taken.append(item)
    assert taken == [1]


def test_a_scan_stops_when_the_caller_does() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1_000_000):
            taken.append(number)
            yield number

    for item in iterated(items(), 3):
        if item == 5:
            break
    threads = threading.active_count()
    time.sleep(0.3)
    assert len(taken) < 20
    assert threading.active_count() <= threads
