"""Writes the apps' files of strings from the catalogue of messages in runtime/serve/languages.

Run it after a change. An app's own messages begin with `app.`; what the page shows too stands there once,
under the page's key. Android's names are those of `R.string`; iOS looks a text up by its English words, as
its views have them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from gamer.runtime.serve.words import LANGUAGES, Language, catalogue

ROOT = Path(__file__).resolve().parents[1]
ANDROID = ROOT / "android_demo" / "app" / "src" / "main"
IOS = ROOT / "ios_demo" / "App"
_NAMES = {"app_name"}  # not translated: Android falls back to its file without a language
_OF_PAGE = {
    "say_searching": "searching",
    "similar": "similar",
    "undated": "undated",
    "people": "people",
    "forget": "forget",
    "forget_yes": "forget.yes",
}
_PLACE = re.compile(r"\{(\w+)\}")
_NUMBERS = {"n", "all", "percent"}
_SHOWN = re.compile(
    r"(?:\b(?:Text|Button|Label|NavigationLink|LabeledContent|Menu|ProgressView|Picker|Stepper|Toggle|TextField|ShareLink|navigationTitle"
    r"|accessibilityLabel)\(|prompt: )\"((?:[^\"\\]|\\\((?:[^()]|\([^()]*\))*\))*)\""
)
_INTEGER = re.compile(r"\\\((?:Int\((?:[^()]|\([^()]*\))*\)|rounds|minutes|hours|photos|report\.\w+)\)")
_PRIVACY = "app.photos.why"  # iOS asks for the photos with it


def android_names() -> set[str]:
    """The names that the Android app's sources look up."""
    texts = [path.read_text("utf-8") for path in (*ANDROID.rglob("*.kt"), ANDROID / "AndroidManifest.xml")]
    return set(re.findall(r"(?:R\.string\.|@string/)(\w+)", "\n".join(texts)))


def ios_texts() -> set[str]:
    """What the views show, as SwiftUI looks it up: %lld stands for an Int, %@ for other values, %% for %."""
    texts = set(_SHOWN.findall("\n".join(path.read_text("utf-8") for path in IOS.glob("*.swift"))))
    numbered = (_INTEGER.sub("%lld", text.replace("%", "%%")) for text in texts)
    return {re.sub(r"\\\((?:[^()]|\([^()]*\))*\)", "%@", text) for text in numbered} - {"GAMER"}


def android_key(name: str) -> str:
    """The catalogue's key of an Android name: `say_found` is `app.say.found`; `person_…` and most of
    `remark_…` are the page's.
    """
    if name.startswith("remark_"):
        key = name.replace("_", ".")
        return key if key in catalogue("en") else f"app.{key}"
    if name.startswith("person_"):
        return re.sub("^person_", "people.", name)
    return _OF_PAGE.get(name) or "app." + re.sub("^say_", "say.", name)


def ios_keys() -> dict[str, str]:
    """A text of the views → the catalogue's key; an app's own message comes before the page's."""
    english = catalogue("en")
    by_text = {ios(text, text): key for key, text in english.items() if isinstance(text, str)}
    own = {ios(str(text), str(text)): key for key, text in english.items() if key.startswith("app.")}
    return {text: (by_text | own)[text] for text in sorted(ios_texts())}


def places(english: str) -> list[str]:
    return list(dict.fromkeys(_PLACE.findall(english)))


def android(english: str, text: str) -> str:
    """A message with Android's places, numbered as they stand in English, and its escapes."""
    order = places(english)
    text = text.replace("%", "%%") if order else text
    text = _PLACE.sub(lambda m: f"%{order.index(m[1]) + 1}${'d' if m[1] in _NUMBERS else 's'}", text)
    return escape(text).replace("'", "\\'").replace("\n", "\\n")


def ios(english: str, text: str) -> str:
    """A message with iOS's places; they have numbers where a language has them in another order."""
    order, text = places(english), text.replace("%", "%%")
    numbered = places(text) != order

    def place(match: re.Match[str]) -> str:
        at = f"{order.index(match[1]) + 1}$" if numbered else ""
        return f"%{at}lld" if match[1] in _NUMBERS else f"%{at}@"

    return _PLACE.sub(place, text)


def android_file(language: Language) -> str:
    """`strings.xml`."""
    english, said = catalogue("en"), catalogue(language)
    texts = {name: android_key(name) for name in sorted(android_names() - _NAMES)}
    lines = [
        f'    <string name="{name}">{android(str(english[key]), str(said[key]))}</string>'
        for name, key in texts.items()
    ]
    own = ['    <string name="app_name" translatable="false">GAMER</string>'] if language == "en" else []
    return "\n".join(
        ['<?xml version="1.0" encoding="utf-8"?>', "<resources>", *own, *lines, "</resources>", ""]
    )


def _pair(text: str, other: str) -> str:
    return '"{}" = "{}";\n'.format(*(part.replace('"', '\\"') for part in (text, other)))


def files() -> Iterator[tuple[Path, str]]:
    """Every generated file with its text."""
    english, keys = catalogue("en"), ios_keys()
    for language in LANGUAGES:
        said = catalogue(language)
        folder = "values" if language == "en" else f"values-{language}"
        yield ANDROID / "res" / folder / "strings.xml", android_file(language)
        project = IOS / f"{language}.lproj"
        yield project / "InfoPlist.strings", _pair("NSPhotoLibraryUsageDescription", str(said[_PRIVACY]))
        if language != "en":
            pairs = (_pair(text, ios(str(english[key]), str(said[key]))) for text, key in keys.items())
            yield project / "Localizable.strings", "".join(pairs)


if __name__ == "__main__":
    for path, text in files():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
