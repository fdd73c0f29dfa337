"""A search in another language with a table of a few words: what finds, what is said, what is left alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from gamer.export.glosses.writing import Spelling, encoded
from gamer.index import Memory, Photo
from gamer.runtime.agent.calls import Search
from gamer.runtime.agent.rules import RulesMind
from gamer.runtime.agent.spans import SpanReader
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.glosses.reading import Reader
from gamer.runtime.glosses.table import GlossTable
from gamer.runtime.indexing.encode import Encoder
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import AS_ASKED, SearchOptions
from tests.albums import engine_of, note
from tests.fakes import fake_models

WORDS = {
    "собака": {"dog": 1.0, "hound": 0.4},
    "на": {"on": 1.0},
    "пляже": {"beach": 1.0},
    "фотографии": {"photos": 1.0},
    "выиграл": {"win": 1.0},
    "сыра": {"cheese": 1.0},
}
MEMORIES = {
    "dog": "a dog at the sea",
    "cheese": "cheese at the market",
    "prize": "our friend Caroline won a cup",
    "кот": "кот спит на подоконнике",
}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    (tmp_path / "t.bin").write_bytes(encoded(Spelling("ru"), WORDS, {word: [word] for word in WORDS}))
    english = {word: rank for rank, word in enumerate(("the", "a", "at", "of", "dog", "sea"))}
    rows = ({"id": name, "memories": note(text)} for name, text in MEMORIES.items())
    with engine_of(tmp_path, rows) as engine:
        engine.glosses.reader = Reader([GlossTable(tmp_path / "t.bin")], english)
        yield engine


def _first(engine: Engine, query: str, options: SearchOptions) -> str:
    weights = replace(engine.ranking, text=0.0, entity=0.0, related=0.0)  # made-up vectors mean nothing
    return engine.search(query, 1, options=replace(options, weights=weights)).hits[0].id


def test_a_word_finds_by_its_glosses_and_the_trace_says_so(engine: Engine) -> None:
    answer = engine.search("собака на пляже", 4)
    assert answer.trace.refined == "dog on beach"
    assert "собака → dog, hound" in answer.trace.cues
    assert "собака → dog, hound" in json.dumps(asdict(answer), ensure_ascii=False)
    assert _first(engine, "собака на пляже", SearchOptions()) == "dog"
    assert {hit.parts["words"] > 0 for hit in answer.hits if hit.id == "dog"} == {True}


def test_glosses_are_left_out_on_request(engine: Engine) -> None:
    answer = engine.search("собака на пляже", 4, options=SearchOptions(gloss=False))
    assert answer.trace.refined == "собака на пляже"
    assert not any("→" in line for line in answer.trace.cues)


def test_an_english_query_is_searched_as_before(engine: Engine) -> None:
    with_tables, without = (
        engine.search("the dog at sea", 4, options=SearchOptions(gloss=gloss, timed=False))
        for gloss in (True, False)
    )
    assert with_tables == without


def test_irregular_forms_and_names_of_other_scripts_are_found(engine: Engine) -> None:
    assert _first(engine, "собака выиграл", SearchOptions()) in ("dog", "prize")
    answer = engine.search("выиграл Кэролайн", 4)
    assert answer.trace.refined == "win Caroline"
    assert max(answer.hits, key=lambda hit: hit.parts["words"]).id == "prize"


def test_memories_in_the_querys_own_language_are_found_by_its_words(engine: Engine) -> None:
    assert _first(engine, "кот", SearchOptions()) == "кот"


def test_filler_goes_in_english(engine: Engine) -> None:
    assert engine.search("фотографии собака", 1).trace.refined == "dog"


def test_what_a_query_in_another_language_leaves_out_is_left_out(engine: Engine) -> None:
    answer = engine.search("собака без сыра", 4, options=AS_ASKED)
    assert answer.trace.refined == "dog"
    assert any(line.startswith("without 'сыра'") for line in answer.trace.cues)
    plain = engine.search("собака без сыра", 4, options=replace(AS_ASKED, gloss=False))
    assert plain.trace.refined == "собака без сыра"


def test_photos_are_counted_in_another_language(engine: Engine) -> None:
    assert engine.search("собака", 4, options=AS_ASKED).count is None
    assert engine.search("сколько фотографий собаки?", 4, options=AS_ASKED).count is not None


def test_a_part_of_a_query_is_read_in_the_language_of_the_whole(engine: Engine, tmp_path: Path) -> None:
    german = {"motorrad": {"motorcycle": 1.0}, "ohne": {"without": 1.0}, "leine": {"leash": 1.0}}
    path = tmp_path / "de.bin"
    path.write_bytes(encoded(Spelling("de"), german, {word: [word] for word in german}))
    engine.glosses.reader = Reader([GlossTable(path)], {"the": 0, "photos": 1})
    assert engine.language_of("Motorrad ohne Leine") == "de"
    assert not engine.is_glossed("Motorrad")
    assert engine.is_glossed("Motorrad", "de")
    assert engine.search("Motorrad ohne Leine", 1, options=AS_ASKED).trace.refined == "motorcycle"


def test_a_week_after_an_event_is_found_by_the_events_glosses(tmp_path: Path) -> None:
    words = {"хлеб": {"bread": 1.0}, "свадьбы": {"marriage": 1.0, "wedding": 0.6}, "после": {"after": 1.0}}
    (tmp_path / "t.bin").write_bytes(encoded(Spelling("ru"), words, {word: [word] for word in words}))
    rows = (
        {"id": "wedding", "taken_at": "2024-06-01T12:00:00", "memories": note("the wedding of Anna")},
        {"id": "then", "taken_at": "2024-06-03T12:00:00", "memories": note("bread at the market")},
        {"id": "later", "taken_at": "2025-01-03T12:00:00", "memories": note("bread at the market")},
    )
    with engine_of(tmp_path, rows) as engine:
        engine.glosses.reader = Reader([GlossTable(tmp_path / "t.bin")], {"the": 0, "photos": 1})
        answer = engine.search("хлеб после свадьбы", 1, options=AS_ASKED)
        assert _first(engine, "хлеб после свадьбы", AS_ASKED) == "then"
        assert answer.trace.refined == "bread"
        (cube,) = answer.trace.cubes
        assert cube.start is not None
        assert cube.end is not None
        assert 0 < cube.end - cube.start < 9 * 86_400_000


def test_a_question_in_steps_is_read_in_its_language(engine: Engine) -> None:
    toolbox = Toolbox(engine)
    first = next(RulesMind(toolbox, SpanReader(engine, None)).solve("собака без сыра", "set"))
    assert isinstance(first.call, Search)
    assert first.call.text == "собака"


def test_a_wish_tells_the_language_of_a_query(engine: Engine, tmp_path: Path) -> None:
    def table(language: str, words: dict[str, dict[str, float]]) -> GlossTable:
        path = tmp_path / f"{language}.bin"
        path.write_bytes(encoded(Spelling(language), words, {word: [word] for word in words}))
        return GlossTable(path)

    spanish, italian = {"foto": {"photo": 1.0}}, {"persone": {"people": 1.0}}
    english = {word: rank for rank, word in enumerate(["the", "photo", "people", "sin", "city"])}
    engine.glosses.reader = Reader([table("es", spanish), table("it", italian)], english)
    assert engine.language_of("foto") == "es"
    assert engine.language_of("foto senza persone") == engine.language_of("preferiti") == "it"
    assert engine.language_of("sin city") == engine.language_of("the people senza city") == ""


def test_a_memory_in_another_language_is_encoded_in_english_too(tmp_path: Path) -> None:
    (tmp_path / "t.bin").write_bytes(encoded(Spelling("ru"), WORDS, {word: [word] for word in WORDS}))
    encoder = Encoder(fake_models())
    encoder.glosses.reader = Reader([GlossTable(tmp_path / "t.bin")], {"the": 0, "dog": 1, "sea": 2})
    texts = ("собака на пляже", "the dog at sea")
    photos = [Photo(text, memories=(Memory("note", text),)) for text in texts]
    foreign, english = (done.vectors["text"] for done in encoder.encode(photos, []))
    assert np.array_equal(foreign, encoder.names(["собака на пляже", "dog on beach"]))
    assert np.array_equal(english, encoder.names([texts[1]]))
    named = Photo("named", memories=(Memory("people", "собака"), Memory("note", "собака " * 200)))
    (alone,) = encoder.encode([named], [])
    assert len(alone.vectors["text"]) == 2  # a name, and a window that is too long
    retold = encoder.retold(photos)[0].vectors["text"]
    assert np.array_equal(retold, foreign)
