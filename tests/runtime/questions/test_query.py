"""What queries wish for beside resemblance: read from words alone, and left alone where it is not certain."""

from __future__ import annotations

import pytest

from gamer.runtime.questions.reader import read
from gamer.runtime.questions.request import gone_to
from gamer.runtime.search.spelling import near


@pytest.mark.parametrize(
    ("query", "text", "without"),
    [
        ("photos with Anna but not coffee", "photos with Anna", ("coffee",)),
        ("garden but no flowers", "garden", ("flowers",)),
        ("the lake without people in summer", "the lake in summer", ("people",)),
        ("beach, no dogs", "beach", ("dogs",)),
        ("cats except for the black one", "cats", ("black one",)),
        ("a motorcycle, but not in Berlin", "a motorcycle, but not in Berlin", ()),
        ("the day without", "the day without", ()),
        ("without people", "without people", ()),
        ("nothing but trouble", "nothing but trouble", ()),
        ("photo of a street with no cars", "photo of a street", ("cars",)),
        ("sunset, no people, no cars", "sunset", ("people", "cars")),
        ("dogs but no cats and no horses", "dogs", ("cats", "horses")),
        ("Anna without Tom, Lena or a dog in 2024", "Anna in 2024", ("Tom", "Lena", "dog")),
        ("photos with no one in them", "photos", ("people",)),
        ("pictures of the beach with no people on it", "pictures of the beach", ("people",)),
        ("an old car without wheels, red", "an old car, red", ("wheels",)),
    ],
)
def test_what_is_to_be_left_out(query: str, text: str, without: tuple[str, ...]) -> None:
    question = read(query)
    assert (question.query, question.without) == (text, without)


def test_a_time_or_place_that_is_left_out_stays_with_the_rules_of_cues() -> None:
    def is_cue(phrase: str) -> bool:
        return phrase in ("2024", "Berlin")

    assert read("the cat except 2024", is_cue=is_cue).query == "the cat except 2024"
    assert read("Germany but not Berlin", is_cue=is_cue).without == ()
    both = read("dogs but no cats and not 2024", is_cue=is_cue)
    assert (both.query, both.without) == ("dogs, not 2024", ("cats",))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("how many cats", "cats"),
        ("how many of my cats", "cats"),
        ("how many different cats did we see?", "cats"),
        ("How many photos from Florida do I have?", "photos from Florida"),
        ("how many pictures of the moon are there in 2024", "pictures of the moon in 2024"),
    ],
)
def test_numbers_of_photos_are_counted(query: str, text: str) -> None:
    question = read(query)
    assert (question.query, question.counts) == (text, True)


@pytest.mark.parametrize(
    "query", ["how many people came to the party", "how many times did Anna go", "How many days was the trip"]
)
def test_questions_for_facts_are_not_counted(query: str) -> None:
    assert read(query).query == query
    assert not read(query).counts


def test_favourites_are_a_filter_only_where_photos_are_marked() -> None:
    assert read("my favourite pictures of the cat").query == "pictures of the cat"
    assert read("show me my favorites").query == "show me photos"
    assert not read("my favourite pictures of the cat", has_favourites=False).favourites
    assert not read("my favourite restaurant").favourites  # a restaurant, not a mark


@pytest.mark.parametrize(
    ("query", "soon"),
    [
        ("photos after the wedding", "photos in the week after the wedding"),
        ("what did I shoot right before Anna's party?", "what did I shoot in the week before Anna's party"),
        ("the day after the wedding", ""),
        ("photos from the day after the wedding", ""),
        ("street after the rain", ""),
        ("breakfast after the wedding", "breakfast in the week after the wedding"),
        ("after the wedding", "photos in the week after the wedding"),
    ],
)
def test_after_an_event_means_soon_after(query: str, soon: str) -> None:
    assert read(query).soon == soon


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("our trip to India", "India"),
        ("show me the holiday in Rome", "Rome"),
        ("photos of my visit to Graz", "Graz"),
        ("the boat trip to Capri", ""),
        ("trip", ""),
        ("a tree in India", ""),
    ],
)
def test_a_stay_is_where_one_was(text: str, place: str) -> None:
    assert gone_to(text) == place


def test_a_mended_word_is_one_edit_away() -> None:
    assert {"coffee", "cofe", "cofer"} <= set(near("cofee"))
    assert "berlin" in near("berln")
    assert "tofee" not in near("cofee")


