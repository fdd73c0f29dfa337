"""A person's Big Five as a vector that each turn moves a little: p ← λp + (1 - λ)p′ (PersonaVLM, A.1).

λ is 0.7 - 0.2 · cos(π m / SETTLED) at turn m: the first turns say much about a person whom one does not know,
later ones less. p′ are five whole scores from 1 to 5, by words of the turn; a turn whose scores are all
neutral moves nothing. The paper's text does not tell over how many turns λ rises. It is off until the person
turns it on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from math import cos, pi

from gamer.index.json_checked import stored
from gamer.index.memory.store import MemoryStore

from .words import content

TRAITS = ("openness", "conscientiousness", "extraversion", "agreeableness", "neuroticism")
SETTLED = 50  # turns until λ is 0.9
LEAST, NEUTRAL, MOST = 1, 3, 5  # of a score
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
SAID = 0.4  # how far from neutral a score is said
_SAID = (
    ("curious about new things", "fond of what is familiar"),
    ("organised", "spontaneous"),
    ("outgoing", "reserved"),
    ("warm towards others", "blunt"),
    ("easily worried", "calm"),
)


@dataclass(frozen=True)
class Personality:
    """`scores`: five numbers in 1..5, by TRAITS; 3 says nothing. `turns`: read; `last`: its id."""

    scores: tuple[float, ...] = (float(NEUTRAL),) * 5
    turns: int = 0
    last: int = 0

    def after(self, text: str, turn: int) -> Personality:
        """This personality after one more turn of the person's."""
        keep, words = weight(self.turns), set(content(text[:20_000]))
        signs = (len(words & high) - len(words & low) for high, low in _WORDS)
        seen = [min(max(NEUTRAL + sign, LEAST), MOST) for sign in signs]
        if all(score == NEUTRAL for score in seen):
            return Personality(self.scores, self.turns + 1, turn)
        moved = (keep * p + (1 - keep) * score for p, score in zip(self.scores, seen, strict=True))
        return Personality(tuple(moved), self.turns + 1, turn)

    def sentence(self) -> str:
        """What it says, in words; "" while it says nothing."""
        said = [
            high if p > NEUTRAL else low
            for p, (high, low) in zip(self.scores, _SAID, strict=True)
            if abs(p - NEUTRAL) >= SAID
        ]
        return f"Comes across as {', '.join(said)}." if said else ""


def weight(turn: int) -> float:
    """λ of the turn with this number, from 0."""
    return 0.7 - 0.2 * cos(pi * min(turn / SETTLED, 1.0))


def is_on(store: MemoryStore) -> bool:
    return store.setting(_ON) == "1"


def turn_on(store: MemoryStore, on: bool) -> None:
    """Turning it off also forgets what it was."""
    store.set(_ON, "1" if on else "0")
    store.set(_STATE, "")


def read(store: MemoryStore) -> Personality:
    """As it was stored; the neutral one if it was not, or was forgotten."""
    text = store.setting(_STATE) or "null"
    # Without scores it is of an older version, on another scale: the turns are read again.
    state: Personality | None = stored(Personality, text) if '"scores"' in text else None
    if state is None or len(state.scores) != len(TRAITS):
        return Personality()
    return replace(state, scores=tuple(min(max(p, float(LEAST)), float(MOST)) for p in state.scores))


def advance(store: MemoryStore, owner: str, batch: int = 256) -> Personality:
    """Takes up the owner's digested turns that it has not read; does nothing while it is off."""
    state = before = read(store)
    if not is_on(store):
        return state
    while turns := store.digested_after(state.last, batch):
        for one in turns:
            if one.turn.speaker == owner:
                state = state.after(one.turn.text, one.id)
        state = Personality(state.scores, state.turns, turns[-1].id)
    if state != before:
        store.set(_STATE, json.dumps({"scores": state.scores, "turns": state.turns, "last": state.last}))
    return state
