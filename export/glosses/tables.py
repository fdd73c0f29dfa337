"""The tables of glosses of an export: which it wants, whether a bundle has them, their files and licences."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tokenizers import Tokenizer

from gamer.runtime.bundle import manifest as mf
from gamer.runtime.glosses.guess import ranks
from gamer.runtime.models.text import whole_words

from ..components import components
from ..settings import Settings
from . import build, dictionaries
from .sources import Source, sources

TOOL = "glosses"  # the entry of the manifest's tools that says what the tables were made of
NAME = "glosses-{}.bin"
NO_FORMS = (
    "simplemma is not installed, or does not have {}: words of that language are known in the forms that its "
    "dictionaries list alone"
)


def digests(settings: Settings) -> dict[str, str]:
    """Language → a hash of what its table would be made of. Raises ExportError without a dictionary."""
    code = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.*")):
        code.update(file.read_bytes())
    code.update(str(find_spec("simplemma") is not None).encode())
    return {
        language: build.digest(sources(language, settings.dictionaries), code.digest())
        for language in settings.languages
    }


def has_all(manifest: mf.Manifest, settings: Settings) -> bool:
    """Whether a bundle has the tables that are asked for, made of the same dictionaries."""
    return recorded(manifest).items() >= digests(settings).items()


def recorded(manifest: mf.Manifest) -> dict[str, str]:
    """Language → the hash of what a bundle's table of it was made of."""
    pairs = (item.partition("=") for item in manifest.tools.get(TOOL, "").split(",") if item)
    return {language: digest for language, _, digest in pairs}


def reuse(settings: Settings, existing: mf.Manifest | None, out: Path, stage: Path) -> None:
    """Copies the tables of the bundle `out` that would be made the same to the unfinished bundle `stage`."""
    for left in stage.glob(NAME.format("*")):
        left.unlink()
    made = {} if existing is None else recorded(existing)
    for language, digest in digests(settings).items():
        if made.get(language) == digest:
            shutil.copy2(out / NAME.format(language), stage / NAME.format(language))


def write(settings: Settings, folder: Path, report: Callable[[str], None]) -> list[str]:
    """Writes a table for each language of `settings` into `folder`, but for those that are there already.

    Returns the files' names. Raises ExportError.
    """
    if not settings.languages:
        return []
    vocabulary = Tokenizer.from_str(components.text_tokenizer(settings)).get_vocab()
    common = ranks(whole_words(vocabulary))

    @lru_cache
    def pivot(language: str) -> Mapping[str, build.Glosses]:
        direct = [source for source in sources(language, settings.dictionaries) if not source.through]
        return build.glossed(language, direct, pivot, common)

    names = []
    for language in settings.languages:
        name = NAME.format(language)
        names.append(name)
        if (folder / name).exists():
            continue
        built = build.build(language, sources(language, settings.dictionaries), pivot, common, folder / name)
        report(f"glosses of {language}: {built.words:,} words, {built.size / 1e6:.1f} MB")
        if not built.lemmas:
            report(NO_FORMS.format(language))
    return names


def licences(settings: Settings) -> dict[str, str]:
    """Dictionary → what it says of its licence."""
    used = (source for language in settings.languages for source in _through(settings, language))
    return {f"dictionary {source.name}": dictionaries.about(source.path) for source in used}


def _through(settings: Settings, language: str) -> Iterator[Source]:
    for source in sources(language, settings.dictionaries):
        yield source
        if source.through:
            yield from (s for s in sources(source.through, settings.dictionaries) if not s.through)


def tool(settings: Settings) -> dict[str, str]:
    """The manifest's entry of what the tables were made of; empty without tables."""
    made = ",".join(f"{language}={digest}" for language, digest in digests(settings).items())
    return {TOOL: made} if made else {}


def kept(settings: Settings, earlier: str) -> tuple[str, ...]:
    """The languages of a request, and those of an earlier bundle that still have a dictionary."""
    from ..errors import ExportError

    out = list(settings.languages)
    for language in filter(None, earlier.split(",")):
        try:
            sources(language, settings.dictionaries)
        except ExportError:
            continue
        out.append(language)
    return tuple(sorted(set(out)))
