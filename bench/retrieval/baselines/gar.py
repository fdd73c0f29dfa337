"""GAR, generation-augmented retrieval (Mao et al. 2021): BM25 also searches for a generated sentence.

The language model writes a sentence that a memory might hold. As adapted: one greedy sentence of at most 32
tokens by the bundle's small model, shown three examples, where GAR trains a generator of answers, sentences
and titles (one is trained in bench/trained/generated.py). The two BM25 lists (the query; the query and the
sentence) are fused by reciprocal rank, as GAR fuses its lists. `rank_dense` fuses two lists of dense search
in the same way. The prompt's fixed beginning is computed once a process.

Sentences are stored on disk by model, prompt and query, one a line, so that an interrupted run generates none
twice. A query whose sentence was stored is timed without the generation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from gamer.runtime.models.language.llm import Request
from gamer.runtime.models.models import Models
from gamer.runtime.search.stages.refine import clean

from ..user import User
from . import bm25, dense, rrf

MAX_NEW, MAX_QUERY = 32, 300
PROMPT = (
    "Each search is for a photo or a message in a private archive. After each stands one sentence that the "
    "photo's description or the message may say.\n\n"
    "Search: candles\n"
    "Sentence: My daughter blows out the candles on her chocolate birthday cake in our kitchen.\n\n"
    "Search: Where did Tom park the car?\n"
    "Sentence: Tom: I left the red car in the garage behind the station.\n\n"
    "Search: sunset over the bay\n"
    "Sentence: An orange sun sinks behind the boats and the calm water of the harbour.\n\n"
)


class Writer:
    """The bundle's language model, which goes on from the prompt that it has read."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._fixed = tuple(models.llm_tokenizer.encode(PROMPT).ids)

    def __call__(self, query: str) -> str:
        """The model's sentence about `query`; "" if it generates no text.

        The query is untrusted: it is cleaned of control characters and markup, and cut at MAX_QUERY
        characters.
        """
        rest = tuple(self._models.llm_tokenizer.encode(f"Search: {clean(query, MAX_QUERY)}\nSentence:").ids)
        model = self._models.language_model
        return model.generate(Request(self._fixed + rest, MAX_NEW, stop=("\n",))).text.strip()


class Sentences:
    """Sentences by query, stored in a file of JSON lines if `path` is given.

    Lines that cannot be parsed are skipped, such as the half-written last line of an interrupted run.
    """

    def __init__(self, writer: Callable[[str], str], path: Path | None) -> None:
        self._writer, self._path = writer, path
        self._known = dict(_read(path)) if path is not None and path.exists() else {}

    @classmethod
    def of(cls, models: Models, cache: Path | None) -> Sentences:
        model_hash = models.manifest.artifact("llm_decoder", models.backend).sha256[:8]
        name = f"gar-{model_hash}-{hashlib.sha256(f'{PROMPT}{MAX_NEW}'.encode()).hexdigest()[:8]}.jsonl"
        return cls(Writer(models), None if cache is None else cache / name)

    def about(self, query: str) -> str:
        if query not in self._known:
            self._known[query] = self._writer(query)
            if self._path is not None:
                # One short write, because several processes may append to the file.
                with self._path.open("a", encoding="utf-8") as stream:
                    stream.write("\n" + json.dumps({"query": query, "said": self._known[query]}))
        return self._known[query]


def _read(path: Path) -> list[tuple[str, str]]:
    out = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
            out.append((str(row["query"]), str(row["said"])))
        except (ValueError, KeyError, TypeError):
            continue
    return out


def _sentences(user: User) -> Sentences:
    user.needs_language_model()
    return Sentences.of(user.models, user.cache)


def rank(user: User, query: str) -> list[str]:
    return with_sentence(user, query, user.computed_once(_sentences).about(query))


def rank_dense(user: User, query: str) -> list[str]:
    return dense_with_sentence(user, query, user.computed_once(_sentences).about(query))


def with_sentence(user: User, query: str, sentence: str) -> list[str]:
    index = user.computed_once(bm25.over_memories)
    return rrf.fused([user.best(index.scores(text), above=0) for text in (query, f"{query} {sentence}")])


def dense_with_sentence(user: User, query: str, sentence: str) -> list[str]:
    return rrf.fused([dense.rank(user, text) for text in (query, f"{query} {sentence}")])
