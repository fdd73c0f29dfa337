"""Entities by the bundle's language model, in addition to the rules.

Every answer is cached, so that an interrupted run repeats no call. The cache is one SQLite file beside the
album: SHA-256 of model, prompt and text → the model's answer. Memories are untrusted text, and so are answers
about them: a line of an answer counts only if it reads "kind: name" and the name occurs in the memory itself.
So the most that a hostile memory can do is make the model name words of that memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import apsw

from gamer.index import Mention, canonical, extract

from ..errors import RuntimeFailure
from ..models.models import Models

KINDS = ("person", "place", "thing", "price", "date")
MAX_NEW = 96  # tokens: a dozen lines
MAX_TEXT = 600  # characters of a memory that the model is shown; small models do poorly on longer text
_MAX_NAME, _MAX_MENTIONS = 60, 16
_LINE = re.compile(r"[-*\s]*(person|place|thing|price|date)\s*:\s*(.+)", re.I)
_FORBIDDEN = re.compile(r"[<>|\x00-\x1f\x7f]+")  # every turn marker contains one of these
# ChatML, which the bundles' instruction models share; a bundle may have its own prompt named "extract".
PROMPT = """<|im_start|>system
List the people, places, things, prices and dates in the note, one a line as "kind: name". \
Kinds: person, place, thing, price, date.<|im_end|>
<|im_start|>user
Ben and I bought the red lamp at IKEA in Graz for 49 euros<|im_end|>
<|im_start|>assistant
person: Ben
thing: red lamp
place: IKEA
place: Graz
price: 49 euros<|im_end|>
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
        self._cache = _open_cache(cache)

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
            # The model's kind is more reliable; only the rules give a parent.
            by_rules = mentions.get(key)
            mentions[key] = (
                mention if by_rules is None else Mention(by_rules.name, mention.kind, by_rules.parent)
            )
        return tuple(mentions.values())[:_MAX_MENTIONS]

    def answer(self, text: str) -> str:
        """The model's answer for `text`, from the cache if it was asked before."""
        note = " ".join(_FORBIDDEN.sub(" ", text[: 4 * MAX_TEXT]).split())[:MAX_TEXT]
        if not note:
            return ""
        key = hashlib.sha256(f"{self._model}\n{note}".encode("utf-8", "replace")).hexdigest()
        cached = self._cache.execute("SELECT answer FROM calls WHERE key=?", (key,)).fetchone()
        if cached is not None:
            return str(cached[0])
        answer = self._ask(self._prompt.replace("{query}", note))
        with contextlib.suppress(apsw.Error):  # if the disk is full, the next run only repeats this call
            self._cache.execute("INSERT OR REPLACE INTO calls VALUES(?,?,?)", (key, note, answer))
        return answer

    def close(self) -> None:
        self._cache.close()


def parse(answer: str, text: str) -> tuple[Mention, ...]:
    """The mentions in an answer whose names occur in `text`."""
    folded = " ".join(text.casefold().split())
    mentions = []
    for line in answer.splitlines()[:_MAX_MENTIONS]:
        match = _LINE.fullmatch(line)
        name = " ".join(match[2].strip(" \"'.,;").split()) if match else ""
        if match and 1 < len(name) <= _MAX_NAME and name.isprintable() and _occurs(name.casefold(), folded):
            mentions.append(Mention(name, match[1].lower()))
    return tuple(mentions)


def _occurs(name: str, text: str) -> bool:
    """Whether `name` occurs in `text` as whole words, so that "art" is not found in "party"."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _generate(models: Models, prompt: str) -> str:
    from ..models.llm import Request

    ids = tuple(models.llm_tokenizer.encode(prompt, add_special_tokens=False).ids)
    if len(ids) + MAX_NEW > models.manifest.decoder().max_seq:
        return ""  # text in a script that takes many tokens; the rules still apply to it
    return models.language_model.generate(Request(ids, MAX_NEW, stop=("\n\n",))).text


def _open_cache(path: Path) -> apsw.Connection:
    try:
        db = apsw.Connection(str(path))
        db.set_busy_timeout(5000)
        db.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
        db.execute(
            "CREATE TABLE IF NOT EXISTS calls(key TEXT PRIMARY KEY, note TEXT NOT NULL, answer TEXT NOT "
            "NULL) WITHOUT ROWID"
        )
        return db
    except apsw.Error as error:
        raise RuntimeFailure(
            f"{path}: cannot keep the language model's answers ({error}); move it away or check the folder"
        ) from None
