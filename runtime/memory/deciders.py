"""The deciders of a memory by name: what a turn tells, and what to retrieve for a question.

The rules decide in no time. The bundle's language model (`llm_decider.py`) decides beside them: what it
cannot decide is left to them. Its module is loaded on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import BundleError, check_choice
from .thinking import Decider

if TYPE_CHECKING:
    from ..models.models import Models


def decider(name: str, models: Models | None) -> Decider:
    """Raises RuntimeFailure for an unknown name, and for the model where the bundle has none."""
    check_choice("decider", name, DECIDERS)
    return DECIDERS[name](models)


def _llm(models: Models | None) -> Decider:
    if models is None or models.manifest.language is None:
        raise BundleError("--decider llm needs a bundle with a language model: name one with -b")
    from .llm_decider import LlmDecider

    return LlmDecider.open(models)


DECIDERS: dict[str, Callable[[Models | None], Decider]] = {
    "rules": lambda models: Decider(),
    "llm": _llm,
}
