"""What a search remarks on: a code with values, which the page words in its language, and English words."""

from __future__ import annotations

from dataclasses import dataclass

# By code. A value with !r is quoted from the query. "line" is said alike in every language ("собака → dog").
ENGLISH = {
    "elsewhere": "no photo in {name}",
    "empty": "no photos in this album",
    "event": "event not found {text!r}",
    "facet.alone": "{name} alone: {n}",
    "facet.camera": "by {name}: {n}",
    "facet.fact": "with {name}: {n}",
    "facet.medium": "{name}s: {n}",
    "facet.orientation": "in {name}: {n}",
    "facet.together": "{name} together: {n}",
    "favourites": "favourites only: {n}",
    "line": "{text}",
    "none": "none {text}",
    "not": "not {text!r}",
    "often": "often {text!r}",
    "place": "place {text!r} = {name}",
    "printed": "dated by what is printed on them: {n}",
    "searched": "searched {n} times for all that show {text!r}",
    "spelt": "spelt {text!r}",
    "time": "time {text!r}",
    "unpictured": "pictures cannot be searched for {text} with this model; memories were",
    "unpictured.foreign": "pictures cannot be searched for {text} with this model; memories were; words of "
    "other languages than English need a bundle with dictionaries (docs/languages.md)",
    "without": "without {text!r}: {n} left out",
}


@dataclass(frozen=True)
class Remark:
    """`code`: of ENGLISH. `text`: words of the query; `name`: of the album or gazetteer; `n`: how many."""

    code: str
    text: str = ""
    name: str = ""
    n: int = 0

    def __str__(self) -> str:
        of = "of " if self.code == "none" and not self.text[:1].islower() else ""  # "none of May 2019"
        number = "none in this album" if self.is_lacking else self.n
        return ENGLISH[self.code].format(text=of + self.text, name=self.name, n=number)

    @property
    def is_lacking(self) -> bool:
        """Whether it says that the album has no photo of a kind that is asked for."""
        return not self.n and (self.code == "favourites" or self.code.startswith("facet."))
