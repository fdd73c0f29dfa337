"""Derives the turns of a dialogue from a checkpoint's own chat template, by what it makes of probes.

A turn is a text before and after the words of a message. A template that does more than that (one whose marks
depend on what is said, or on the day) cannot be expressed in turns, and is reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gamer.runtime.models.language.chat import Role

from ..checkpoints.chat_template import ChatTemplate
from .rendering import Dialogue, render

PLACE = "{query}"
Turns = dict[Role, str]
# Words that no template has, without spaces at their ends, which many templates cut off.
_S, _A, _B, _C = ("qxsystemxq", "qxfirstxq", "qxanswerxq", "qxsecondxq")
_THREE = (("user", _A), ("assistant", _B), ("user", _C))
_SYSTEM = ("system", _S)


@dataclass(frozen=True)
class Derived:
    """The turns, {} if the template cannot be expressed. `notes`: one line for each thing left out."""

    turns: Turns
    notes: tuple[str, ...] = ()


class _Inexpressible(Exception):
    pass


@lru_cache(maxsize=4)
def derive(template: ChatTemplate, begins: bool) -> Derived:
    """The turns of `template`. `begins`: the tokenizer itself puts the begin mark before every text."""
    dialogues = (
        Dialogue(_THREE, True),
        Dialogue(_THREE[:1], False),
        Dialogue(_THREE[:2], False),
        Dialogue((_SYSTEM, *_THREE), True),
    )
    texts = render(template.text, template.bos, template.eos, dialogues)
    try:
        if texts is None or None in texts[:3]:
            raise _Inexpressible("it is refused, or renders no dialogue")
        return _derived(template, [_begun(text or "", template.bos, begins) for text in texts])
    except _Inexpressible as error:
        return Derived(
            {}, (f"the checkpoint's chat template cannot be expressed in turns ({error}): use --raw",)
        )


def _begun(text: str, bos: str, begins: bool) -> str:
    """`text` without the begin mark that the tokenizer adds."""
    return text.removeprefix(bos) if begins and bos else text


def _derived(template: ChatTemplate, texts: list[str]) -> Derived:
    three, one, two, with_system = texts
    first, answer, again, last = _between(three, _A, _B, _C)
    before_answer = _ending(one, _A, answer, template.eos)
    after_answer = _ending(two, _B, again, template.eos)
    user = again.removeprefix(after_answer)
    if template.bos and user == template.bos + first:  # Llama 2 begins every question anew
        user, after_answer = first, after_answer + template.bos
    # The space that some put before an answer is what the model itself says first.
    said = last if answer == last + " " else answer
    turns: Turns = {
        "user": f"{user}{PLACE}{before_answer}",
        "assistant": f"{said.removeprefix(before_answer)}{PLACE}{after_answer}",
    }
    notes = []
    system = _system(with_system, user)
    if system is not None:
        turns = {"system": system, **turns}
    elif with_system and _between_or_none(with_system, _S, _A) not in ((first, "\n\n"), None):
        notes.append("the chat template's system turn cannot be expressed: its words begin the user's turn")
    if any(turn.count(PLACE) != 1 for turn in turns.values()):
        raise _Inexpressible(f"it writes {PLACE}")
    spaced = three.replace(f"{answer}{_B}", f"{said}{_B}")
    if written(turns, _THREE) != spaced:
        if system is None or not first.endswith(user):
            raise _Inexpressible("its marks differ from turn to turn")
        notes.append("the chat template's own system message is left out")
    if system is not None and written(turns, (_SYSTEM, *_THREE)) != with_system.replace(
        f"{answer}{_B}", f"{said}{_B}"
    ):
        raise _Inexpressible("its marks differ from turn to turn")
    return Derived(turns, tuple(notes))


def written(turns: Turns, messages: tuple[tuple[str, str], ...]) -> str:
    """A dialogue in turns, up to where the answer begins, as runtime/models/language/chat.py writes it."""
    said = "".join(turns[role].replace(PLACE, words) for role, words in messages)  # type: ignore[index]
    return said + turns["assistant"].partition(PLACE)[0]


def _between(text: str, *words: str) -> list[str]:
    """What stands before, between and after the words, each of which occurs once, in this order."""
    parts = []
    for word in words:
        before, found, text = text.partition(word)
        if not found or word in text:
            raise _Inexpressible("it leaves words out, or repeats them")
        parts.append(before)
    return [*parts, text]


def _between_or_none(text: str, *words: str) -> tuple[str, ...] | None:
    """What stands before and between the words; None if they do not occur in this order."""
    try:
        return tuple(_between(text, *words)[: len(words)])
    except _Inexpressible:
        return None


def _ending(text: str, word: str, following: str, eos: str) -> str:
    """What ends the turn of `word`, which ends `text`; "" if `following`, a later text, tells another."""
    end = text.partition(word)[2]
    return next((e for e in (end, end.removesuffix(eos)) if e and following.startswith(e)), "")


def _system(with_system: str, user: str) -> str | None:
    """The system's turn; None if the template has none, or writes its words into the user's."""
    parts = _between_or_none(with_system, _S, _A)
    if parts is None or not user or not parts[1].endswith(user):
        return None
    return f"{parts[0]}{PLACE}{parts[1].removesuffix(user)}"
