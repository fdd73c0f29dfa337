"""The deciders of a memory by name: what a turn tells, and what to retrieve for a question.

The rules decide in no time. The bundle's language model (`llm_decider.py`) decides beside them: what it
cannot decide is left to them. Its module is loaded on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from ..errors import BundleError, RuntimeFailure
from . import thinking
from .reading import facts
from .reading.facts import NOBODY, Fact, Meant
from .thinking import RoundQuestion, Seen, Step

if TYPE_CHECKING:
    from ..models.models import Models


class Decider(Protocol):
    """Decides what a turn tells, which sentence is a topic's, and what to retrieve. Texts are data to it."""

    def facts(self, text: str, meant: Meant = NOBODY) -> list[Fact]:
        """The facts of a turn, in order. `meant`: whom "she" means in it."""
        ...

    def topic(self, said: Sequence[str]) -> str | None:
        """The one of these sentences that tells what a topic was about; None to leave it to the counts."""
        ...

    def think(self, asked: RoundQuestion, seen: Sequence[Seen]) -> Step | None:
        """The next retrieval; None where the answer can be given."""
        ...


class RulesDecider:
    """The rules of facts.py and thinking.py."""

    def facts(self, text: str, meant: Meant = NOBODY) -> list[Fact]:
        return facts.facts_of(text, meant)

    def topic(self, said: Sequence[str]) -> str | None:
        return None

    def think(self, asked: RoundQuestion, seen: Sequence[Seen]) -> Step | None:
        return thinking.think(asked, seen)


def decider(name: str, models: Models | None) -> Decider:
    """Raises RuntimeFailure for an unknown name, and for the model where the bundle has none."""
    if name not in DECIDERS:
        raise RuntimeFailure(f"unknown decider {name!r}; choose one of: {', '.join(DECIDERS)}")
    return DECIDERS[name](models)


def _llm(models: Models | None) -> Decider:
    if models is None or models.manifest.language is None:
        raise BundleError("--decider llm needs a bundle with a language model: name one with -b")
    from .llm_decider import LlmDecider

    return LlmDecider.open(models)


DECIDERS: dict[str, Callable[[Models | None], Decider]] = {
    "rules": lambda models: RulesDecider(),
    "llm": _llm,
}
