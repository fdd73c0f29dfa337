"""What a mind used: calls by tool and by turn, tokens, and milliseconds of its calls and of its thinking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gamer.runtime.agent import calls
from gamer.runtime.agent.recording import Cost, Tokens, Trace

from .question_types import type_of
from .tasks import Attempt


@dataclass(frozen=True)
class Usage:
    """Of all tasks of a method on one album.

    `by_turn`: for each turn, calls by tool, "none" for a turn that only thinks; `refused`: calls that ended
    in an error. `read`, `written`: tokens a task (mean). `tokens`: how they are known; "none": no model.
    `call_ms`, `think_ms`: a task (mean). `by_type`: for each type of question (question_types.py), calls by
    tool.
    """

    tasks: int
    turns: float
    by_turn: tuple[dict[str, int], ...]
    refused: int
    tokens: Tokens
    read: float
    written: float
    call_ms: float
    think_ms: float
    by_type: dict[str, dict[str, int]] = field(default_factory=dict)


def usage(done: Sequence[Attempt]) -> Usage:
    """Of those that have a trace; calls by type of question of all."""
    traces = [one.trace for one in done if one.trace is not None]
    costs = [sum_of([*(turn.cost for turn in trace.turns), trace.cost]) for trace in traces]
    longest = max((len(trace.turns) for trace in traces), default=0)
    known = [trace.tokens for trace in traces if trace.tokens != "none"]
    return Usage(
        tasks=len(traces),
        turns=_mean([len(trace.turns) for trace in traces]),
        by_turn=tuple(_at(traces, turn) for turn in range(longest)),
        refused=sum(bool(turn.error) for trace in traces for turn in trace.turns),
        tokens=known[0] if known else "none",
        read=_mean([cost.read for cost in costs]),
        written=_mean([cost.written for cost in costs]),
        call_ms=_mean([sum(turn.ms for turn in trace.turns) for trace in traces]),
        think_ms=_mean([cost.ms for cost in costs]),
        by_type=_by_type(done),
    )


def sum_of(costs: Sequence[Cost]) -> Cost:
    return Cost(sum(c.read for c in costs), sum(c.written for c in costs), sum(c.ms for c in costs))


def _by_type(done: Sequence[Attempt]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for one in done:
        found.setdefault(type_of(one.task.text), Counter()).update(one.tools)
    return {kind: dict(tools.most_common()) for kind, tools in found.items() if tools}


def _at(traces: Sequence[Trace], turn: int) -> dict[str, int]:
    made = [trace.turns[turn].call for trace in traces if turn < len(trace.turns)]
    return dict(Counter("none" if call is None else calls.name_of(call) for call in made))


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 2) if values else 0.0
