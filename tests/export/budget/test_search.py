"""The choice of bits: the curve is optimal, budgets hold, and a choice is found again from its text."""

from __future__ import annotations

import itertools
import random

import pytest

pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.budget import keeping, search
from gamer.export.budget.search import Option
from gamer.export.bundle.limits import parse_sizes
from gamer.export.errors import ExportError
from gamer.export.settings import concerns, parse_keep, without_place


def matrices(seed: int) -> list[list[Option]]:
    chance = random.Random(seed)
    return [[Option(f"q{n}", chance.randint(0, 40), chance.random()) for n in range(4)] for _ in range(4)]


def every_choice(options: list[list[Option]]) -> list[tuple[float, float]]:
    return [(sum(o.bytes for o in c), sum(o.loss for o in c)) for c in itertools.product(*options)]


@pytest.mark.parametrize("seed", range(12))
def test_no_choice_of_so_few_bytes_loses_less_than_a_point_of_the_curve(seed: int) -> None:
    options = matrices(seed)
    points, every = search.curve(options), every_choice(options)
    for point in points:
        assert all(loss >= point.loss - 1e-9 for size, loss in every if size <= point.bytes)
        assert any(size == point.bytes and abs(loss - point.loss) < 1e-9 for size, loss in every)
    assert points[-1].loss == pytest.approx(min(loss for _, loss in every))


@pytest.mark.parametrize("seed", range(12))
def test_a_budget_holds_and_what_still_fits_is_taken(seed: int) -> None:
    options = matrices(seed)
    points = search.curve(options)
    for budget in range(int(points[0].bytes), 160, 7):
        point = search.under(options, points, budget)
        assert point is not None
        assert point.bytes <= budget
        assert point.loss <= min(p.loss for p in points if p.bytes <= budget)
        for n, choices in enumerate(options):  # no single better choice would still fit
            now = choices[point.choice[n]]
            assert all(o.loss >= now.loss or point.bytes - now.bytes + o.bytes > budget for o in choices)
    assert search.under(options, points, points[0].bytes - 1) is None


def test_a_choice_is_given_back_as_keep() -> None:
    kinds = ("attention.query", "attention_out", "out", "up")
    choice = {f"layers.{n}.{kind}": "int8" for n in range(12) for kind in kinds}
    choice |= {"layers.1.up": "int4/64", "layers.11.up": "fp16", "head": "int4/16"}
    pairs = keeping.compact(choice)
    assert len(pairs) == len(kinds) + 3
    again = parse_keep(keeping.text(keeping.placed(pairs, "onnx/text_tower/")))
    own = [(without_place(name), quant) for name, quant in again if concerns(name, "text_tower", "onnx")]
    for name, quant in choice.items():
        assert next(value for part, value in own if part in f"{name}.weight") == quant
    assert not any(concerns(name, "text_tower", "coreml") for name, _ in again)


def test_a_choice_whose_kinds_are_parts_of_others_keeps_every_matrix() -> None:
    choice = {"up": "int8", "layers.0.group": "int4/32", "layers.0.up": "fp16", "layers.1.up": "int8"}
    pairs = keeping.compact(choice)
    for name, quant in choice.items():
        assert next(value for part, value in pairs if part in f"{name}.weight") == quant


def test_sizes_are_read_with_their_units_and_refused_without() -> None:
    assert parse_sizes(("300MB", "llm_decoder=0.09GB")) == (300_000_000, (("llm_decoder", 90_000_000),))
    for wrong in ("300", "many", "decoder=3MB", "-3MB", "llm_decoder="):
        with pytest.raises(ExportError, match=f"--max-size {wrong}: must be a size"):
            parse_sizes((wrong,))
