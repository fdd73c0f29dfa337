"""Words of a query that the bundle's image encoder does not know, if it only knows named classes.

An encoder of classes (ConSE) places a picture among the vectors of its classes' names, so that a word is
searched in pictures by the classes that are like it: "beach" by "seashore". A word like none of them finds
pictures by chance alone. An encoder in the text tower's own space (CLIP, SigLIP) has no classes and knows
every word.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from gamer.index import FloatArray
from gamer.index.entities.words import query_terms

from .. import cache, defaults
from ..glosses.bundled import has_tables
from ..models.models import Models
from .remarks import Remark

KNOWN = defaults.PICTURED
MAX_SAID = 24  # letters of a word
_NAMES: WeakKeyDictionary[Models, FloatArray] = WeakKeyDictionary()


def unpictured(text: str, models: Models) -> tuple[str, ...]:
    """The words of an English query without its cues, if pictures can be searched for none of them; else ().

    The first call for a word that no class's name holds encodes the names, in a second or more, and keeps
    their vectors in the user's cache.
    """
    terms = query_terms(text)
    if not models.labels or not terms or _names_a_class(terms, models):
        return ()
    words = sorted({*terms, *_forms(terms).intersection(models.text.words)})
    best = (models.text.encode(words) @ _names(models).T).max(1)
    return tuple(terms) if (best < KNOWN).all() else ()


def not_searched(words: tuple[str, ...], models: Models) -> Remark:
    """What to say of such words; of several that may be no English ones, that other languages need tables."""
    unknown = sum(word not in models.text.words for word in words)  # so is "giraffe"
    foreign = unknown >= max(2, len(words) / 2) and not has_tables(models)
    said = " ".join(word[:MAX_SAID] for word in words[:4])
    return Remark("unpictured.foreign" if foreign else "unpictured", said)


def _names_a_class(terms: Iterable[str], models: Models) -> bool:
    forms = _forms(terms)
    return any(not forms.isdisjoint(query_terms(label)) for label in models.labels)


def _forms(terms: Iterable[str]) -> set[str]:
    """The terms, and what they may be the plurals of."""
    ends = (("", ""), ("s", ""), ("es", ""), ("ies", "y"))
    return {
        term.removesuffix(end) + one
        for term in terms
        for end, one in ends
        if term.endswith(end) and term != end and not (end == "s" and term.endswith("ss"))
    }


def _names(models: Models) -> FloatArray:
    """float32 [classes, D]: the vectors of the classes' names, computed once."""
    if models not in _NAMES:
        path = _kept(models)
        names = _read(path, len(models.labels), models.manifest.dim)
        if names is None:
            names = models.text.encode(list(models.labels))
            cache.keep(path, names.astype("<f4").tobytes())
        _NAMES[models] = names
    return _NAMES[models]


def _read(path: Path, classes: int, width: int) -> FloatArray | None:
    """What was kept, float32 [classes, width] as bytes; None if it is missing, or damaged."""
    with suppress(OSError):
        if path.stat().st_size == 4 * classes * width:
            kept = np.frombuffer(path.read_bytes(), "<f4").reshape(classes, width)
            return kept if np.isfinite(kept).all() else None
    return None


def _kept(models: Models) -> Path:
    """The file in the user's cache, for this tower and these names."""
    manifest = models.manifest
    tower = manifest.artifact("text_tower", models.backend).sha256
    return cache.file_of("names", (tower, manifest.text_prompts, *models.labels), ".f32")
