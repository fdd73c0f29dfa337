"""Best, majority and agreement over runs."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from gamer.bench.agent import runs
from gamer.bench.agent.tasks import Attempt, Task


def done(relevant: str, ids: str, found: bool = True) -> Attempt:
    task = Task("q", "a question", frozenset(relevant.split()), "set")
    return Attempt(task, tuple(ids.split()), "", found, "answer", (), (), 0.0)


def test_best_and_majority_are_of_whole_answers() -> None:
    compared = runs.compare(
        "m", [[done("a b", "a")], [done("a b", "a b")], [done("a b", "a")], [done("a b", "c")]]
    )
    assert (compared.runs, compared.tasks, compared.identical, compared.equal) == (4, 1, 0, False)
    assert compared.best == runs.Quality(1.0, 1.0)
    assert compared.majority == runs.Quality(0.0, 0.6667)
    assert compared.mean == runs.Quality(0.25, round((2 / 3 + 1 + 2 / 3 + 0) / 4, 4))


def test_the_earliest_wins_where_answers_are_as_common() -> None:
    assert runs.compare("m", [[done("a", "b")], [done("a", "a")]]).majority.exact == 0.0


def test_a_refusal_is_an_answer_without_photos() -> None:
    compared = runs.compare("m", [[done("", "a", found=False)], [done("", "")]])
    assert compared.equal
    assert compared.mean.exact == 1.0


answers = st.lists(st.sampled_from(["", "a", "b", "a b"]), min_size=2, max_size=2)


@given(st.lists(answers, min_size=1, max_size=4))
def test_the_best_run_is_no_worse_than_any_and_equal_runs_have_no_spread(given: Sequence[list[str]]) -> None:
    compared = runs.compare("m", [[done("a", one), done("a b", other)] for one, other in given])
    assert compared.best.f1 >= max(compared.mean.f1, compared.majority.f1) - 1e-4
    if compared.equal:
        assert compared.best == compared.majority == compared.mean
