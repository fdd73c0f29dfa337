"""Meters what a mind uses: tokens that its model reads and writes, and its own time, turn by turn.

The bundle's language model is counted at its decoder, the model behind an endpoint estimated from characters:
the answers of endpoints disagree on whether they say how many tokens they used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, cast

from gamer.runtime.agent.context import tokens
from gamer.runtime.agent.loop import Step
from gamer.runtime.agent.recording import Cost, Tokens
from gamer.runtime.models.language.endpoint import Endpoint
from gamer.runtime.models.language.llm import Generation, LanguageModel, Request
from gamer.runtime.models.models import Models


class Meter:
    """Of one task. `how`: how its tokens are known."""

    def __init__(self) -> None:
        self.how: Tokens = "none"
        self._read = self._written = 0
        self._costs: list[Cost] = []
        self._since = perf_counter_ns()

    def used(self, how: Tokens, read: int, written: int) -> None:
        self.how = how
        self._read += read
        self._written += written

    def on_step(self, step: Step) -> None:
        self._costs.append(self._taken(step.ms))

    def costs(self) -> tuple[Cost, ...]:
        """Of each turn, and of the thinking after the last."""
        return (*self._costs, self._taken(0.0))

    def _taken(self, call_ms: float) -> Cost:
        now = perf_counter_ns()
        cost = Cost(self._read, self._written, round(max((now - self._since) / 1e6 - call_ms, 0.0), 3))
        self._read, self._written, self._since = 0, 0, now
        return cost


@dataclass(frozen=True)
class MeteredEndpoint(Endpoint):
    """`temperature`, `seed`: of each request; 0 asks for the likeliest answer, as the mind does by itself."""

    meter: Meter = field(default_factory=Meter)
    temperature: float = 0.0
    seed: int = 0

    def complete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        drawn = {"temperature": self.temperature, "seed": self.seed} if self.temperature else {}
        message = super().complete({**request, **drawn})
        read = tokens(request["messages"]) + tokens(request.get("tools", ()))
        self.meter.used("estimated", read, tokens([message]))
        return message


class _MeteredLanguage:
    def __init__(self, model: LanguageModel, meter: Meter) -> None:
        self._model, self._meter = model, meter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def generate(self, request: Request) -> Generation:
        generated = self._model.generate(request)
        self._meter.used("counted", generated.computed, len(generated.ids))
        return generated


class _MeteredModels:
    def __init__(self, models: Models, meter: Meter) -> None:
        self._models, self._meter = models, meter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._models, name)

    @property
    def language_model(self) -> LanguageModel:
        return cast(LanguageModel, _MeteredLanguage(self._models.language_model, self._meter))


def metered(models: Models, meter: Meter) -> Models:
    """The same models, whose language model tells the meter what it reads (prefixes excepted) and writes."""
    return cast(Models, _MeteredModels(models, meter))
