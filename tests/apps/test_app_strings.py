"""The phone apps' strings: written from the catalogue of messages that the page has, as they are used."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from gamer.runtime.serve.words import catalogue
from tests.paths import ROOT
from tools import app_strings

# The same English words, for something else: a tab's title, and what is known of one photo.
OTHERWISE = {"Search", "Memory"}


def strings(language: str) -> dict[str, str]:
    tree = ElementTree.parse(app_strings.ANDROID / "res" / f"values{language}" / "strings.xml")
    return {entry.attrib["name"]: entry.text or "" for entry in tree.getroot()}


def test_the_apps_files_are_what_the_catalogue_says() -> None:
    for path, text in app_strings.files():
        assert path.read_text("utf-8") == text, f"{path}: run python -m tools.app_strings"
    written = {path for path, _ in app_strings.files()}
    there = {*app_strings.ANDROID.rglob("strings.xml"), *app_strings.IOS.rglob("*.strings")}
    assert there == written


def test_every_message_of_the_apps_is_used() -> None:
    android = {app_strings.android_key(name) for name in app_strings.android_names()}
    used = android | set(app_strings.ios_keys().values()) | {"app.photos.why"}
    own = {key for key in used if key.startswith("app.")} - {"app.app_name"}
    assert {key for key in catalogue("en") if key.startswith("app.")} == own
    assert used - own - {"app.app_name"} <= catalogue("en").keys()


def test_what_several_show_stands_once() -> None:
    english = {key: text for key, text in catalogue("en").items() if isinstance(text, str)}
    own = [text for key, text in english.items() if key.startswith("app.")]
    assert len(own) == len(set(own))
    page = {text for key, text in english.items() if not key.startswith("app.")}
    assert set(own) & page == OTHERWISE
    assert set(app_strings._OF_PAGE.values()) <= english.keys()


def test_what_the_core_says_is_what_the_app_says_in_english() -> None:
    core = ROOT / "android_demo" / "core" / "src" / "gamer" / "screen" / "Words.kt"
    said = re.findall(r"^    ([A-Z_]+)\(\"(.*)\"\),$", core.read_text("utf-8"), re.MULTILINE)
    texts = strings("")
    names = {name: name.lower() if name.startswith("REMARK_") else f"say_{name.lower()}" for name, _ in said}
    assert {*names.values()} == {name for name in texts if name.startswith(("say_", "remark_"))}
    for name, text in said:
        assert texts[names[name]].replace("\\'", "'") == text.replace("\\$", "$"), name


def test_places_keep_their_value_where_a_language_has_them_in_another_order() -> None:
    english, other = "{n} of {all}: {name}", "{name}: {all}, {n} % d'ici"
    assert app_strings.android(english, other) == "%3$s: %2$d, %1$d %% d\\'ici"
    assert app_strings.ios(english, other) == "%3$@: %2$lld, %1$lld %% d'ici"
    assert app_strings.ios(english, english) == "%lld of %lld: %@"
    assert app_strings.android("100 % & <b>", "100 % & <b>") == "100 % &amp; &lt;b&gt;"
