"""What the page and the apps say: a file of messages for each language, and the page in the one asked for.

The keys of what an app alone says begin with `app.`: tools/app_strings.py writes the apps' files. A message
has {places} for names and numbers, and where a number decides its form, one text for each plural category of
the language (CLDR). The English names of the fields of a photo are those of their declarations.
"""

from __future__ import annotations

import html
import json
import re
from functools import cache
from importlib import resources
from typing import Any, Literal

from gamer.index.fields import FIELDS

Language = Literal["de", "en", "es", "fr", "ru"]
LANGUAGES: dict[Language, str] = {
    "en": "English",
    "de": "Deutsch",
    "es": "Español",
    "fr": "Français",
    "ru": "Русский",
}
Messages = dict[str, str | dict[str, str]]
_RANGE = re.compile(r"([a-z]{2,8})(?:-[a-z0-9-]{1,40})?(?:\s*;\s*q=([01](?:\.\d{0,3})?))?", re.IGNORECASE)


@cache
def catalogue(language: Language) -> Messages:
    """Key → message, of the page and the apps, all keys in order."""
    file = resources.files(__package__) / "languages" / f"{language}.json"
    said: Messages = json.loads(file.read_text("utf-8"))
    if language == "en":
        for field in FIELDS:
            said[f"field.{field.name}"] = field.title
            said[f"field.{field.name}.told"] = field.told.replace("{}", "{value}")
    return said


@cache
def messages(language: Language) -> Messages:
    """Key → message, of what the page says."""
    return {key: message for key, message in catalogue(language).items() if not key.startswith("app.")}


def say(language: Language, key: str, **given: object) -> str:
    """A message without plural forms, with its places filled."""
    text = messages(language)[key]
    assert isinstance(text, str)
    return text.format(**given)


def chosen(asked: str | None, header: str) -> Language:
    """The language of the address, else the first that the browser wants (Accept-Language), else English."""
    wanted = [match for part in header.split(",")[:50] if (match := _RANGE.fullmatch(part.strip()))]
    by_weight = sorted(wanted, key=lambda match: -float(match[2] or 1))
    names = [asked or "", *(match[1].lower() for match in by_weight if float(match[2] or 1) > 0)]
    return next((language for name in names for language in LANGUAGES if name == language), "en")


@cache
def page(language: Language) -> bytes:
    """The page, in which {{key}} stands for a message; `code` in one is marked as such."""
    source = (resources.files(__package__) / "static" / "index.html").read_text("utf-8")
    # No "</script>" of a message may end the block that it is in.
    told = json.dumps({"lang": language, "words": messages(language)}, ensure_ascii=False).replace(
        "<", "\\u003c"
    )
    offered = "".join(
        f'<option value="{key}"{" selected" if key == language else ""}>{name}</option>'
        for key, name in LANGUAGES.items()
    )
    parts: dict[str, Any] = {"lang": language, "words": told, "languages": offered}

    def put(match: re.Match[str]) -> str:
        key = match[1]
        if key in parts:
            return str(parts[key])
        text = html.escape(say(language, key))
        return re.sub(r"`([^`]+)`", r"<code>\1</code>", text)

    return re.sub(r"\{\{([a-z_.]+)\}\}", put, source).encode()
