"""The phone apps' strings: the same ones in every language, with the same places for numbers and names."""

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
        assert text.strip(), name
        assert other[name].strip(), name


def test_every_string_is_used_and_every_used_one_is_there() -> None:
    texts = [path.read_text("utf-8") for path in (*APP.rglob("*.kt"), APP / "AndroidManifest.xml")]
    used = set(re.findall(r"(?:R\.string\.|@string/)(\w+)", "\n".join(texts)))
    assert used == strings("").keys()


def test_what_the_core_says_is_what_the_app_says_in_english() -> None:
    core = ROOT / "android_demo" / "core" / "src" / "gamer" / "screen" / "Words.kt"
    said = re.findall(r"^    ([A-Z_]+)\(\"(.*)\"\),$", core.read_text("utf-8"), re.MULTILINE)
    texts = strings("")
    assert {f"say_{name.lower()}" for name, _ in said} == {name for name in texts if name.startswith("say_")}
    for name, text in said:
        assert texts[f"say_{name.lower()}"].replace("\\'", "'") == text.replace("\\$", "$"), name


IOS = ROOT / "ios_demo" / "App"
SHOWN = re.compile(
    r"(?:\b(?:Text|Button|Label|NavigationLink|LabeledContent|ProgressView|Picker|Stepper|ShareLink|navigationTitle"
    r"|accessibilityLabel)\(|prompt: )\"((?:[^\"\\]|\\\((?:[^()]|\([^()]*\))*\))*)\""
)
INTEGER = re.compile(r"\\\((?:Int\((?:[^()]|\([^()]*\))*\)|rounds|minutes|hours|report\.\w+)\)")
WITHOUT_WORDS = {"GAMER"}


def shown() -> set[str]:
    """What the views show, as SwiftUI looks it up: %lld stands for an Int, %@ for other values, %% for %."""
    texts = set(SHOWN.findall("\n".join(path.read_text("utf-8") for path in IOS.glob("*.swift"))))
    escaped = (text.replace("%", "%%") for text in texts)
    numbered = (INTEGER.sub("%lld", text) for text in escaped)
    return {re.sub(r"\\\((?:[^()]|\([^()]*\))*\)", "%@", text) for text in numbered} - WITHOUT_WORDS


@pytest.mark.parametrize("language", ["de", "es"])
def test_the_ios_app_shows_nothing_that_is_not_translated(language: str) -> None:
    lines = (IOS / f"{language}.lproj" / "Localizable.strings").read_text("utf-8").splitlines()
    pairs = [re.fullmatch(r'"(.+)" = "(.+)";', line) for line in lines]
    told = {pair[1]: pair[2] for pair in pairs if pair}
    assert len(told) == len(lines)
    assert told.keys() == shown()
    for english, other in told.items():
        assert re.findall(r"%(?:lld|@|%)", english) == re.findall(r"%(?:lld|@|%)", other), english
