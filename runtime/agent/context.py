"""Keeps a long task's conversation within a model's context: messages in, messages out.

When a conversation has used two thirds of the context, what was said is replaced by two short memories. The
session memory holds what stays true: the question, the subsets with their sizes, and the photos and events
seen, a line each. The working memory holds what the mind was doing: its last thought, which is its plan, and
the last result. Nothing here knows how a mind asks its model: `condensed` is for messages of an unknown
tokenizer, `fitted` for a text whose tokens can be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .results import one_line

Message = Mapping[str, Any]  # as OpenAI's chat completions have them: "role", "content", and maybe more
CHARACTERS = 4  # of a token, for an estimate that needs no tokenizer
FULL = 2 / 3  # share of the context that may be used before the conversation is condensed
MAX_PHOTOS = 60  # of the session memory: those seen last
MAX_THOUGHT = 800  # characters of the working memory's plan
MAX_CONTEXT = 10_000_000  # tokens
LEAST_MEMORY = 200  # characters of both memories; fewer hold neither goal nor plan
LEAST_CONTEXT = 4_096  # tokens: less does not hold the tools and one result


@dataclass(frozen=True)
class Session:
    """What a task has found so far.

    `goal`: the question. `subsets`: name → number of photos, the latest last. `seen`: id → the line that a
    result showed of the photo or event, the latest last. `thought`: what the mind said last, its plan.
    `last`: the preview of the last result, which it has not yet used.
    """

    goal: str
    subsets: Mapping[str, int] = field(default_factory=dict)
    seen: Mapping[str, str] = field(default_factory=dict)
    thought: str = ""
    last: str = ""

    def with_result(
        self, thought: str, preview: str, shown: Mapping[str, str], saved_as: str = "", size: int = 0
    ) -> Session:
        """After a turn. `shown`: id → line of what its result showed; `saved_as`, `size`: of its subset."""
        seen = {key: line for key, line in self.seen.items() if key not in shown} | dict(shown)
        subsets = {name: n for name, n in self.subsets.items() if name != saved_as}
        if saved_as:
            subsets[saved_as] = size
        kept = dict(list(seen.items())[-MAX_PHOTOS:])
        return Session(self.goal, subsets, kept, thought or self.thought, preview)

    def memory(self, characters: int) -> str:
        """Both memories as text of at most `characters` characters; the oldest photos are left out first."""
        goal = one_line(self.goal, max(characters // 4, 80))
        subsets = [f"{name}: {size} photos" for name, size in list(self.subsets.items())[-20:]]
        lines = [
            "What was said before is replaced by these notes.",
            f'Goal: "{goal}"',
            "Subsets: " + ("; ".join(subsets) or "none"),
        ]
        plan = one_line(self.thought, MAX_THOUGHT) or "none yet"
        last = self.last[: max(characters // 4, 80)]
        working = ["Working on it:", f"Plan: {plan}", "Last result:", last or "none"]
        left = characters - sum(len(line) + 1 for line in [*lines, *working]) - len("Seen:\n")
        lines_seen: list[str] = []
        for line in reversed(list(self.seen.values())):
            if len(line) + 1 > left:
                break
            left -= len(line) + 1
            lines_seen.append(line)
        seen = ["Seen:", *reversed(lines_seen)] if lines_seen else []
        return "\n".join([*lines, *seen, *working])[:characters]


def tokens(messages: Sequence[Message]) -> int:
    """An estimate of the tokens of messages: characters of all their values / 4, rounded up."""
    return -(-sum(_characters(value) for message in messages for value in message.values()) // CHARACTERS)


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(len(str(key)) + _characters(item) for key, item in value.items())
    if isinstance(value, Sequence):
        return sum(_characters(item) for item in value)
    return len(str(value))


def condensed(messages: Sequence[Message], session: Session, context: int, spent: int = 0) -> list[Message]:
    """The messages to go on with: as they are while they fit, else the first one and the memories.

    The first message is the system's prompt, which stays. `context`: tokens that the model takes; `spent`:
    those that every request needs besides the messages, such as the tools' definitions.
    """
    allowed = int(context * FULL)
    if tokens(messages) + spent <= allowed:
        return list(messages)
    first = list(messages[:1])
    left = max(allowed - spent - tokens(first), 100)
    return [*first, {"role": "user", "content": session.memory(left * CHARACTERS * 3 // 4)}]


def fitted(session: Session, room: int, count: Callable[[str], int]) -> str:
    """Both memories in at most `room` tokens, as `count` counts them; "" if they need more."""
    characters = room * CHARACTERS
    while characters >= LEAST_MEMORY:
        if count(text := session.memory(characters)) <= room:
            return text
        characters = characters * 3 // 4
    return ""
