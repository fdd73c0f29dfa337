"""What the page says, in five languages: complete, with the same places in each, nothing in English alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from starlette.testclient import TestClient

from gamer.bench.chrome import Page
from gamer.index import Album, AlbumMeta, AlbumWriter, Encoded, Memory, Photo
from gamer.index.fields import FIELDS
from gamer.runtime.cues.tables import tables
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.remarks import ENGLISH
from gamer.runtime.serve import words
from gamer.runtime.serve.app import STATIC
from gamer.runtime.serve.overview import examples
from gamer.runtime.serve.words import LANGUAGES, Language, Messages, catalogue, chosen, messages
from tests.paths import ROOT

FOLDER = ROOT / "runtime" / "serve"
PLURALS = {"de": {"one", "other"}, "en": {"one", "other"}, "es": {"one", "other"}, "fr": {"one", "other"}}
PLURALS["ru"] = {"one", "few", "many"}
OTHERS: list[Language] = ["de", "es", "fr", "ru"]


def texts(message: str | dict[str, str]) -> list[str]:
    return [message] if isinstance(message, str) else list(message.values())


def test_each_language_has_a_file_and_its_keys_are_in_order() -> None:
    assert (
        {path.stem for path in (FOLDER / "languages").iterdir()} == set(LANGUAGES) == set(get_args(Language))
    )
    for language in LANGUAGES:
        keys = re.findall(
            r'^ "([a-z_.]+)":', (FOLDER / "languages" / f"{language}.json").read_text("utf-8"), re.M
        )
        assert keys == sorted(set(keys)), language


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_every_message_with_the_same_places(language: Language) -> None:
    english, other = catalogue("en"), catalogue(language)
    assert english.keys() == other.keys()
    for key, message in english.items():
        assert isinstance(message, dict) is isinstance(other[key], dict), key
        places = {frozenset(re.findall(r"\{\w+\}", text)) for text in (*texts(message), *texts(other[key]))}
        # "Also that one" names no number, "Also those 3" does.
        assert len(places - {frozenset()}) <= 1 or key == "save.also", key
        assert all(text.strip() for text in texts(other[key])), key


@pytest.mark.parametrize("language", list(LANGUAGES))
def test_what_counts_has_the_forms_of_its_language(language: Language) -> None:
    for key, message in messages(language).items():
        assert isinstance(message, str) or set(message) == PLURALS[language], key


def test_the_fields_of_a_photo_have_names_and_values_in_every_language() -> None:
    for field in FIELDS:
        assert field.table == f"{field.name}s"  # as the page looks for its choices
        for language in OTHERS:
            for part in ("", ".told", *(f".{choice}" for choice in field.choices)):
                assert f"field.{field.name}{part}" in messages(language)


# What stands in the page as it is: a name, and what is printed on keys.
PRINTED = {"gamer", "Enter", "Esc", "F"}


class Words(HTMLParser):
    """The words of a page that a reader sees or hears."""

    def __init__(self) -> None:
        super().__init__()
        self.found = list[str]()

    def handle_data(self, data: str) -> None:
        self.found.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [
            text or "" for name, text in attrs if name in ("aria-label", "title", "placeholder", "alt")
        ]


def test_the_page_has_no_words_of_its_own() -> None:
    reader = Words()
    reader.feed((FOLDER / "static" / "index.html").read_text("utf-8"))
    own = {text for found in reader.found for text in re.sub(r"\{\{[a-z_.]+\}\}", "", found).split()}
    assert {text for text in own if re.search(r"[A-Za-z]", text)} == PRINTED


def scripts() -> Iterator[tuple[str, str]]:
    for name in STATIC:
        if name.endswith(".js") and "/" not in name:
            yield name, re.sub(r"(?m)^\s*//.*$|\s// .*$", "", (FOLDER / "static" / name).read_text("utf-8"))


def test_the_page_has_words_for_all_that_a_search_remarks_on() -> None:
    """One message a code, or one for each value that a code can have; a line is said alike everywhere."""
    said = {key.removeprefix("remark.") for key in messages("en") if key.startswith("remark.")}
    codes = ENGLISH.keys() - {"line"}
    assert {code for code in codes if not any(f"{key}.".startswith(f"{code}.") for key in said)} == set()
    assert all(any(f"{key}.".startswith(f"{code}.") for code in codes) for key in said)
    facts = set(tables().questions.words["en"]["fact"].values())
    assert {f"facet.fact.{fact}" for fact in facts} <= said


def test_every_problem_of_the_server_has_its_message_with_the_values_that_are_given() -> None:
    """`Refused(404, "no_row", row=…, last=…)` fills {row} and {last} of `problem.no_row`."""
    raised = dict[str, set[str]]()
    calls = (
        call
        for file in FOLDER.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "").endswith(("Refused", "PictureGone"))
    )
    for call in calls:
        code = call.args[1]
        assert isinstance(code, ast.Constant)
        assert isinstance(code.value, str)
        raised[f"problem.{code.value}"] = {key.arg or "" for key in call.keywords}
    said = {key: message for key, message in messages("en").items() if key.startswith("problem.")}
    assert raised.keys() == said.keys()
    for key, message in said.items():
        assert set(re.findall(r"\{(\w+)\}", str(message))) == raised[key], key


def test_the_scripts_have_no_sentences_of_their_own() -> None:
    sentence = re.compile(r"\b[A-Z][a-z]+ [a-z]+|[a-z]+, [a-z]+|[a-z]{3,}…")
    for name, text in scripts():
        for literal in re.findall(r'"([^"\n]*)"|`([^`\n]*)`', text):
            words_ = re.sub(r"\$\{[^}]*\}", "", "".join(literal))
            assert not sentence.search(words_) or "(" in words_, (name, words_)


def test_every_message_is_used_and_every_one_that_is_used_is_there() -> None:
    source = "\n".join(text for _, text in scripts()) + (FOLDER / "static" / "index.html").read_text("utf-8")
    source += (FOLDER / "overview.py").read_text("utf-8")
    keys = set(messages("en"))
    used = set(re.findall(r'["{]([a-z_]+(?:\.[a-z_]+)*)["}]', source)) & keys
    # Built from a name that the server gives: `part.${name}`.
    built = tuple(re.findall(r"`([a-z]+\.)\$\{", source)) + ("example.", "filter.")
    assert {key for key in keys - used if not key.startswith(built)} == set()
    assert set(re.findall(r'\bt\("([a-z_.]+)"', source)) <= keys


@pytest.mark.parametrize(
    ("asked", "header", "language"),
    [
        (None, "", "en"),
        (None, "de-AT,de;q=0.9,en;q=0.8", "de"),
        (None, "pt-BR, fr;q=0.7, ru;q=0.9", "ru"),
        (None, "it, *;q=0.1", "en"),
        (None, "de;q=0, fr;q=0.1", "fr"),
        ("es", "de", "es"),
        ("xx", "de", "de"),
        (None, "de;q=2; DROP, " + "x" * 5000 + "-" * 5000, "en"),
        (None, "RU", "ru"),
    ],
)
def test_the_address_or_the_browser_chooses_the_language(
    asked: str | None, header: str, language: Language
) -> None:
    assert chosen(asked, header) == language


def test_the_server_answers_in_the_language_that_the_browser_wants(client: TestClient) -> None:
    answer = client.get("/", headers={"accept-language": "fr-CH, fr;q=0.9"})
    assert answer.headers["content-language"] == "fr"
    assert answer.headers["vary"] == "accept-language"
    assert '<html lang="fr">' in answer.text
    assert "Votre album" in answer.text
    assert "{{" not in answer.text
    assert '<html lang="ru">' in client.get("/?lang=ru", headers={"accept-language": "fr"}).text
    said = client.get("/api/v1/stats?lang=de").json()["examples"]
    assert said[-1] == "Sommer 2026"
    assert client.get("/api/v1/stats?lang=xx").status_code == 422


def test_a_message_cannot_end_the_block_that_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    told: Messages = {**messages("en"), "title": "</script><b>\"'&"}
    monkeypatch.setattr(words, "messages", lambda language: told)
    words.page.cache_clear()
    try:
        text = words.page("en").decode()
    finally:
        words.page.cache_clear()
    assert "</script><b>" not in text
    assert "&lt;/script&gt;&lt;b&gt;" in text


# What the album says, whatever the language: names, memories.
DATA = (
    "#jump, #filter-folder, [data-row], .city, .marker, .node, #heading, .chip, .thought, .steps .did, "
    "#cells, #query, .year, #rail-said, #language, kbd, .brand, blockquote, dd, .tick, #sentence, #albums, "
    "#viewer-title, script, noscript, style"
)
UNSAID = f"""(() => {{
  const out = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const bare = (text) =>
    [1, 2, 3].reduce((left) => left.replace(/⟦[^⟦⟧]*⟧/g, ""), text).replace(/\\bms\\b/g, "");
  const unsaid = (text, node) => /[a-z]{{2}}/i.test(bare(text)) && !node.closest({DATA!r});
  while (walker.nextNode()) {{
    const node = walker.currentNode;
    if (unsaid(node.textContent, node.parentElement)) out.push(node.textContent);
  }}
  for (const node of document.body.querySelectorAll("[aria-label], [placeholder]"))
    for (const name of ["aria-label", "placeholder"])
      if (unsaid(node.getAttribute(name) ?? "", node)) out.push(node.getAttribute(name));
  return out;
}})()"""
READY = "document.querySelector('#results').getAttribute('aria-busy') === 'false'"


@pytest.mark.slow
def test_the_page_says_nothing_that_is_not_in_its_messages(
    page: Page, served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def marked(message: str | dict[str, str]) -> str | dict[str, str]:
        if isinstance(message, str):
            # A message with `code` becomes several nodes.
            return re.sub("[A-Za-z]", "-", message) if "`" in message else f"⟦{message}⟧"
        return {form: f"⟦{text}⟧" for form, text in message.items()}

    told = {key: marked(message) for key, message in messages("en").items()}
    monkeypatch.setattr(words, "messages", lambda language: told)
    words.page.cache_clear()
    try:
        for address, ready in (
            ("/", "document.querySelector('#cells .cell[data-row]') && document.querySelector('#map svg')"),
            ("/?q=coffee+last+spring&now=2026-11-21&favourites=", "document.querySelector('#layers tr')"),
            ("/?q=the+first+photo+of+the+day+I+saw+the+cat&how=ask", "document.querySelector('.steps li')"),
            ("/?like=chelsea", "document.querySelector('.card[data-row]')"),
            ("/?view=memory", "document.querySelectorAll('#own-kinds section').length === 4"),
        ):
            page.open(served + address, f"{ready} && {READY} && document.querySelector('.chip')")
            assert page.ask(UNSAID) == [], address
    finally:
        words.page.cache_clear()
    assert page.complaints() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "heading", "status", "month"),
    [
        ("de", "Dein Album", "19 Fotos", "Oktober 2026"),
        ("es", "Tu álbum", "19 fotos", "octubre de 2026"),
        ("fr", "Votre album", "19 photos", "octobre 2026"),
        ("ru", "Ваш альбом", "19 фотографий", "октябрь 2026 г."),
    ],
)
def test_the_browser_chooses_the_language(
    page: Page, served: str, language: Language, heading: str, status: str, month: str
) -> None:
    page.call("Network.setExtraHTTPHeaders", headers={"Accept-Language": f"{language}-XX,en;q=0.5"})
    try:
        page.open(
            served, f"document.querySelector('#cells .month') && {READY} && document.querySelector('.chip')"
        )
        assert page.ask("document.documentElement.lang") == language
        assert page.ask("document.querySelector('#heading').textContent") == heading
        assert status in page.ask("document.querySelector('#status').textContent")
        assert page.ask("document.querySelector('#cells .month h2').textContent") == month
        last = page.ask("[...document.querySelectorAll('.chip')].at(-1).textContent")
        assert last == words.say(language, "example.summer", year=2026)
        # A language of one's own choice stays in the address, over searches too.
        page.ask(
            "(() => { const list = document.querySelector('#language'); list.value = 'en';"
            " list.dispatchEvent(new Event('change')); })()"
        )
        page.wait("document.documentElement.lang === 'en' && document.querySelector('.chip')")
        page.ask("document.querySelector('.chip').click()")
        page.wait("/[?&]q=./.test(location.search) && location.search.includes('lang=en')")
    finally:
        page.call("Network.setExtraHTTPHeaders", headers={})
    assert page.complaints() == []


@pytest.mark.slow
@pytest.mark.parametrize("language", list(LANGUAGES))
def test_the_suggested_queries_are_understood_in_their_language(
    client: TestClient, engine: Engine, language: Language
) -> None:
    said = client.get(f"/api/v1/stats?lang={language}").json()["examples"]
    assert len(said) == len(set(said)) > 3
    for query in said:
        answer = client.post("/api/v1/search", json={"query": query}).json()["answer"]
        assert answer["trace"]["cues"], query
        assert answer["hits"], query
        assert answer["presence"] > 0.9, query


def test_suggested_queries_are_what_was_written_and_other_labels_come_last(
    tmp_path: Path,
) -> None:
    def told(source: str, *texts: str) -> tuple[Memory, ...]:
        return tuple(Memory(source, text) for text in texts)

    photos = [
        Photo("a", None, memories=told("ocr", "Invoice from Acme Holding in Springfield")),
        Photo(
            "b",
            None,
            1_748_736_000_000,
            memories=told("label", "red fox, kit fox") + told("place", "Graz, AT"),
        ),
        Photo("c", None, memories=told("label", "red fox") + told("note", "a Red Fox on the road")),
        Photo("d", None, memories=told("label", "bubble")),
        Photo("f", None, memories=told("label", "bubble")),
        Photo("g", None, memories=told("label", "teapot")),
        Photo("e", None, 1_600_000_000_000, memories=told("note", "A week in Rio de Janeiro, at last")),
    ]
    with AlbumWriter.create(tmp_path / "a.gamer", AlbumMeta("none", "none", 4, 0.5)) as writer:
        writer.add([Encoded(photo) for photo in photos])
        writer.finish(lambda names: np.full((len(names), 4), 0.5, np.float32))
    with Album.open(tmp_path / "a.gamer") as album:
        said = [example.text("en") for example in examples(album, {"Anna": [1]})]
    assert said == ["Anna in Graz", "red fox in Graz", "Rio de Janeiro in 2020", "bubble", "summer 2025"]
