"""Makes the table of glosses of one language from its dictionaries, and writes it.

A gloss is worth more the earlier it stands in its entry, the more entries give it and the commoner it is in
English; commonness is the order of the text tower's own vocabulary. A dictionary from English that is turned
round counts less, and one through a third language (Spanish, German, English) less still; together they say
which gloss is meant. Forms are those that `simplemma` leads to a word of the table: most by a hundred rules
of inflection, learnt from it, the others one by one. So a phone needs no lemmatiser, and this package
is wanted here alone. What is rarest in English is left out where a table would be too large.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gamer.index.replacing import replacing
from gamer.runtime.glosses.table import (
    LEAST_STEM,
    LONGEST,
    MOST_GLOSSES,
    MOST_SENSES,
    MOST_WORDS,
    WORD,
    Rule,
    RuleSet,
    folded,
)

from ..errors import ExportError
from . import dictionaries, entries, writing
from .sources import KNOWN, Source

MAX_TABLE, USUAL = 3_000_000, 25  # bytes: of a table, and about of one of its forms
# Where a table is too large, these go before a word so much rarer: a form that no dictionary lists, or one
# without its accents, and for each further word or for the letters of a long compound.
INFLECTED, UNMARKED, PHRASE, LONG = 0.3, 0.2, 0.3, 10
TURNED, THROUGH = 0.6, 0.3  # what a gloss of such a dictionary is worth, beside a direct one
FURTHER = 0.2  # a gloss of two words, beside one
LEAST = 0.18  # of the best gloss's worth: others are left out
MOST_RULES, LONGEST_ENDING = 100, 5
MAX_LETTERS = 24  # of a word or phrase of a table: a reader splits longer compounds
_RARE = 60_000  # the rank of an English word that the vocabulary does not have
_HALF = 3_000  # the rank at which a word is worth half of the commonest
Commonness = Mapping[str, int]  # English word → its rank, the commonest 0
Glosses = dict[str, float]  # English → what it is worth
# Of a language's code: its words with their glosses, for dictionaries that go through it.
Pivots = Callable[[str], Mapping[str, Glosses]]


@dataclass(frozen=True)
class Built:
    """What was written. `words`: forms and phrases in the table; `glossed`: words of the dictionaries;
    `size`: bytes; `lemmas`: whether simplemma gave forms.
    """

    path: Path
    language: str
    words: int
    glossed: int
    size: int
    lemmas: bool


def build(
    language: str,
    sources: Sequence[Source],
    pivots: Pivots,
    common: Commonness,
    to: Path,
) -> Built:
    """Writes the table of `language` to the file `to`.

    Raises ExportError for a dictionary that cannot be read, and where there is not a single gloss.
    """
    words = glossed(language, sources, pivots, common)
    if not words:
        names = ", ".join(source.path.name for source in sources)
        raise ExportError(
            f"--languages {language}: no gloss in {names}: is it a dictionary to or from English?"
        )
    lemma_of = _lemmas(language)
    lemmas = {form: word for form, word in _pairs_of(lemma_of) if word in words}
    rules = learnt(lemmas)
    table, bare = _forms(words, lemmas, rules)
    spelt = writing.Spelling(
        language,
        rules,
        tuple(KNOWN["links"].get(language, ())),
        tuple(KNOWN["endings"].get(language, ())),
        language in KNOWN["spaceless"],
        tuple(source.name for source in sources),
    )
    data, kept = _fitting(spelt, words, table, bare)
    with replacing(to) as aside:
        aside.write_bytes(data)
    return Built(to, language, len(kept), len(words), len(data), bool(lemma_of))


def digest(sources: Iterable[Source], code: bytes) -> str:
    """A short hash of the files that a table is made of, and of the `code` that makes it."""
    sha = hashlib.sha256(code)
    for source in sources:
        stat = source.path.stat()
        sha.update(repr((source.path.name, source.turned, stat.st_size, stat.st_mtime_ns)).encode())
    return sha.hexdigest()[:16]


def glossed(
    language: str, sources: Sequence[Source], pivots: Pivots, common: Commonness
) -> dict[str, Glosses]:
    """Word or phrase in the table's spelling → its glosses."""
    found: dict[str, Glosses] = defaultdict(dict)
    for source in sources:
        if not source.through:
            _add(found, _pairs(source), TURNED if source.turned else 1.0, common)
    for other in dict.fromkeys(source.through for source in sources if source.through):
        between = pivots(other)
        for source in sources:
            if source.through == other:
                _add_through(found, _pairs(source), between)
    kept = {word: best for word, glosses in found.items() if (best := _best(glosses))}
    return kept | {
        folded(word): {gloss: 1.0} for word, gloss in KNOWN["words"].get(language, {}).items() if kept
    }


