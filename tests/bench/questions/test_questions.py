"""The questions that authors typed without knowing the rules: well formed, and judged as they should be."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gamer.bench.questions.measure import differences, measure, questions, translated
from gamer.runtime.questions.question import Question


def test_there_are_960_of_eight_authors_in_many_families_each_once() -> None:
    labelled = questions()
    assert Counter(one.author for one in labelled) == dict.fromkeys("abcdefgh", 120)
    assert len({one.text for one in labelled}) == 960
    assert len({(one.author, one.family) for one in labelled}) >= 100
    assert all(one.text.strip() for one in labelled)


def test_an_authors_own_reading_is_exact_and_any_other_is_not() -> None:
    for one in questions():
        assert differences(one.reading, one.reading) == frozenset()
        assert differences(one.reading, replace(one.reading, number=one.reading.number + 1)) == {"number"}
        assert "target" in differences(one.reading, replace(one.reading, target="a submarine"))


def test_articles_and_the_order_of_a_list_do_not_matter() -> None:
    meant = Question("", target="the cat on my sofa", without=("people", "the dog"))
    assert differences(meant, Question("", target="cat sofa", without=("dog", "people"))) == frozenset()


def test_the_measurement_counts_what_a_reader_gets_right() -> None:
    known = {one.text: one.reading for one in questions()}
    perfect = measure(known.__getitem__)
    assert (perfect.all.exact, perfect.all.structure) == (1.0, 1.0)
    deaf = measure(Question)
    assert deaf.all.exact < 0.1
    assert deaf.parts["favourites"] > 0.9
    assert sum(row.questions for row in deaf.families) == sum(row.questions for row in deaf.authors) == 960


def test_questions_in_other_languages_are_read_as_they_are_meant() -> None:
    report = measure(Question)
    exact = {row.name: row.exact for row in report.languages}
    assert exact.keys() >= {"de", "es", "fr", "it", "ru"}
    assert min(exact.values()) >= 0.7
    assert {row.questions for row in report.languages} == {60, 24}


def test_the_marks_of_a_translated_question_are_its_phrases() -> None:
    without = next(one for one in translated() if one.author == "fr" and one.reading.without)
    assert without.text == "la plage sans personne"
    assert (without.reading.target, without.reading.without) == ("la plage", ("personne",))
