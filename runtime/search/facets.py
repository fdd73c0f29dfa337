"""The photos of an album that have what a query says literally: a shape, a camera, a fact, who is there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from gamer.index import Album, RowSet
from gamer.index.people import reading

from ..questions.facets import Facet, fact_of
from .album_facts import AlbumFacts
from .remarks import Remark

FLASH, RECEIPT = Facet("fact", "flash"), Facet("medium", "receipt")
_ANYBODY = {"alone": "somebody", "together": "people"}
_BETWEEN_NAMES = re.compile(r",|&|\band\b")


class FacetRows:
    """The photos with each facet of a question, looked up once; called, whether the question may name it."""

    def __init__(self, album: Album, facts: AlbumFacts) -> None:
        self._album, self._facts, self._rows = album, facts, dict[Facet, RowSet]()

    def __call__(self, facet: Facet) -> bool:
        return len(self.of(facet)) > 0 or self._is_lacking(facet)

    def _is_lacking(self, facet: Facet) -> bool:
        """Whether the album is sure to have none: it knows the others', or no memory tells of one."""
        known = self._album.rows_by_detail
        if facet.kind == "medium" and facet.value != "receipt":  # without OCR nobody knows
            # An album that a phone made has pictures and knows no header of theirs.
            knows = bool(known["orientation"]) or not len(self._facts.pictured)
            return knows and not self._album.words(facet.value).bm25.any()
        field = "lighting" if facet == FLASH else facet.kind
        return field in ("lighting", "orientation") and bool(known[field])

    def of(self, facet: Facet) -> RowSet:
        """None if the album has none."""
        if facet not in self._rows:
            self._rows[facet] = _having(self._album, self._facts, facet)
        return self._rows[facet]

    def named(self, facets: Sequence[Facet]) -> dict[Remark, RowSet]:
        """The photos of each facet of a question, by what a trace says of it."""
        rows = {facet: self.of(facet) for facet in facets}
        return {
            Remark(f"facet.{facet.kind}", name=facet.value or _ANYBODY[facet.kind], n=len(of)): of
            for facet, of in rows.items()
        }


def _having(album: Album, facts: AlbumFacts, facet: Facet) -> RowSet:
    value = facet.value
    if facet.kind == "medium" and value == "video":
        return _with_ids(album, album.clips(album.ids()))
    if facet == RECEIPT:
        return facts.receipts
    if facet.kind == "fact":
        return facts.knowing(value)
    if facet.kind in ("alone", "together"):
        return _with_ids(album, _with_faces(album, _BETWEEN_NAMES.split(value), facet.kind == "alone"))
    if facet.kind == "camera":
        words = _words(value)
        return _of(album, facet.kind, lambda camera: words <= _words(camera))
    return _of(album, facet.kind, lambda known: known == value)


def fact_without(facts: AlbumFacts, phrase: str) -> str:
    """The fact that "without `phrase`" leaves out; "" where it is a thing, or the album knows it of none."""
    fact = fact_of(phrase)
    return fact if fact in ("date", "place") or (fact and len(facts.knowing(fact))) else ""


def _with_faces(album: Album, names: Sequence[str], alone: bool) -> Iterable[str]:
    """The photos that show the faces of all of them, by the name or its first word; `alone`: and no other.

    Without names those that show two faces or more; `alone`: one.
    """
    people, wanted = reading.read(album.path), [name.strip().casefold() for name in names if name.strip()]
    if people is None:
        return ()
    faces = Counter(face.photo for face in people.faces)
    if not wanted:
        return (photo for photo, seen in faces.items() if (seen == 1) == alone)
    return (
        photo
        for photo, shown in people.named_in().items()
        if all(
            any(name in (other.casefold(), *other.casefold().split()[:1]) for other in shown)
            for name in wanted
        )
        and (not alone or faces[photo] == 1)
    )


def _with_ids(album: Album, ids: Iterable[str]) -> RowSet:
    wanted = set(ids)
    return RowSet(np.array([photo in wanted for photo in album.ids()], np.bool_))


def _words(name: str) -> set[str]:
    return set(name.casefold().replace("-", " ").split())


def _of(album: Album, field: str, fits: Callable[[str], bool]) -> RowSet:
    mask = np.zeros(len(album), np.bool_)
    for value, rows in album.rows_by_detail[field].items():
        if fits(value):
            mask[rows] = True
    return RowSet(mask)