def _pairs(source: Source) -> Iterable[tuple[str, str, int]]:
    """(word in the table's spelling, gloss, its place in the entry)."""
    for headword, text in dictionaries.read(source.path):
        if not source.turned and (
            headword.count(" ") >= MOST_WORDS or len(headword) > MAX_LETTERS or _abbreviates(headword, text)
        ):
            continue
        english = entries.cleaned(headword) if source.turned else ""
        if source.turned and not english:
            continue
        for place, gloss in enumerate(entries.glosses(headword, text)):
            word = key(gloss if source.turned else headword)
            if word:
                yield word, (english if source.turned else gloss), place


def _abbreviates(headword: str, text: str) -> bool:
    """Whether an entry is one of an abbreviation, such as AM for Armenia beside "am"."""
    return len(headword) < 4 and headword.isalpha() and text[: len(headword)].isupper() and len(headword) > 1


def key(text: str) -> str:
    """A word or phrase as the table spells it; "" if it has too many words or letters."""
    words = WORD.findall(folded(text))
    joined = " ".join(words)
    return joined if 0 < len(words) <= MOST_WORDS and len(joined.encode()) <= LONGEST else ""


def _add(
    found: dict[str, Glosses], pairs: Iterable[tuple[str, str, int]], worth: float, common: Commonness
) -> None:
    for word, gloss, place in pairs:
        gloss = gloss if gloss.isupper() else gloss.lower()
        value = worth * commonness(gloss, common) / (1 + 0.5 * place)
        glosses = found[word]
        glosses[gloss] = glosses.get(gloss, 0.0) + value


def _add_through(
    found: dict[str, Glosses], pairs: Iterable[tuple[str, str, int]], between: Mapping[str, Glosses]
) -> None:
    added: dict[str, Glosses] = defaultdict(dict)
    for word, other, place in pairs:
        for gloss, value in between.get(key(other), {}).items():
            glosses = added[word]
            glosses[gloss] = glosses.get(gloss, 0.0) + THROUGH * value / (1 + 0.5 * place)
    for word, glosses in added.items():
        for gloss, value in glosses.items():
            found[word][gloss] = found[word].get(gloss, 0.0) + value


def commonness(gloss: str, common: Commonness) -> float:
    """0..1: how common an English word is; of a phrase, its rarest word, and less for each further one."""
    words = [word.lower() for word in WORD.findall(gloss)]
    rank = max((common.get(word, _RARE) for word in words), default=_RARE)
    return FURTHER ** (len(words) - 1) / (1 + rank / _HALF)


def _best(glosses: Glosses) -> Glosses:
    ordered = sorted(glosses.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_GLOSSES]
    return {gloss: value for gloss, value in ordered if value >= LEAST * ordered[0][1]}


def _lemmas(language: str) -> Mapping[str, str]:
    """Form → lemma, by simplemma; empty without it, or for a language that it does not have."""
    try:
        from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

        found: Mapping[str, str] = DefaultDictionaryFactory().get_dictionary(language)
        return found
    except (ImportError, ValueError):
        return {}


