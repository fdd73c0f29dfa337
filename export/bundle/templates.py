"""Derives the turns of a dialogue from a checkpoint's own chat template, by what it makes of probes.

A turn is a text before and after the words of a message. A template that does more than that (one whose marks
depend on what is said, or on the day) cannot be expressed in turns, and is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from ..checkpoints.chat_template import ChatTemplate, Picture
from .rendering import Dialogue, render

PLACE = "{query}"
# By role; "picture" is a user's that begins with a picture, "begin" what stands once, before the first turn.
Turns = dict[str, str]
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
def derive(template: ChatTemplate, begins: bool, picture: Picture | None = None) -> Derived:
    """The turns of `template`. `begins`: the tokenizer itself puts the begin mark before every text.

    `picture`: how a model that sees is told of a picture.
    """
    parts = picture is not None
    dialogues = (
        Dialogue(_THREE, True, parts),
        Dialogue(_THREE[:1], False, parts),
        Dialogue(_THREE[:2], False, parts),
        Dialogue((_SYSTEM, *_THREE), True, parts),
        Dialogue((("picture", _A),), False, parts),
    )
    texts = render(template.text, template.bos, template.eos, dialogues)
    try:
        if texts is None or None in texts[:3]:
            raise _Inexpressible("it is refused, or renders no dialogue")
        *four, shown = [_begun(text or "", template.bos, begins) for text in texts]
        found = _derived(template, four)
        return found if picture is None else _with_picture(found, four[0], shown, picture)
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
    begin = first.removesuffix(user)
    if user and begin and begin + user == first and (begin == template.bos or with_system.startswith(begin)):
        told = _derived(template, [text.removeprefix(begin) for text in texts])
        return replace(told, turns={"begin": begin, **told.turns})
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


def _with_picture(found: Derived, three: str, shown: str, picture: Picture) -> Derived:
    """`found`, with the turn of a user who shows a picture as in `shown`; `three`: a dialogue without."""
    before, _, after = found.turns["user"].partition(PLACE)
    begin = three.partition(_A)[0].removesuffix(before)
    turn = shown.partition(_A)[0].removeprefix(begin)
    if _A not in shown or turn.count(picture.mark) != 1:
        note = "the checkpoint's chat template has no place for a picture: --image is refused"
        return replace(found, notes=(*found.notes, note))
    turn = turn.replace(picture.mark, picture.written) + PLACE + after
    return replace(found, turns={**found.turns, "picture": turn})


def written(turns: Turns, messages: tuple[tuple[str, str], ...]) -> str:
    """A dialogue in turns, up to where the answer begins, as runtime/models/language/chat.py writes it."""
    said = "".join(turns[role].replace(PLACE, words) for role, words in messages)
    return turns.get("begin", "") + said + turns["assistant"].partition(PLACE)[0]


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
