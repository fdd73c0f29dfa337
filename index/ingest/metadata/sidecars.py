"""Matches sidecar files to pictures by name: Takeout's truncated and numbered names, edited copies, XMP.

XMP sidecars are found with and without the picture's extension. No file is opened. Takeout names a sidecar
NAME.EXT.supplemental-metadata.json (before 2024: NAME.EXT.json), cuts what stands before ".json" at 46
characters, and moves a picture's number to the end: IMG(1).jpg has IMG.jpg.supplemental-metadata(1).json.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_MARK = ".supplemental-metadata"
_CUT = 44  # 46 in every export seen; two less, for names that were counted in bytes or UTF-16
_NUMBER = re.compile(r"\(\d{1,4}\)$", re.ASCII)
_EDITED = (
    "-edited",
    "-bearbeitet",
    "-modifié",
    "-editado",
    "-ha editado",
    "-editada",
    "-modificato",
    "-bewerkt",
    "-edytowane",
    "-redigerad",
    "-編集済み",
    "-已修改",
    "-수정됨",
)


class Sidecars:
    """The sidecars in one folder, by name without regard to case."""

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        self._folder = folder
        self._names = {name.casefold(): name for name in names if name.lower().endswith((".xmp", ".json"))}

    def xmp_of(self, picture: str) -> Path | None:
        stem = picture.rpartition(".")[0]
        return self._first((f"{picture}.xmp", f"{stem}.xmp"))

    def json_of(self, picture: str) -> Path | None:
        stem, _, suffix = picture.rpartition(".")
        sidecar = self._first(_json_names(stem, suffix))
        if sidecar is None:
            bare = next((stem[: -len(end)] for end in _EDITED if stem.casefold().endswith(end)), None)
            bare, number = (bare, "") if bare else _edited_numbered(stem)
            sidecar = self._first(_json_names(bare + number, suffix)) if bare else None
        return sidecar

    def _first(self, wanted: Iterable[str]) -> Path | None:
        name = next((self._names[name.casefold()] for name in wanted if name.casefold() in self._names), None)
        return None if name is None else self._folder / name


def _json_names(stem: str, suffix: str) -> Iterator[str]:
    """Every name that an exporter may have given to the JSON of STEM.SUFFIX, likeliest first."""
    number = match[0] if (match := _NUMBER.search(stem)) else ""
    plain = stem.removesuffix(number)
    numbered = [(f"{plain}.{suffix}", number)] if number else []
    for base, end in [*numbered, (f"{stem}.{suffix}", "")]:
        yield f"{base}{end}.json"
        for length in range(len(base) + len(_MARK), len(base) + 1, -1):
            yield f"{(base + _MARK)[:length]}{end}.json"
        for length in range(len(base) - 1, _CUT - 1, -1):  # for a picture's name that was cut
            yield f"{base[:length]}{end}.json"
    yield f"{plain}{_MARK}{number}.json"  # some sidecars lack the picture's extension
    yield f"{stem}.json"


def _edited_numbered(stem: str) -> tuple[str, str]:
    """IMG-edited(1) → (IMG, (1))."""
    match = _NUMBER.search(stem)
    plain = stem[: match.start()] if match else ""
    bare = next((plain[: -len(end)] for end in _EDITED if plain.casefold().endswith(end)), "")
    return bare, match[0] if match and bare else ""
