"""A person's Big Five as a vector that each turn moves a little: p ← λp + (1 - λ)p′.

λ rises by a cosine from LAMBDA_FIRST to LAMBDA_LAST over SETTLED turns: the first turns say much about a
person whom one does not know, later ones little. p′ is what words of the turn say about each trait; a turn
that says nothing about a trait does not move it. It is off until the person turns it on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from math import cos, pi, tanh

from gamer.index.json_checked import stored
from gamer.index.memory.store import MemoryStore

from .words import content

TRAITS = ("openness", "conscientiousness", "extraversion", "agreeableness", "neuroticism")
LAMBDA_FIRST, LAMBDA_LAST, SETTLED = 0.6, 0.98, 200
_STATE, _ON = "personality", "personality on"
# Trait → words that speak for it, and against it.
_SIGNS = (
    (
        "art museum travel curious learn learning book books music poem idea ideas imagine novel theatre "
        "explore painting philosophy creative wonder",
        "boring routine ordinary conventional",
    ),
    (
        "plan planned schedule organised organized list finished deadline prepared tidy goal early budget "
        "careful studied practice",
        "late forgot messy procrastinated lazy chaos postponed",
    ),
    (
        "party friends everyone together excited dance danced talk crowd fun invited celebrate celebrated "
        "band team",
        "alone quiet shy tired introvert silence",
    ),
    (
        "thanks thank grateful help helped sorry kind love care volunteer together support family trust "
        "forgive",
        "stupid idiot annoying hate selfish argue argued rude",
    ),
    (
        "worried anxious stress stressed afraid scared nervous panic upset cry cried sad "
        "overwhelmed lonely "
        "angry",
        "calm relaxed peaceful confident fine",
    ),
)
_WORDS = tuple((frozenset(high.split()), frozenset(low.split())) for high, low in _SIGNS)
_SAID = (
    ("curious about new things", "fond of what is familiar"),
    ("organised", "spontaneous"),
    ("outgoing", "reserved"),
    ("warm towards others", "blunt"),
    ("easily worried", "calm"),
)


@dataclass(frozen=True)
class Personality:
    """`traits`: five numbers in 0..1, by TRAITS; 0.5 says nothing. `turns`: read; `last`: its id."""

    traits: tuple[float, ...] = (0.5,) * 5
    turns: int = 0
    last: int = 0

    def after(self, text: str, turn: int) -> Personality:
        """This personality after one more turn of the person's."""
        keep, words = weight(self.turns), set(content(text[:20_000]))
        moved = []
        for p, (high, low) in zip(self.traits, _WORDS, strict=True):
            signs = len(words & high) - len(words & low)
            seen = 0.5 + 0.5 * tanh(signs / 2)
            moved.append(keep * p + (1 - keep) * seen if words & (high | low) else p)
        return Personality(tuple(moved), self.turns + 1, turn)

    def sentence(self) -> str:
        """What it says, in words; "" while it says nothing."""
        said = [
            high if p > 0.5 else low
            for p, (high, low) in zip(self.traits, _SAID, strict=True)
            if abs(p - 0.5) >= 0.1
        ]
        return f"Comes across as {', '.join(said)}." if said else ""


def weight(turn: int) -> float:
    """λ of the turn with this number, from 0."""
    share = (1 - cos(pi * min(turn / SETTLED, 1.0))) / 2
    return LAMBDA_FIRST + (LAMBDA_LAST - LAMBDA_FIRST) * share


def is_on(store: MemoryStore) -> bool:
    return store.setting(_ON) == "1"


def turn_on(store: MemoryStore, on: bool) -> None:
    """Turning it off also forgets what it was."""
    store.set(_ON, "1" if on else "0")
    store.set(_STATE, "")


def read(store: MemoryStore) -> Personality:
    """As it was stored; the neutral one if it was not, or was forgotten."""
    state: Personality | None = stored(Personality, store.setting(_STATE) or "null")
    if state is None or len(state.traits) != len(TRAITS):
        return Personality()
    return replace(state, traits=tuple(min(max(p, 0.0), 1.0) for p in state.traits))


def advance(store: MemoryStore, owner: str, batch: int = 256) -> Personality:
    """Takes up the owner's digested turns that it has not read; does nothing while it is off."""
    state = before = read(store)
    if not is_on(store):
        return state
    while turns := store.digested_after(state.last, batch):
        for one in turns:
            if one.turn.speaker == owner:
                state = state.after(one.turn.text, one.id)
        state = Personality(state.traits, state.turns, turns[-1].id)
    if state != before:
        store.set(_STATE, json.dumps({"traits": state.traits, "turns": state.turns, "last": state.last}))
    return state
