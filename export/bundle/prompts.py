"""The prompts for refinement and for cues, in the dialogue format of each family of models, and that format
itself: what a turn of each role looks like (runtime/models/language/chat.py).

The decoder's cache for the text before the first placeholder is computed at export (prefixes.py), so that the
examples in a prompt cost a query no time.
"""

from __future__ import annotations

from dataclasses import dataclass

from gamer.runtime import defaults
from gamer.runtime.models.language import chat

from ..checkpoints.chat_template import ChatTemplate, Picture
from .templates import Derived, Turns, derive, written


@dataclass(frozen=True)
class _Task:
    system: str
    turns: tuple[tuple[str, str], ...]
    last: str


_REFINE = _Task(defaults.REFINE_SYSTEM, defaults.REFINE_EXAMPLES, defaults.REFINE_LAST)
_CUES = _Task(defaults.CUES_SYSTEM, defaults.CUES_EXAMPLES, defaults.CUES_LAST)


def _dialogue(task: _Task, turns: Turns) -> str:
    """A task as a dialogue. Without a turn of the system, its words begin the first user's (chat.py)."""
    told = [("system", task.system)] if "system" in turns else []
    begin = "" if told else f"{task.system}\n\n"
    for n, (question, answer) in enumerate(task.turns):
        told += [("user", question if n else begin + question), ("assistant", answer)]
    return written(turns, (*told, ("user", task.last)))


def _plain(task: _Task) -> str:
    """For models that were not trained on dialogues (GPT-2) or that read a single text (T5)."""
    examples = "".join(
        f"Search: {' '.join(question.split())}\nAnswer: {answer}\n\n" for question, answer in task.turns
    )
    return f"{task.system}\n\n{examples}Search: {task.last}\nAnswer:"


# A token of a tokenizer → the turns of the models that have it, for checkpoints without a template.
_FAMILIES: dict[str, Turns] = {
    "<|im_start|>": {role: f"<|im_start|>{role}\n{{query}}<|im_end|>\n" for role in chat.TURNS},
    "<start_of_turn>": {
        "user": "<start_of_turn>user\n{query}<end_of_turn>\n",
        "assistant": "<start_of_turn>model\n{query}<end_of_turn>\n",
    },
}


def prompts(
    tokenizer: str, template: ChatTemplate | None = None, picture: Picture | None = None
) -> dict[str, str]:
    """Prompt name → template, in the format of the checkpoint's own chat template.

    Without one that can be expressed in turns, in the format that this tokenizer.json has tokens for.
    `picture`: how a model that sees is told of one.
    """
    turns = derived(tokenizer, template, picture).turns
    if not turns and picture is None:
        turns = next((turns for mark, turns in _FAMILIES.items() if f'"{mark}"' in tokenizer), {})
    if not turns:
        return {"refine": _plain(_REFINE), "cues": _plain(_CUES)}
    named = {f"{chat.TURN}{name}": turn for name, turn in turns.items()}
    return {"refine": _dialogue(_REFINE, turns), "cues": _dialogue(_CUES, turns), **named}


def derived(tokenizer: str, template: ChatTemplate | None, picture: Picture | None = None) -> Derived:
    """The turns of the checkpoint's own chat template, and what to say of them."""
    from tokenizers import Tokenizer

    if template is None:
        return Derived({})
    begin = Tokenizer.from_str(tokenizer).encode("").tokens
    return derive(template, bool(begin) and begin[0] == template.bos, picture)