@pytest.mark.parametrize(
    ("text", "language", "query", "without", "counts"),
    [
        ("Hund ohne Leine", "de", "Hund", ("Leine",), False),
        ("Fotos vom Strand ohne Menschen oder Hunde", "de", "vom Strand", ("Menschen", "Hunde"), False),
        ("Mann ohne Hut", "de", "Mann ohne Hut", (), False),
        ("Wie viele Katzen haben wir?", "de", "Katzen", (), True),
        ("la plage sans chien", "fr", "la plage", ("chien",), False),
        ("combien de chats ?", "fr", "chats", (), True),
        ("fotos de la boda, excepto Tom y Lena", "es", "de la boda", ("Tom", "Lena"), False),
        ("¿Cuántos gatos?", "es", "gatos", (), True),
        ("озеро без собак и кошек", "ru", "озеро", ("собак", "кошек"), False),
        ("сколько фотографий собаки", "ru", "собаки", (), True),
        ("Сколько фотографий?", "ru", "photos", (), True),
        ("il cane senza guinzaglio", "it", "il cane", ("guinzaglio",), False),
        ("quantos gatos?", "pt", "gatos", (), True),
        ("quantas fotos do cachorro", "pt", "do cachorro", (), True),
        ("hond zonder riem", "nl", "hond", ("riem",), False),
        ("sin city", "", "sin city", (), False),
    ],
)
def test_what_is_left_out_and_counted_is_read_in_other_languages(
    text: str, language: str, query: str, without: tuple[str, ...], counts: bool
) -> None:
    question = read(text, language=language)
    assert (question.query, question.without, question.counts) == (query, without, counts)


@pytest.mark.parametrize(
    ("text", "language", "soon"),
    [
        ("Kuchen nach der Hochzeit", "de", "Kuchen in the week after the Hochzeit"),
        ("Fotos nach unserer Hochzeit", "de", "photos in the week after the Hochzeit"),
        ("le gâteau après le mariage", "fr", "le gâteau in the week after the le mariage"),
        ("avant l'anniversaire", "fr", "photos in the week before the l'anniversaire"),
        ("fotos antes de la boda", "es", "photos in the week before the la boda"),
        ("торт после свадьбы", "ru", "торт in the week after the свадьбы"),
        ("la torta dopo il matrimonio", "it", "la torta in the week after the il matrimonio"),
        ("bolo depois do casamento", "pt", "bolo in the week after the casamento"),
        ("taart na de bruiloft", "nl", "taart in the week after the bruiloft"),
        # The way to a place, in front of a house, what a street looks like after the rain.
        ("Reise nach Paris", "de", ""),
        ("Oma vor dem Haus", "de", ""),
        ("la rue après la pluie", "fr", ""),
        ("улица после дождя", "ru", ""),
        ("después de la boda", "", ""),
    ],
)
def test_a_week_around_an_event_is_read_in_other_languages(text: str, language: str, soon: str) -> None:
    assert read(text, language=language).soon == soon


@pytest.mark.parametrize(
    ("text", "language", "query"),
    [
        ("Meine Lieblingsfotos vom Strand", "de", "photos vom Strand"),
        ("mes photos préférées de la plage", "fr", "mes photos de la plage"),
        ("mes favoris", "fr", "photos"),
        ("fotos favoritas de la playa", "es", "de la playa"),
        ("избранные фото моря", "ru", "моря"),
        ("foto preferite del mare", "it", "del mare"),
        ("minhas favoritas da praia", "pt", "photos da praia"),
        ("mijn favorieten met hond", "nl", "photos met hond"),
        ("mis favoritos", "es", "photos"),
        ("i miei preferiti", "it", "photos"),
        ("le mie immagini preferite", "it", "le mie"),
    ],
)
def test_favourites_are_read_in_other_languages(text: str, language: str, query: str) -> None:
    question = read(text, language=language)
    assert (question.favourites, question.query) == (True, query)
    assert not read(text, language=language, has_favourites=False).favourites


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("mis libros favoritos", "es"),
        ("mes robes préférées", "fr"),
        ("i miei libri preferiti", "it"),
        ("meus pratos favoritos", "pt"),
        ("my favourite books", ""),
    ],
)
def test_favourites_of_another_noun_are_no_marked_photos(text: str, language: str) -> None:
    question = read(text, language=language)
    assert (question.favourites, question.query) == (False, text)


@pytest.mark.parametrize(
    "text", ["Bilder vom Weg nach der Türkei", "Suche nach dem Schlüssel", "Zugreise nach den Inseln"]
)
def test_german_nach_of_direction_is_no_time(text: str) -> None:
    assert read(text, language="de").soon == ""
    assert read("Ausflug nach der Hochzeit", language="de").soon
