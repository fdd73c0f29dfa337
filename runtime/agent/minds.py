"""The minds by name, each made on first use: a task by rules imports no language model."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from ..errors import check_choice
from .loop import Mind
from .toolbox import Toolbox


def _rules(toolbox: Toolbox, now: datetime | None) -> Mind:
    from .rules import RulesMind
    from .spans import SpanReader

    return RulesMind(toolbox, SpanReader(toolbox.engine, now))


def _llm(toolbox: Toolbox, now: datetime | None) -> Mind:
    from .llm_mind import LlmMind

    return LlmMind(toolbox, toolbox.engine.models)


MINDS: dict[str, Callable[[Toolbox, datetime | None], Mind]] = {"rules": _rules, "llm": _llm}


def mind(name: str, toolbox: Toolbox, now: datetime | None = None) -> Mind:
    """`now`: wall time, from which "last spring" is counted. Raises RuntimeFailure for an unknown name."""
    check_choice("mind", name, MINDS)
    return MINDS[name](toolbox, now)


def endpoint_mind(toolbox: Toolbox, url: str | None, model: str, context: int) -> Mind:
    """The mind of a model behind an endpoint, by default one on this machine. Raises RuntimeFailure."""
    from ..models.language.endpoint import DEFAULT_ENDPOINT, Endpoint
    from .openai_mind import OpenAiMind

    return OpenAiMind(toolbox, Endpoint(url or DEFAULT_ENDPOINT, model), context)