def _pairs_of(lemma_of: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """(form, lemma) as the table spells them, of those that are single words."""
    for form, lemma in lemma_of.items():
        if form.isalpha() and len(form) * 2 < LONGEST:
            yield folded(form), folded(lemma)


def learnt(lemmas: Mapping[str, str]) -> tuple[Rule, ...]:
    """The rules of inflection that lead most forms to their lemma, longer endings first."""
    counts: Counter[tuple[str, str]] = Counter()
    for form, lemma in lemmas.items():
        shared = next(
            (n for n, (a, b) in enumerate(zip(form, lemma, strict=False)) if a != b),
            min(len(form), len(lemma)),
        )
        if (
            shared >= LEAST_STEM
            and len(form) - shared <= LONGEST_ENDING
            and len(lemma) - shared <= LONGEST_ENDING
        ):
            counts[form[shared:], lemma[shared:]] += 1
    kept = sorted(counts.most_common(MOST_RULES), key=lambda item: (-len(item[0][0]), -item[1], item[0]))
    return tuple(Rule(ending, base) for (ending, base), count in kept if ending or base)


def _forms(
    words: Mapping[str, Glosses], lemmas: Mapping[str, str], rules: Sequence[Rule]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """(Form → the words of `words` whose glosses it has, its own first; the same for forms without accents.)

    A form that the rules lead to its lemma is left out.
    """
    table: dict[str, list[str]] = {word: [word] for word in words}
    led = RuleSet(rules)
    for form, lemma in lemmas.items():
        if form == lemma or (form not in words and _base(led, form, words) == lemma):
            continue
        named = table.setdefault(form, [])
        if lemma not in named and len(named) < MOST_SENSES:
            named.append(lemma)
    bare: dict[str, list[str]] = {}
    for form, named in table.items():
        plain = entries.without_accents(form)
        if plain != form and plain not in table:
            bare.setdefault(plain, named)
    return table, bare


def _base(led: RuleSet, form: str, words: Mapping[str, Glosses]) -> str | None:
    """The first base of a form that is one of `words`."""
    return next((base for base in led.bases(form) if base in words), None)


def _value(form: str, words: Mapping[str, Glosses], bare: Mapping[str, list[str]]) -> float:
    """How much a form is worth to the table, beside the worth of its glosses."""
    listed = 1.0 if form in words else UNMARKED if form in bare else INFLECTED
    return listed * PHRASE ** form.count(" ") * min(1.0, LONG / len(form))


def _fitting(
    spelt: writing.Spelling,
    words: Mapping[str, Glosses],
    table: Mapping[str, list[str]],
    bare: Mapping[str, list[str]],
) -> tuple[bytes, Mapping[str, list[str]]]:
    """The file's bytes, and the forms in it: all, or those that are worth most of them."""
    table = {**table, **bare}
    worth = {word: max(glosses.values()) for word, glosses in words.items()}
    value = {
        form: _value(form, words, bare) * max(worth[word] for word in named) for form, named in table.items()
    }
    order = sorted(table, key=lambda form: (-value[form], form))
    # The first `least` forms fit; the first `most + 1` do not, or are more than there are.
    count, least, most = min(len(order), MAX_TABLE // USUAL), 0, len(order)
    for _ in range(6):
        kept = {form: table[form] for form in order[:count]}
        data = writing.encoded(spelt, words, kept)
        if len(data) <= MAX_TABLE and (len(data) > 0.95 * MAX_TABLE or count == len(order)):
            return data, kept
        least, most = (count, most) if len(data) <= MAX_TABLE else (least, count - 1)
        count = min(most, max(least + 1, math.ceil(count * 0.98 * MAX_TABLE / len(data))))
    if len(data) <= MAX_TABLE:
        return data, kept
    raise ExportError(f"--languages {spelt.language}: the table does not fit {MAX_TABLE / 1e6:g} MB")
