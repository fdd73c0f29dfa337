"""Which sentence answers a question; none does where a name, the kind of value or the words are missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.runtime.questions.clauses import best, fit, has_value, printed, sentences_of, sought, stem


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How much was the espresso?", "money"),
        ("How old is Karl?", "age"),
        ("How many cats?", "number"),
        ("How long did I wait?", "duration"),
        ("What time does Ruth's train get in?", "time"),
        ("In which drawer is it?", "place"),
        ("Why is it blurred?", "reason"),
        ("What's the dog's name?", "name"),
        ("Who was with me?", "person"),
        ("What colour is the car?", "colour"),
        ("What is my favourite colour?", "colour"),
        ("Which hand held the cup?", "side"),
        ("How did we get to Oslo?", "means"),
        ("What did the sign say?", "writing"),
        ("What does my shirt say?", "writing"),
        ("What did every sign say?", "writing"),
        ("What did Mum say it is?", ""),
        ("What did my sister say?", ""),
        ("What did she say about it?", ""),
        ("What did we eat?", ""),
    ],
)
def test_the_kind_of_value_that_a_question_wants(question: str, wanted: str) -> None:
    assert sought(question).wanted == wanted


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        (
            "How much was the espresso?",
            "Nice day. 4.80 euros for an espresso!",
            "4.80 euros for an espresso!",
        ),
        ("How much was the espresso?", "The espresso was strong.", None),
        ("What time does Peter's train get in?", "Ruth's train gets in at 16:12.", None),
        (
            "What time does Ruth's train get in?",
            "Ruth's train gets in at 16:12.",
            "Ruth's train gets in at 16:12.",
        ),
        ("How old is Tom?", "Karl is a bit older than Tom.", None),
        ("How many cats do I have?", "The cat has no shame.", None),
        ("How many cats do I have?", "There are no cats here.", "There are no cats here."),
        ("What did I say about the key?", "The key is under the pot.", "The key is under the pot."),
        ("Where's Clara?", "Tom's in Cork and Clara's in Galway.", "Clara's in Galway."),
        (
            "When does my passport expire?",
            "My passport is new. It expires in June 2029.",
            "It expires in June 2029.",
        ),
        ("What do I drink?", "I do not drink coffee. I drink tea.", "I drink tea."),
        ("Who was with me?", "We went home.", None),
        ("What did I pay for the espresso?", "4.80 euros for an espresso!", "4.80 euros for an espresso!"),
        ("How much did I pay Tom?", "Tom wants 3500 euros.", None),
        ("What did the eye doctor say?", "Eye doctor: all fine.", "Eye doctor: all fine."),
        ("What does the sign say?", "The sign at the door.", None),
        (
            "Do you know where I parked?",
            "I did not park at the station. I parked at the mall.",
            "I parked at the mall.",
        ),
        ("Have I been to Bali?", "I have never been to Bali.", "I have never been to Bali."),
        ("Which composer do I adore?", "I adore Debussy.", "I adore Debussy."),
        ("What is the price of the boat?", "", None),
    ],
)
def test_the_sentence_that_answers(question: str, text: str, answer: str | None) -> None:
    found = best(sought(question), [(text, "")])
    assert (found and found[1]) == answer


def test_a_person_is_met_by_each_of_their_names_and_by_what_is_known_beside_the_text() -> None:
    asked = sought("Where does my sister live?", [frozenset({"sister", "clara"})])
    assert fit(asked, "Clara lives in Faro.") > 0
    assert fit(asked, "Tom lives in Faro.") == 0
    assert fit(sought("Who was with me in Vienna?"), "Breakfast with Anna.", "Vienna, AT") > 0


TICKET = "BOARDING PASS\nFlight TP 1367\nDeparture 14:35\nGate B12\nSeat 22C"
SIGN = "Hotel Azul\nWi-Fi network: HotelAzul\nPassword: sardine42"
RECEIPT = "Cafe Lumiere\n1 Espresso 2.80\n1 Croissant 2.40\nTotal EUR 5.20"


@pytest.mark.parametrize(
    ("question", "text", "line"),
    [
        ("What time is my flight?", TICKET, "Departure 14:35"),
        ("what is my flight number", TICKET, "Flight TP 1367"),
        ("Which gate does the flight leave from?", TICKET, "Gate B12"),
        ("What time is my train?", TICKET, ""),
        ("When is my flight?", "Flight TP 1367", ""),
        ("what is the wifi password at the hotel?", SIGN, "Password: sardine42"),
        ("what is the wifi password at work?", "Password: sardine42", ""),
        ("How much was the espresso?", RECEIPT, "1 Espresso 2.80"),
        ("What was the total at the cafe?", RECEIPT, "Total EUR 5.20"),
        ("How much was the tea?", RECEIPT, ""),
    ],
)
def test_the_line_of_a_printed_text_that_answers(question: str, text: str, line: str) -> None:
    assert printed(sought(question), text, "") == line


def test_sentences_are_not_cut_within_a_number_or_after_a_title() -> None:
    assert sentences_of("At 9.40 with Mr. Wiggles. Then home!") == ["At 9.40 with Mr. Wiggles.", "Then home!"]


@given(st.text(max_size=300), st.text(max_size=300))
def test_what_is_quoted_stands_in_the_text(question: str, text: str) -> None:
    found = best(sought(question), [(text, "")])
    assert found is None or found[1] in text
    assert all(stem(word) for word in text.split() if any(map(str.isalnum, word)))


def test_who_did_something_is_named_before_what_was_done() -> None:
    asked = sought("Who fixed the Honda?")
    assert has_value(asked, "Tom finally fixed the Honda in the garage.")
    assert not has_value(asked, "Finally the Honda runs again.")


def test_names_that_are_joined_are_quoted_together() -> None:
    told = "Paul's dogs Coco and Nala waiting for the postman"
    assert best(sought("Who are Paul's dogs?"), [(told, "")]) == (0, told)
    two = "The Khan wedding is on Friday and Tom's party is on Sunday"
    assert best(sought("When is Tom's party?"), [(two, "")]) == (0, "Tom's party is on Sunday")
