"""How well queries in other languages find what the same queries find in English, with and without glosses.

queries.tsv holds translations of development queries, worded by hand as a person would ask, and never by a
dictionary under test; the English texts stay in the data sets. Ablations take a part of the reading away:
rules of inflection, phrases, all glosses but the first, the album's choice, and the names of the album. The
photographers' own titles that are not English are asked as well, and every English query is given to the
guess of the language.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import thread_time_ns

import numpy as np

from gamer.index.entities.words import STOP_WORDS
from gamer.runtime.glosses.guess import ranks
from gamer.runtime.glosses.letters import Names
from gamer.runtime.glosses.reading import Reader, Reading
from gamer.runtime.glosses.table import MOST_WORDS, WORD, Gloss, GlossTable, folded
from gamer.runtime.models.models import Models
from gamer.runtime.search.options import DEFAULT, SearchOptions

from ..retrieval import datasets
from ..retrieval.albums import album_of
from ..retrieval.user import User
from ..tables import Sheet, sheet

K, REPEATS = 5, 3
QUERIES = Path(__file__).with_name("queries.tsv")
PLAIN = SearchOptions(gloss=False)
Lookup = Callable[[str], tuple[Gloss, ...]]


@dataclass(frozen=True)
class Row:
    """Recall@5 of one language's queries, macro over data sets.

    `english`: of the same queries in English; `without`: without glosses; `relative`: `recall` / `english`.
    `glossed`: the share of words that are neither names nor English and have a gloss; `wrong`, `wrong_short`:
    the share of queries, and of their first two words, that are not read as their language. `ms`: the
    processor time of its thread that glosses add to a search with nothing cached, the median, of the least of
    REPEATS pairs.
    """

    language: str
    queries: int
    english: float
    without: float
    recall: float
    relative: float
    glossed: float
    wrong: float
    wrong_short: float
    ms: float
    without_part: dict[str, float]


@dataclass(frozen=True)
class Titles:
    """The photographers' own titles that a data set marks as not English: recall@5."""

    language: str
    queries: int
    without: float
    recall: float


@dataclass(frozen=True)
class Table:
    language: str
    bytes: int
    words: int
    dictionaries: tuple[str, ...]


@dataclass(frozen=True)
class Translated:
    """`english`: queries of the data sets that are in English; `misread`: of them, those read as another
    language; `english_change`: what glosses change in the mean recall@5 of them all.
    """

    rows: tuple[Row, ...]
    titles: tuple[Titles, ...]
    tables: tuple[Table, ...]
    english: int
    misread: int
    english_change: float


@dataclass(frozen=True)
class TranslatedQuery:
    """A translated query. `texts`: by language."""

    dataset: str
    user: str
    id: str
    texts: Mapping[str, str]


class _View(GlossTable):
    """A table that is looked up in another way."""

    def __init__(self, table: GlossTable, lookup: Callable[[GlossTable, str], tuple[Gloss, ...]]) -> None:
        super().__init__(table.path)
        self.lookup = lambda word: lookup(table, word)  # type: ignore[assignment]


class _Nameless(Reader):
    """A reader that knows no name of the album."""

    def read(self, text: str, names: Names, language: str | None = "") -> Reading | None:
        return super().read(text, Names(()), language)


def _weaker(table: GlossTable, word: str) -> tuple[Gloss, ...]:
    first, *others = table.lookup(word) or (None,)
    return (
        ()
        if first is None
        else (first, *(replace(gloss, weight=0.6 * gloss.weight) for gloss in others if gloss))
    )


# What is taken away → how a table is looked up then.
ABLATED: dict[str, Callable[[GlossTable, str], tuple[Gloss, ...]]] = {
    "inflection": lambda table, word: table.listed(word),
    "phrases": lambda table, word: () if " " in word else table.lookup(word),
    "other glosses": lambda table, word: table.lookup(word)[:1],
    "the album's choice": _weaker,
}


