"""Entities by the bundle's language model, beside the rules. Every call is kept on disk, so that an
interrupted run repeats none.

The cache is one SQLite file beside the album: (SHA-256 of model, prompt and text) → what the model said.
Memories are hostile text, and so is what a model makes of them: an answer's line counts only if it reads
"kind: name" and the name stands in the memory itself. The most that a memory can make the model do is to
name its own words.
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
MAX_TEXT = 600  # characters of a memory that the model sees; small models lose the thread beyond
_MAX_NAME, _MAX_MENTIONS = 60, 16
_LINE = re.compile(r"[-*\s]*(person|place|thing|price|date)\s*:\s*(.+)", re.I)
_FORBIDDEN = re.compile(r"[<>|\x00-\x1f\x7f]+")  # turn markers cannot be written without them
# ChatML, which the bundles' instruction models share; a bundle may bring its own as the prompt "extract".
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
    """Memory text → mentions: those of the rules, then those that the model adds. `ask`: prompt → answer.
    `model`: what names the model.
    """

    def __init__(self, ask: Callable[[str], str], model: str, prompt: str, cache: Path) -> None:
        self._ask, self._prompt = ask, prompt
        self._model = hashlib.sha256(f"{model}\n{prompt}".encode()).hexdigest()
        self._cache = _open_cache(cache)

    @classmethod
    def open(cls, models: Models, cache: Path) -> LlmExtractor:
        """The bundle's model. Raises BundleError if the bundle has none."""
        artifact = models.manifest.artifact("llm_decoder", models.backend)
        prompt = models.manifest.prompts.get("extract", PROMPT)
        return cls(lambda filled: _generate(models, filled), artifact.sha256, prompt, cache)

    def __call__(self, text: str) -> tuple[Mention, ...]:
        found = {canonical(mention.name): mention for mention in extract(text)}
        for mention in parse(self.answer(text), text):
            key = canonical(mention.name)
            # The model's kind is the better one, the rules' parent is the only one.
            old = found.get(key)
            found[key] = mention if old is None else Mention(old.name, mention.kind, old.parent)
        return tuple(found.values())[:_MAX_MENTIONS]

    def answer(self, text: str) -> str:
        """What the model says of `text`, from the cache if it was asked before."""
        note = " ".join(_FORBIDDEN.sub(" ", text[: 4 * MAX_TEXT]).split())[:MAX_TEXT]
        if not note:
            return ""
        key = hashlib.sha256(f"{self._model}\n{note}".encode("utf-8", "replace")).hexdigest()
        kept = self._cache.execute("SELECT answer FROM calls WHERE key=?", (key,)).fetchone()
        if kept is not None:
            return str(kept[0])
        answer = self._ask(self._prompt.replace("{query}", note))
        with contextlib.suppress(apsw.Error):  # a full disk costs the next run this call, and no more
            self._cache.execute("INSERT OR REPLACE INTO calls VALUES(?,?,?)", (key, note, answer))
        return answer

    def close(self) -> None:
        self._cache.close()


def parse(answer: str, text: str) -> tuple[Mention, ...]:
    """The lines of an answer that name something which stands in `text`."""
    have = " ".join(text.casefold().split())
    out = []
    for line in answer.splitlines()[:_MAX_MENTIONS]:
        match = _LINE.fullmatch(line)
        name = " ".join(match[2].strip(" \"'.,;").split()) if match else ""
        if match and 1 < len(name) <= _MAX_NAME and name.isprintable() and _stands(name.casefold(), have):
            out.append(Mention(name, match[1].lower()))
    return tuple(out)


def _stands(name: str, text: str) -> bool:
    """As whole words, so that "art" is not found in "party"."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _generate(models: Models, prompt: str) -> str:
    from ..models.llm import Request

    ids = tuple(models.llm_tokenizer.encode(prompt, add_special_tokens=False).ids)
    if len(ids) + MAX_NEW > models.manifest.decoder().max_seq:
        return ""  # a memory in a script that takes many tokens; the rules have read it
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
