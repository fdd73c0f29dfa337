"""The Android app's strings: the same ones in every language, with the same places for numbers and names."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.paths import ROOT

APP = ROOT / "android_demo" / "app" / "src" / "main"
PLACES = re.compile(r"%\d+\$[a-z]")


def strings(language: str) -> dict[str, str]:
    tree = ElementTree.parse(APP / "res" / f"values{language}" / "strings.xml")
    return {entry.attrib["name"]: entry.text or "" for entry in tree.getroot()}


@pytest.mark.parametrize("language", ["-de", "-es"])
def test_every_language_has_every_string_with_the_same_places(language: str) -> None:
    english, other = strings(""), strings(language)
    assert english.keys() == other.keys()
    for name, text in english.items():
        assert sorted(PLACES.findall(text)) == sorted(PLACES.findall(other[name])), name
        assert text.strip() and other[name].strip(), name


def test_every_string_is_used_and_every_used_one_is_there() -> None:
    texts = [path.read_text("utf-8") for path in (*APP.rglob("*.kt"), APP / "AndroidManifest.xml")]
    used = set(re.findall(r"(?:R\.string\.|@string/)(\w+)", "\n".join(texts)))
    assert used == strings("").keys()
