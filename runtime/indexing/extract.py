"""Entities by the bundle's language model, in addition to the rules.

Every answer is kept, so that an interrupted run repeats no call. Memories are untrusted text, and so are
answers about them: a line of an answer counts only if it reads "kind: name", and the name occurs in the
memory itself, or "head | relation | tail", and head and tail are entities of the memory. So the most that a
hostile memory can do is make the model relate words of that memory.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from gamer.index import Mention, canonical, extract
from gamer.index.entities.relations import upwards

from ..models.models import Models
from .answers import Answers

KINDS = ("person", "place", "thing", "price", "date")
MAX_NEW = 128  # tokens: a dozen lines
MAX_TEXT = 600  # characters of a memory that the model is shown; small models do poorly on longer text
_MAX_NAME, _MAX_MENTIONS = 60, 16
_LINE = re.compile(r"[-*\s]*(person|place|thing|price|date)\s*:\s*(.+)", re.I)
_RELATION = re.compile(r"[-*\s]*+([^|]+)\|\s*([a-z][a-z ]{0,30}?)\s*\|([^|]+)", re.I)
_FORBIDDEN = re.compile(r"[<>|\x00-\x1f\x7f]+")  # every turn marker contains one of these
# ChatML, which the bundles' instruction models share; a bundle may have its own prompt named "extract".
PROMPT = """<|im_start|>system
List the people, places, things, prices and dates in the note, one a line as "kind: name", then what \
describes what as "head | relation | tail". Kinds: person, place, thing, price, date.<|im_end|>
<|im_start|>user
Ben and I bought the red lamp at IKEA in Graz for 49 euros<|im_end|>
<|im_start|>assistant
person: Ben
thing: red lamp
place: IKEA
place: Graz
price: 49 euros
red lamp | at | IKEA
red lamp | costs | 49 euros
IKEA | in | Graz<|im_end|>
<|im_start|>user
{query}<|im_end|>
<|im_start|>assistant
"""


class LlmExtractor:
    """Memory text → mentions: those of the rules, then those that the model adds.

    `ask`: prompt → answer. `model`: identifies the model in the cache.
    """

    def __init__(self, ask: Callable[[str], str], model: str, prompt: str, cache: Path) -> None:
        self._ask, self._prompt = ask, prompt
        self._model = hashlib.sha256(f"{model}\n{prompt}".encode()).hexdigest()
        self._answers = Answers(cache)

    @classmethod
    def open(cls, models: Models, cache: Path) -> LlmExtractor:
        """An extractor that uses the bundle's language model. Raises BundleError if it has none."""
        artifact = models.manifest.artifact("llm_decoder", models.backend)
        prompt = models.manifest.prompts.get("extract", PROMPT)
        return cls(lambda filled: _generate(models, filled), artifact.sha256, prompt, cache)

    def __call__(self, text: str) -> tuple[Mention, ...]:
        mentions = {canonical(mention.name): mention for mention in extract(text)}
        for mention in parse(self.answer(text), text):
            key = canonical(mention.name)
            # The model's kind is more reliable than that of the rules.
            mentions[key] = replace(mentions.get(key, mention), kind=mention.kind)
        chosen = dict(list(mentions.items())[:_MAX_MENTIONS])
        for head, relation, tail in relations(self.answer(text)):
            relate(chosen, head, relation, tail)
        return tuple(_rooted(mention, chosen) for mention in chosen.values())

    def answer(self, text: str) -> str:
        """The model's answer for `text`, from the cache if it was asked before."""
        note = " ".join(_FORBIDDEN.sub(" ", text[: 4 * MAX_TEXT]).split())[:MAX_TEXT]
        if not note:
            return ""
        asked = f"{self._model}\n{note}".encode("utf-8", "replace")
        return self._answers.of(asked, lambda: self._ask(self._prompt.replace("{query}", note)) or "\n")

    def close(self) -> None:
        self._answers.close()


def parse(answer: str, text: str) -> tuple[Mention, ...]:
    """The mentions in an answer whose names occur in `text`."""
    folded = " ".join(text.casefold().split())
    mentions = []
    for line in answer.splitlines()[: 2 * _MAX_MENTIONS]:
        match = _LINE.fullmatch(line)
        name = " ".join(match[2].strip(" \"'.,;").split()) if match else ""
        if match and 1 < len(name) <= _MAX_NAME and name.isprintable() and _occurs(name.casefold(), folded):
            mentions.append(Mention(name, match[1].lower()))
    return tuple(mentions[:_MAX_MENTIONS])


def relations(answer: str) -> Iterator[tuple[str, str, str]]:
    """(canonical name of the head, relation, canonical name of the tail) of each such line of an answer."""
    for line in answer.splitlines()[: 2 * _MAX_MENTIONS]:
        if match := _RELATION.fullmatch(line):
            yield canonical(match[1].strip()), match[2].lower(), canonical(match[3].strip())


def relate(mentions: dict[str, Mention], head: str, relation: str, tail: str) -> None:
    """Makes `tail` describe `head`, unless it describes something already, or that would close a circle."""

    def parent_of(name: str) -> str | None:
        parent = mentions[name].parent if name in mentions else None
        return None if parent is None else canonical(parent)

    if head not in mentions or tail not in mentions or mentions[tail].parent is not None:
        return
    if tail not in upwards(head, parent_of):
        mentions[tail] = replace(mentions[tail], parent=mentions[head].name, relation=relation)


def _rooted(mention: Mention, mentions: dict[str, Mention]) -> Mention:
    """The mention, which stands alone if its parent was beyond the limit of mentions."""
    lost = mention.parent is not None and canonical(mention.parent) not in mentions
    return replace(mention, parent=None, relation="") if lost else mention


def _occurs(name: str, text: str) -> bool:
    """Whether `name` occurs in `text` as whole words, so that "art" is not found in "party"."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _generate(models: Models, prompt: str) -> str:
    from ..models.language.chat import completed

    answer = completed(models, prompt, MAX_NEW, ("\n\n",))
    # None: text in a script that takes many tokens; the rules still apply to it.
    return "" if answer is None else answer.text
