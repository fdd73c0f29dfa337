"""Conversations with changes of mind, made by a seeded program, and whether the memory keeps up with them.

In each the person moves, changes the job, no longer likes something and corrects a date, in varying words,
in varying order, among small talk. Asked are the value now and, where there was one, the value before, and
things that were never said, for which nothing may be made up.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from gamer.index.memory.store import MemoryStore
from gamer.runtime.memory.chat import Conversation
from gamer.runtime.memory.thinking import Decider

from .talks import new_album

CONVERSATIONS = 200
BY_MODEL = 3  # a language model takes a minute for each
_START = datetime(2024, 1, 1, 9)
_PLACES = ["Porto", "Lisbon", "Oslo", "Geneva", "Kyoto", "Lima", "Dublin", "Prague", "Seville", "Quebec"]
_JOBS = ("nurse", "plumber", "cook", "translator", "carpenter", "librarian", "baker", "geologist")
_THINGS = ("coffee", "green tea", "jazz", "chess", "sushi", "sailing", "opera", "gardening")
_DAYS = ("the 3rd of May", "the 9th of June", "the 21st of July", "the 14th of August", "the 2nd of October")
_EVENTS = ("dentist appointment", "graduation", "piano recital", "driving test")
_SMALL = (
    "The weather was lovely on the way to the market.", "I watched a film about penguins.",
    "Thanks, that helped!", "The neighbours painted their fence blue.", "My bicycle had a flat tyre again.",
    "We cooked a huge pot of soup on Sunday.", "My sister came by with friends.", "Lovely to talk to you.",
)  # fmt: skip
_NEVER = ("What is my cat's name?", "Am I allergic to walnuts?", "What is my favourite opera singer?",
          "What car do I drive?")  # fmt: skip


@dataclass(frozen=True)
class Change:
    """`said`: the two turns. `asked`: the questions about now and before, with what the answers must name."""

    kind: str
    said: tuple[str, str]
    now: tuple[str, str]
    before: tuple[str, str]


@dataclass(frozen=True)
class Updates:
    """Shares of questions answered right, by kind of change and in all. `invented`: made-up answers."""

    conversations: int
    now: dict[str, float]
    before: dict[str, float]
    invented: int
    never_said: int


def measure(
    tell: Callable[[str], None], conversations: int = CONVERSATIONS, decider: Decider | None = None
) -> Updates:
    """`decider`: what draws the facts and chooses the retrievals; None for the rules."""
    now: dict[str, list[bool]] = {}
    before: dict[str, list[bool]] = {}
    invented = asked = 0
    with tempfile.TemporaryDirectory() as aside:
        for number in range(conversations):
            tell(f"changes of mind: {number + 1} of {conversations}")
            chance = random.Random(number)
            with MemoryStore.open(new_album(Path(aside) / f"{number}.gamer")) as store:
                talk = _Talk(store, chance, decider)
                changes = script(chance)
                for part in (0, 1):
                    for change in changes:
                        talk.say(change.said[part])
                for change in changes:
                    for scores, (question, wanted) in ((now, change.now), (before, change.before)):
                        right = talk.answers(question, wanted)
                        scores.setdefault(change.kind, []).append(right)
                        scores.setdefault("all", []).append(right)
                for question in _NEVER:
                    invented += talk.invents(question)
                    asked += 1
    return Updates(conversations, _shares(now), _shares(before), invented, asked)


def script(chance: random.Random) -> list[Change]:
    """The changes of one conversation, in an order of their own."""
    place, place2 = chance.sample(_PLACES, 2)
    job, job2 = chance.sample(_JOBS, 2)
    day, day2 = chance.sample(_DAYS, 2)
    thing, event = chance.choice(_THINGS), chance.choice(_EVENTS)
    live = chance.choice(
        ("I live in {}.", "We moved to {} in spring.", "I'm based in {}.", "My home is in {}.")
    )
    moved = chance.choice(("I moved to {}.", "We've just moved to {}, at last.", "I live in {} now."))
    work = chance.choice(
        ("I work as a {}.", "I'm a {}.", "My job is being a {}.", "I started as a {} in May.")
    )
    works = chance.choice(("I quit and now I work as a {}.", "My new job is {}.", "I retrained as a {}."))
    like = chance.choice(("I love {}.", "I really like {}.", "I'm a fan of {}."))
    dislike = chance.choice(("I no longer like {}.", "I stopped liking {}.", "I don't like {} anymore."))
    on = chance.choice(("My {} is on {}.", "The {} is set for {}.", "My {} will be on {}."))
    moves = chance.choice(
        ("My {} was moved to {}.", "Sorry, my {} is actually on {}.", "The {} got postponed to {}.")
    )
    changes = [
        Change("moved", (live.format(place), moved.format(place2)),
               (chance.choice(("Where do I live?", "Which city do I live in now?")), place2),
               (chance.choice(("Where did I live before?", "Where did I use to live?")), place)),
        Change("job", (work.format(job), works.format(job2)),
               (chance.choice(("What is my job?", "What do I do for a living?")), job2),
               (chance.choice(("What was my job before?", "What did I do for work before?")), job)),
        Change("likes", (like.format(thing), dislike.format(thing)),
               (f"Do I like {thing}?", "no longer|stopped|don't"),
               (f"Did I use to like {thing}?", "love|really like|fan of|like ")),
        Change("date", (on.format(event, day), moves.format(event, day2)),
               (f"When is my {event}?", day2), (f"When was my {event} originally?", day)),
    ]  # fmt: skip
    chance.shuffle(changes)
    return changes


class _Talk:
    def __init__(self, store: MemoryStore, chance: random.Random, decider: Decider | None) -> None:
        self._chat, self._now, self._chance = Conversation(store, decider=decider), _START, chance

    def say(self, line: str) -> None:
        for one in (line, *self._chance.sample(_SMALL, self._chance.randint(0, 2))):
            self._chat.say(one, self._now)
            self._now += timedelta(minutes=self._chance.choice((1, 5, 300, 2_000)))

    def answers(self, question: str, wanted: str) -> bool:
        """Whether the answer names the value as a memory by key, not only somewhere in a quote."""
        reply = self._chat.say(question, self._now).reply
        self._now += timedelta(minutes=1)
        said = " ".join(item.value.text for item in reply.core).casefold()
        return len(reply.core) == 1 and any(one.casefold() in said for one in wanted.split("|"))

    def invents(self, question: str) -> bool:
        reply = self._chat.say(question, self._now).reply
        self._now += timedelta(minutes=1)
        return bool(reply.core)


def _shares(right: dict[str, list[bool]]) -> dict[str, float]:
    return {kind: round(sum(values) / len(values), 4) for kind, values in right.items()}