def asked(path: Path = QUERIES) -> tuple[TranslatedQuery, ...]:
    """The translated queries."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    fixed = ("set", "user", "id")
    return tuple(
        TranslatedQuery(
            row["set"], row["user"], row["id"], {k: v for k, v in row.items() if k not in fixed and v}
        )
        for row in rows
    )


def measure(
    models: Models, folders: Sequence[Path], home: Path, tell: Callable[[str], None]
) -> Translated | None:
    """None for a bundle without tables of glosses. `home`: keeps the albums."""
    names = [file.name for file in models.manifest.files if file.name.startswith("glosses-")]
    if not names:
        return None
    tables = [GlossTable(models.data(name)) for name in names]
    english = ranks(models.text.words)
    readers = {
        what: Reader([_View(table, lookup) for table in tables], english) for what, lookup in ABLATED.items()
    } | {"names": _Nameless(tables, english)}
    tried = _Tried(Reader(tables, english), readers)
    for folder in folders:
        for name in datasets.users(folder):
            with User(name, album_of(folder, name, models, home, tell), models) as user:
                tell(f"{folder.name} {name}: queries in other languages")
                tried.ask(folder, user)
    return tried.result()


class _Tried:
    """What was asked so far."""

    def __init__(self, reader: Reader, ablated: Mapping[str, Reader]) -> None:
        self._reader, self._ablated = reader, ablated
        # (language, what was searched with) → data set → recalls
        self._recalls: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._titles: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self._glossed: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._read: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
        self._added: dict[str, list[float]] = defaultdict(list)
        self._english, self._misread, self._changes = 0, 0, list[float]()

    def ask(self, folder: Path, user: User) -> None:
        engine, known = user.engine, {query.id: query for query in datasets.queries(folder, user.name)}
        engine.glosses.reader = self._reader
        engine.search("a first search opens the models", K)
        names = engine.facts.name_words
        for query in known.values():
            if query.lang not in ("", "en"):
                pair = (self._recall(user, query.text, query, PLAIN), self._recall(user, query.text, query))
                self._titles[query.lang].append(pair)
                continue
            self._english += 1
            if self._reader.read(query.text, names) is not None:
                self._misread += 1
                before = self._recall(user, query.text, query, PLAIN)
                self._changes.append(self._recall(user, query.text, query) - before)
        for one in asked():
            if (one.dataset, one.user) != (folder.name, user.name):
                continue
            query = known[one.id]
            in_english = self._recall(user, query.text, query)
            self._changes.append(in_english - self._recall(user, query.text, query, PLAIN))
            for language, text in one.texts.items():
                if language in self._reader.tables:
                    self._recalls[language, "english"][folder.name].append(in_english)
                    self._one(folder.name, user, query, language, text)

    def _one(self, dataset: str, user: User, query: datasets.Query, language: str, text: str) -> None:
        engine, names = user.engine, user.engine.facts.name_words
        self._recalls[language, "without"][dataset].append(self._recall(user, text, query, PLAIN))
        self._recalls[language, "recall"][dataset].append(self._recall(user, text, query))
        for what, reader in self._ablated.items():
            engine.glosses.reader = reader
            self._recalls[language, what][dataset].append(self._recall(user, text, query))
        engine.glosses.reader = self._reader
        short = " ".join(text.split()[:2])
        right = [_language(self._reader.read(words, names)) == language for words in (text, short)]
        self._read[language].append((right[0], right[1]))
        self._glossed[language].append(_words_glossed(self._reader, language, text, names))
        pairs = [[self._ms(user, text, options) for options in (DEFAULT, PLAIN)] for _ in range(REPEATS)]
        self._added[language].append(float(np.subtract(*np.min(pairs, axis=0))))

    def _recall(
        self, user: User, text: str, query: datasets.Query, options: SearchOptions = DEFAULT
    ) -> float:
        found = {hit.id for hit in user.engine.search(text, K, now=user.now, options=options).hits}
        return len(found & set(query.relevant)) / len(set(query.relevant))

    def _ms(self, user: User, text: str, options: SearchOptions) -> float:
        for table in self._reader.tables.values():
            table.lookup.cache_clear()
            table.block.cache_clear()
        begin = thread_time_ns()
        user.engine.search(text, K, now=user.now, options=options)
        return (thread_time_ns() - begin) / 1e6

    def result(self) -> Translated:
        return Translated(
            tuple(self._row(language) for language in sorted(self._added)),
            tuple(
                Titles(
                    language,
                    len(pairs),
                    *(round(float(np.mean(side)), 4) for side in zip(*pairs, strict=True)),
                )
                for language, pairs in sorted(self._titles.items())
            ),
            tuple(
                Table(language, table.path.stat().st_size, table.header.words, table.header.sources)
                for language, table in sorted(self._reader.tables.items())
            ),
            self._english,
            self._misread,
            round(float(np.sum(self._changes)) / max(self._english, 1), 5),
        )

    def _row(self, language: str) -> Row:
        mean = {
            what: round(float(np.mean([np.mean(values) for values in by_set.values()])), 4)
            for (of, what), by_set in self._recalls.items()
            if of == language
        }
        words = np.sum(self._glossed[language], axis=0)
        wrong = 1 - np.mean(self._read[language], axis=0)
        return Row(
            language,
            len(self._added[language]),
            mean["english"],
            mean["without"],
            mean["recall"],
            round(mean["recall"] / mean["english"], 4),
            round(float(words[0] / max(words[1], 1)), 4),
            round(float(wrong[0]), 4),
            round(float(wrong[1]), 4),
            round(float(np.median(self._added[language])), 3),
            {what: mean[what] for what in self._ablated},
        )


def _language(reading: Reading | None) -> str | None:
    return None if reading is None else reading.language


def _words_glossed(reader: Reader, language: str, text: str, names: Names) -> tuple[int, int]:
    """(Words of a text that its table has, words that are neither English function words nor names)."""
    table, words = reader.tables[language], [folded(word) for word in WORD.findall(text)]
    wanted = [word for word in words if len(word) > 1 and word not in names and word not in STOP_WORDS]
    in_phrase = {
        word
        for at in range(len(words))
        for count in range(2, MOST_WORDS + 1)
        if table.lookup(" ".join(words[at : at + count]))
        for word in words[at : at + count]
    }
    return sum(bool(table.lookup(word)) or word in in_phrase for word in wanted), len(wanted)


def _without(part: str, row: Row) -> str:
    return f"{row.without_part[part]:.3f}"


def tables(result: Translated) -> Iterator[Sheet | str]:
    columns: dict[str, Callable[[Row], str | int]] = {
        "language": lambda row: row.language,
        "n": lambda row: row.queries,
        "English": lambda row: f"{row.english:.3f}",
        "without": lambda row: f"{row.without:.3f}",
        "R@5": lambda row: f"{row.recall:.3f}",
        "of English": lambda row: f"{row.relative:.0%}",
        "glossed": lambda row: f"{row.glossed:.0%}",
        "misread": lambda row: f"{row.wrong:.0%}",
        "2 words": lambda row: f"{row.wrong_short:.0%}",
        "ms": lambda row: f"{row.ms:+.2f}",
    }
    yield sheet("Translated queries to albums in English", result.rows, columns)
    parts = list(result.rows[0].without_part) if result.rows else []
    less: dict[str, Callable[[Row], str | int]] = {
        "language": lambda row: row.language,
        "R@5": lambda row: f"{row.recall:.3f}",
        **{f"no {part}": partial(_without, part) for part in parts},
    }
    yield sheet("Without a part of the reading, R@5", result.rows, less)
    titles: dict[str, Callable[[Titles], str | int]] = {
        "language": lambda row: row.language,
        "n": lambda row: row.queries,
        "without": lambda row: f"{row.without:.3f}",
        "R@5": lambda row: f"{row.recall:.3f}",
    }
    yield sheet("Photographers' own titles", result.titles, titles)
    files: dict[str, Callable[[Table], str | int]] = {
        "language": lambda row: row.language,
        "MB": lambda row: f"{row.bytes / 1e6:.2f}",
        "words": lambda row: f"{row.words:,}",
        "dictionaries": lambda row: ", ".join(row.dictionaries),
    }
    yield sheet("Tables", result.tables, files)
    yield (
        f"{result.misread} of {result.english} English queries are read as another language; glosses change "
        f"their recall@5 by {result.english_change:+.4f}"
    )
