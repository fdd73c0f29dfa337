"""Which dictionaries a table of glosses is made of: those that are installed, or a person's own files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from ..errors import ExportError

INSTALLED = (Path("/usr/share/dictd"), Path("/usr/local/share/dictd"), Path("/opt/homebrew/share/dictd"))
KNOWN: dict[str, Any] = json.loads(Path(__file__).with_name("languages.json").read_text(encoding="utf-8"))
NAMES: dict[str, str] = KNOWN["names"]
_CODE = re.compile(r"[a-z]{2,3}")
_GET_MORE = (
    "install one (Debian's dict-freedict-{0}-eng or dict-freedict-eng-{0}), or give --dictionary {1}=FILE "
    "(.index of dictd, .ifo of StarDict, or .tsv)"
)


@dataclass(frozen=True)
class Source:
    """A dictionary. `path`: its .index, .ifo or .tsv file. `through`: the language, other than English, that
    its glosses are in; "" for English. `turned`: it is from that language, or English, to be turned round.
    """

    path: Path
    turned: bool = False
    through: str = ""

    @property
    def name(self) -> str:
        return self.path.stem


def parse_dictionaries(items: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """ "de=my.tsv" → ("de", "my.tsv"). Raises ExportError for another form, and for a missing file."""
    out = []
    for item in items:
        code, equals, file = item.partition("=")
        if not equals or not _CODE.fullmatch(code) or code == "en":
            raise ExportError(f"--dictionary {item[:80]}: say LANGUAGE=FILE, as in de=words.tsv")
        if Path(file).suffix not in (".index", ".ifo", ".tsv"):
            raise ExportError(
                f"--dictionary {item[:80]}: must be a .index (dictd), .ifo (StarDict) or .tsv file"
            )
        if not Path(file).is_file():
            raise ExportError(f"--dictionary {item[:80]}: no such file")
        out.append((code, file))
    return tuple(out)


def parse_languages(text: str, given: Sequence[tuple[str, str]] = ()) -> tuple[str, ...]:
    """ "de,fr" → ("de", "fr"), with those of the `given` dictionaries; "installed" → those that have one.

    Raises ExportError.
    """
    if text.strip() == "installed":
        codes = [code for code in sorted(NAMES) if _own(code)]
    else:
        codes = [code.strip() for code in text.split(",") if code.strip()]
    for code in codes:
        if not _CODE.fullmatch(code) or code == "en":
            raise ExportError(f"--languages: {code[:20]!r} must be a code of another language, such as de")
    return tuple(sorted({*codes, *(code for code, _ in given)}))


def found(languages: Sequence[str]) -> str:
    """One line: which languages have an installed dictionary, and how to get others."""
    have = (
        f"queries are also read in: {', '.join(languages)}"
        if languages
        else "queries are read in English alone"
    )
    return f"{have}; for other languages install FreeDict's dictionaries (Debian: dict-freedict-deu-eng …)"


def sources(code: str, given: Sequence[tuple[str, str]]) -> tuple[Source, ...]:
    """The dictionaries of a language: those that were given, or else all that are installed.

    Those to and from another language are followed through it where its own dictionaries are larger. A file
    called eng-deu, or any.eng-de.tsv, is from English. Raises ExportError if there are none.
    """
    files = [Path(file) for language, file in given if language == code]
    found = tuple(Source(file, turned=bool(re.search(r"\beng?-", file.stem))) for file in files) or _own(code)
    if not found:
        how = _GET_MORE.format(NAMES.get(code, code), code)
        raise ExportError(f"--languages {code}: no dictionary of this language is installed; {how}")
    if files:
        return found
    through = filter(_own, takewhile(lambda language: language != code, KNOWN["through"]))
    return found + tuple(
        Source(path, turned=bool(turned), through=language)
        for language in through
        for turned, pair in enumerate(((code, language), (language, code)))
        for path in _installed("freedict-{}-{}".format(*(NAMES.get(one) for one in pair)))
    )


def _own(code: str) -> tuple[Source, ...]:
    long = NAMES.get(code)
    if long is None:
        return ()
    direct, turned = [f"freedict-{long}-eng"], [f"freedict-eng-{long}"]
    for name in KNOWN["further"].get(code, ()):
        (turned if name.startswith("<") else direct).append(name.lstrip("<"))
    return tuple(Source(path) for name in direct for path in _installed(name)) + tuple(
        Source(path, turned=True) for name in turned for path in _installed(name)
    )


def _installed(name: str) -> tuple[Path, ...]:
    paths = (folder / f"{name}.index" for folder in INSTALLED)
    return tuple(path for path in paths if path.is_file())[:1]
