"""Things by the bundle's language model, beside the rules: the one that a memory is most about.

A grammar lets each value be consecutive words of the memory, or nothing, so that neither the model nor a
memory that tries to steer it can put a word into the bank which the memory does not have. Every answer is
kept, so that an interrupted run repeats no call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from gamer.index.entities.words import NOT_ENTITIES
from gamer.index.json_checked import stored
from gamer.index.things.extract import MAX_THINGS, extract
from gamer.index.things.records import ATTRIBUTES, UNSPECIFIED, Attributes, Sighting
from gamer.index.things.words import words

from ..cues.quoted import pieces
from ..models.language.grammar import Constraint, Grammar
from ..models.models import Models
from .answers import Answers

FIELDS = ("thing", *(name for name in ATTRIBUTES if name != "category"))  # the list of words has the category
MAX_NEW = 128
_MAX_VALUE = 40  # characters; a longer answer repeats the memory
# ChatML, which the bundles' instruction models share; a bundle may have its own prompt named "things".
PROMPT = """<|im_start|>system
Quote from the note the one thing that it is about, and what it says of it. Leave out what it does not \
say.<|im_end|>
<|im_start|>user
I bought a red leather handbag with two pockets for work<|im_end|>
<|im_start|>assistant
{"thing":"handbag","subcategory":"","color":"red","texture":"","shape":"","material":"leather","brand":"",\
"style":"","pattern":"","feature":"two pockets","usage":"work","status":""}<|im_end|>
<|im_start|>user
{query}<|im_end|>
<|im_start|>assistant
"""


class LlmThings:
    """Memory text → things: those of the rules, and the one that the model quotes.

    `ask`: a note → the model's values by FIELDS as JSON, "" if it has none. `model`: its name in the cache.
    """

    def __init__(self, ask: Callable[[str], str], model: str, cache: Path) -> None:
        self._ask, self._answers = ask, Answers(cache)
        self._model = hashlib.sha256(f"things\n{model}".encode()).hexdigest()

    @classmethod
    def open(cls, models: Models, cache: Path) -> LlmThings:
        """Uses the bundle's language model. Raises BundleError if it has none."""
        artifact = models.manifest.artifact("llm_decoder", models.backend)
        prompt = models.manifest.prompts.get("things", PROMPT)
        asked = hashlib.sha256(prompt.encode()).hexdigest()
        return cls(lambda note: _generate(models, prompt, note), f"{artifact.sha256}\n{asked}", cache)

    def __call__(self, text: str) -> tuple[Sighting, ...]:
        found = extract(text)
        note = " ".join(pieces(text))
        if not note:
            return found
        answer = self._answers.of(f"{self._model}\n{note}".encode(), lambda: self._ask(note) or "{}")
        return merged(found, sighting(answer, note))


def grammar(note: str) -> Grammar:
    """The grammar of an object of FIELDS, each of which is words of the note, unchanged, or empty."""
    spans, result = pieces(note), Grammar()
    for at, name in enumerate(FIELDS):
        result.literal(("{" if at == 0 else '",') + f'"{name}":"').span_of(spans)
    return result.literal('"}').done()


def sighting(answer: str, note: str) -> Sighting | None:
    """The thing of an answer; None if it names none, or a word that the note does not have.

    A small model that knows nothing to say repeats itself: a value that it gives twice counts for nothing.
    """
    values = stored(dict[str, Any], answer)
    if values is None:
        return None
    quoted = {name: _quoted(values.get(name), note) for name in FIELDS}
    if not quoted["thing"]:
        return None
    given = list(quoted.values())
    head = words().noun(quoted.pop("thing").split()[-1])
    if len(head) < 2 or head in words().no_heads:
        return None
    told = {
        name: value if value and given.count(value) == 1 and value not in NOT_ENTITIES else UNSPECIFIED
        for name, value in quoted.items()
    }
    return Sighting(head, Attributes(category=words().category_of.get(head, UNSPECIFIED), **told))


def merged(found: tuple[Sighting, ...], quoted: Sighting | None) -> tuple[Sighting, ...]:
    """The rules' things, with what the model says of the first with its head; else its own after them."""
    if quoted is None:
        return found
    for at, one in enumerate(found):
        if one.head == quoted.head:
            told = {
                name: value if value != UNSPECIFIED else getattr(quoted.attributes, name)
                for name, value in vars(one.attributes).items()
            }
            return (*found[:at], replace(one, attributes=Attributes(**told)), *found[at + 1 :])
    return (*found, quoted)[:MAX_THINGS]


def _quoted(value: object, note: str) -> str:
    """A value in lower case; "" unless it is words of the note and no sentence."""
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_VALUE:
        return ""
    return value.casefold() if f" {value.casefold()} " in f" {_plain(note)} " else ""


def _plain(note: str) -> str:
    return " ".join("".join(c if c.isalnum() or c in "-'" else " " for c in note.casefold()).split())


def _generate(models: Models, prompt: str, note: str) -> str:
    from ..models.language.chat import completed

    constraint = Constraint(grammar(note), models.llm_vocabulary)
    answer = completed(models, prompt.replace("{query}", note), MAX_NEW, constraint=constraint)
    if answer is None or not constraint.complete:
        return ""
    return b"".join(models.llm_vocabulary.bytes_of[i] for i in answer.ids).decode("utf-8", "replace")
