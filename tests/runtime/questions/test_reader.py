"""How the rules read English: what asks for a photo's neighbours, and what only sounds like it.

A wrong reading of the second kind is the worse one: a plain search still finds the photo, a relation to an
anchor that nobody meant finds another.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.runtime.questions.question import Question
from gamer.runtime.questions.reader import MAX_READ
from gamer.runtime.questions.reader import read as read_question
from tests.paths import ROOT

_TIMES = re.compile(
    r"(?:christmas|easter|midnight|noon|lunch|yesterday|last summer|(?:in )?(?:may )?\d{4})", re.I
)


STRUCTURE = frozenset(
    ("asks", "target", "relation", "unit", "anchor", "other", "order", "anchor_order", "number", "occasion")
    + ("with_anchor", "shift", "side", "without", "favourites")
)


def read(text: str) -> dict[str, object]:
    """The fields in which a reading differs from an empty question."""
    found, empty = read_question(text, lambda phrase: bool(_TIMES.fullmatch(phrase))), Question("")
    return {
        f.name: value
        for f in fields(Question)
        if f.name in STRUCTURE and (value := getattr(found, f.name)) != getattr(empty, f.name)
    }


def before(anchor: str, **more: object) -> dict[str, object]:
    return {"relation": "before", "anchor": anchor, **more}


def after(anchor: str, **more: object) -> dict[str, object]:
    return {"relation": "after", "anchor": anchor, **more}


def same(unit: str, anchor: str, **more: object) -> dict[str, object]:
    return {"relation": "same", "unit": unit, "anchor": anchor, **more}


RELATIONS: list[tuple[str, dict[str, object]]] = [
    ("the photo right before the waterfall", before("the waterfall", number=1)),
    ("the photo right after the birthday cake", after("the birthday cake", number=1)),
    ("the next photo after the lighthouse", after("the lighthouse", order=1, number=1)),
    ("the second photo after the ferry", after("the ferry", order=2, number=1)),
    ("the third photo after the heron", after("the heron", order=3, number=1)),
    ("the last photo before the storm", before("the storm", order=-1, number=1)),
    ("the first picture after the wedding", after("the wedding", order=1, number=1)),
    ("the next photo after the day I saw the whale", after("the whale", unit="day", order=1, number=1)),
    ("everything before the week of the fair", before("the fair", unit="week")),
    ("when did I first see a whale?", {"asks": "when", "target": "whale", "order": 1, "number": 1}),
    ("where did we last meet Tom?", {"asks": "where", "target": "Tom", "order": -1, "number": 1}),
    (
        "how many kites did I see between the ferry and the fair?",
        {
            "asks": "count",
            "relation": "between",
            "anchor": "the ferry",
            "other": "the fair",
            "target": "kites",
        },
    ),
    ("how many weeks did we stay?", {"asks": "fact", "target": "stay"}),
    ("two photos after the lighthouse", after("the lighthouse", number=2)),
    ("ten pictures after the parade", after("the parade", number=10)),
    ("the three pictures before the ferry left", before("the ferry left", number=3)),
    ("what did I photograph just after the lighthouse?", after("the lighthouse")),
    ("which photo came before the broken window?", before("the broken window", number=1)),
    ("the photo preceding the receipt", before("the receipt", number=1)),
    ("the photo immediately following the receipt", after("the receipt", number=1)),
    ("the photo taken just after the receipt", after("the receipt", number=1)),
    ("show me the picture that came after the receipt", after("the receipt", number=1)),
    ("give me all the photos after the receipt", after("the receipt")),
    ("After the parade, what was the first photo?", after("the parade", order=1, number=1)),
    ("Before the parade, which dogs did I see?", before("the parade", target="dogs")),
    ("Right after the waterfall, which bird did I see?", after("the waterfall", target="bird", number=1)),
    ("all sunsets after the concert", after("the concert", target="sunsets")),
    ("every boat before the lighthouse", before("the lighthouse", target="boat")),
    ("the last bridge before the lighthouse", before("the lighthouse", target="bridge", order=-1, number=1)),
    ("the first sunset after the concert", after("the concert", target="sunset", order=1, number=1)),
    ("the next dog after the one in the snow", after("dog in the snow", target="dog", order=1, number=1)),
    (
        "the previous cat before the one on the piano",
        before("cat on the piano", target="cat", order=-1, number=1),
    ),
    (
        "the next time I saw a fox after the one in the garden",
        after("fox in the garden", target="fox", order=1, number=1, occasion=True),
    ),
    ("a sunset after I visited the castle", after("the castle", target="sunset", number=1)),
    ("the kite before the photo of the regatta", before("the regatta", target="kite", number=1)),
    ("all photos from the same day as the kite", same("day", "the kite", with_anchor=True)),
    ("everything from the day of the kite", same("day", "the kite", with_anchor=True)),
    ("the other photos from the day of the kite festival", same("day", "the kite festival")),
    ("what else did I photograph on the day of the regatta?", same("day", "the regatta")),
    ("more pictures from the same evening as the bonfire", same("evening", "the bonfire")),
    ("same morning as the heron: everything else", same("morning", "the heron")),
    ("pictures from the weekend of the concert", same("weekend", "the concert", with_anchor=True)),
    ("photos from the month of the regatta", same("month", "the regatta", with_anchor=True)),
    (
        "photos of dogs from the same day as the kite",
        same("day", "the kite", target="dogs", with_anchor=True),
    ),
    (
        "the dog from the same trip as the glacier",
        same("trip", "the glacier", target="dog", with_anchor=True),
    ),
    (
        "first dog of the day with the kite",
        same("day", "the kite", target="dog", order=1, number=1, with_anchor=True),
    ),
    (
        "the last photo of the day I saw the whale",
        same("day", "the whale", order=-1, number=1, with_anchor=True),
    ),
    (
        "the boats on the day when I saw the heron",
        same("day", "the heron", target="boats", with_anchor=True),
    ),
    (
        "photos between the lighthouse and the ferry",
        {"relation": "between", "anchor": "the lighthouse", "other": "the ferry"},
    ),
    (
        "what did I take between the museum and the dinner?",
        {"relation": "between", "anchor": "the museum", "other": "the dinner"},
    ),
    (
        "how many dogs did I photograph after the concert?",
        after("the concert", asks="count", target="dogs"),
    ),
    ("where was I before the waterfall?", before("the waterfall", asks="where")),
    ("when was the photo after the waterfall taken?", after("the waterfall", asks="when", number=1)),
    ("who is in the photo right before the bonfire?", before("the bonfire", asks="who", number=1)),
]  # fmt: skip

ORDERS: list[tuple[str, dict[str, object]]] = [
    ("the most recent photo of Emma", {"target": "Emma", "order": -1, "number": 1}),
    ("my latest photo of the garden", {"target": "garden", "order": -1, "number": 1}),
    ("the oldest picture of grandma", {"target": "grandma", "order": 1, "number": 1}),
    ("the last three photos of Emma", {"target": "Emma", "order": -1, "number": 3}),
    ("the 3 most recent photos of my bike", {"target": "bike", "order": -1, "number": 3}),
    ("the newest photo", {"order": -1, "number": 1}),
    ("the last 100 photos", {"order": -1, "number": 100}),
    ("the third last photo", {"order": -3, "number": 1}),
    ("the second to last picture of Emma", {"target": "Emma", "order": -2, "number": 1}),
    ("the second oldest photo", {"order": 2, "number": 1}),
    ("which photo is the oldest?", {"order": 1, "number": 1}),
    ("Which of my photos is the oldest?", {"order": 1, "number": 1}),
    ("Which of the photos of Anna are the newest?", {"order": -1, "target": "Anna"}),
    ("Which photo of the cat was the last?", {"order": -1, "number": 1, "target": "cat"}),
    ("the second to the last photo", {"order": -2, "number": 1}),
    (
        "the second last photo before the race",
        {"order": -2, "number": 1, "anchor": "the race", "relation": "before"},
    ),
    ("the first time I saw a whale", {"target": "whale", "order": 1, "number": 1, "occasion": True}),
    ("the last time I was in Lisbon", {"target": "Lisbon", "order": -1, "number": 1, "occasion": True}),
    ("how many photos of foxes are there?", {"asks": "count", "target": "foxes"}),
    ("how many photos did I take in Lisbon?", {"asks": "count", "target": "Lisbon"}),
]

# Each is its own target, word for word.
PLAIN = """
my first birthday
our first house
first snow
first aid kit
first place medal
First Avenue street sign
the first day of school
the first of May demonstration
the latest iPhone
newest member of the family
previous owner's sign
the final score on the board
last supper painting
last light on the mountain
last train home
last minute shopping
last year's calendar
photos from last summer
the last of the apples
the last place I lived
a second-hand bookshop
Second World War memorial
the second cup of coffee
the third floor window
cat next to the sofa
next door's cat
the girl next door
next year's diary
after-party
the after-party at Leo's flat
after dinner drinks
afternoon tea
the morning after
happily ever after
one after another
sunset after the rain
me after the marathon
runner after a race
a photo of a runner after a race
child running after a ball
the boy named after his grandfather
the day after tomorrow never dies poster
The Day After Tomorrow film poster
before Christmas
photos before Christmas
photos after 2015
photos between 2010 and 2012
photos between the concert and Christmas
Monday before lunch
Alice before her haircut
kitchen before renovation
how the kitchen looked before the renovation
cake before and after icing
before and after photos of the kitchen
dog standing before a mirror
a photo of me standing before the cathedral
the man before the judge
the calm before the storm
the day before yesterday
the week before last
never before seen
the house we lived in before
a duck with ducklings following
people following a guide
the photo of the ducklings following their mother
following the river
the bridge between the two towers
a dog between two chairs
me between Anna and the dog
the photo of the cat between the sofa and the table
a sign that says open between 9 and 5
same shirt as my brother
two dogs of the same colour
the same tree in autumn
the day of the dead parade
Independence Day fireworks
day trip to the coast
night of the museums
the party with balloons
the walk with the dog
a walk in the park
date of birth on a form
walk of fame
three cats on a wall
one lemon cut in half
""".strip().splitlines()


@pytest.mark.parametrize(("text", "expected"), RELATIONS, ids=[text for text, _ in RELATIONS])
def test_a_question_about_neighbours_names_its_anchor_and_its_target(
    text: str, expected: dict[str, object]
) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(("text", "expected"), ORDERS, ids=[text for text, _ in ORDERS])
def test_an_order_or_a_number_of_photos_leaves_the_target(text: str, expected: dict[str, object]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize("text", PLAIN)
def test_words_of_order_in_a_description_stay_part_of_the_description(text: str) -> None:
    found = read_question(text, lambda phrase: bool(_TIMES.fullmatch(phrase)))
    assert (found.relation, found.order, found.number, found.target) == ("", 0, 0, text)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("when was I at the lighthouse?", "when"),
        ("what year did we move?", "when"),
        ("since when do I own the bike?", "when"),
        ("where did I see the fox?", "where"),
        ("in which city is the clock tower?", "where"),
        ("who was at the bonfire?", "who"),
        ("with whom was I at the concert?", "who"),
        ("how often did I see a heron?", "count"),
        ("what does the sign at the harbour say?", "fact"),
        ("did I ever see a moose?", "fact"),
        ("the place where we met", "photos"),
        ("a sign that asks who is there", "photos"),
    ],
)
def test_the_first_words_say_what_is_asked(text: str, asks: str) -> None:
    assert read_question(text).asks == asks


def test_a_question_about_a_neighbour_asks_for_photos_whatever_its_first_word() -> None:
    assert read_question("which photo came after the heron?").asks == "photos"


def test_a_question_without_an_anchor_keeps_its_time_in_the_target() -> None:
    assert read("what did I photograph before May 2016?") == {"target": "before May 2016"}


def test_case_spaces_and_the_question_mark_do_not_matter() -> None:
    plain = read("the next dog after the one in the snow")
    assert read("  The  NEXT dog\n after the one in the snow ?! ") == plain


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    long = "a very long story about boats " * 100 + " the photo right after the heron"
    found = read_question(long)
    assert found.relation == ""
    assert len(found.target) <= MAX_READ
    assert found.text == long


SENTENCE = (
    "before after between and following same day as the of first last next second photos photo I saw only "
    "finally really what when where how many did one ones else right just . : ; , ... ? ! - 3 twelve fox the"
)
WORDS = re.findall(r"\S+", SENTENCE)


def test_a_word_that_is_a_time_after_since_alone_is_no_anchor() -> None:
    assert read_question("my photos since May", lambda phrase: phrase == "after May").relation == ""
    assert read_question("my photos since May", lambda phrase: phrase == "June").anchor == "May"


@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)))
def test_any_text_is_read(text: str) -> None:
    """Without an error; a relation has its anchor, and "between" both; no number is out of range."""
    found = read_question(text, lambda phrase: bool(_TIMES.fullmatch(phrase)))
    assert found.text == text
    assert bool(found.anchor) == bool(found.relation)
    assert bool(found.other) == (found.relation == "between")
    assert bool(found.unit) == (found.relation == "same")
    assert -5 <= found.order <= 5
    assert -5 <= found.anchor_order <= 5
    assert 0 <= found.number <= 99
    assert all("\n" not in part for part in (found.target, found.anchor, found.other))


def test_no_repetition_makes_the_reading_explode() -> None:
    """In a process of its own: an expression that backtracks without end would never return.

    The system ends it after three minutes of the processor for what takes half of one; how busy the machine
    is does not count.
    """
    subprocess.run([sys.executable, "-c", _REPETITIONS], check=True, cwd=ROOT, timeout=850)


_REPETITIONS = r"""
import sys
if sys.platform != "win32":
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, (180, 181))
from gamer.runtime.questions.reader import read as read_question
words = ["before ", "after ", "between ", "and ", "right ", "only ", "really ", "same day as ", "the ",
         "first ", "I saw ", "I ", "1 ", "photos ", "what else ", "...", ". ", "- ", "'", "a", "ly ", ", ",
         "the day I only ", "the photo of ", "the day of the ", "first photo ", "most recent ", "day: ",
         "that came ", "how many "]
heads = ["", "the day I ", "first photo x", "the next photo after ", "same day as ", "photos between "]
tails = ["", " x", " x y", " before", " after x", " and x", ":", " photos"]
for word in words:
    for head in heads:
        for tail in tails:
            read_question(head + word * (900 // len(word)) + tail)
"""


@pytest.mark.parametrize(
    ("text", "anchor", "other"),
    [
        ("Which was first, the ferry or the castle?", "the ferry", "the castle"),
        ("Which trip was first: Rome or Vienna?", "Rome", "Vienna"),
        ("What did I photograph first, the moon or the coins?", "the moon", "the coins"),
        ("Did we see the puffins first, or was it the seals?", "the puffins", "the seals"),
        ("Was Rome before Vienna?", "Rome", "Vienna"),
        ("Was the wedding before or after the move?", "the wedding", "the move"),
    ],
)
def test_which_of_two_was_first_is_read_from_where_they_stand(text: str, anchor: str, other: str) -> None:
    # The reader of places takes "Rome" for nothing but a place, which may be compared all the same.
    question = read_question(text, _cities, is_place=_cities)
    assert (question.relation, question.anchor, question.other) == ("", anchor, other)


def _cities(phrase: str) -> bool:
    return phrase in ("Rome", "Vienna")


@pytest.mark.parametrize(
    "text",
    [
        "Were the kids happy before the party?",
        "Was it raining before the match?",
        "Was the trip before 2019?",
        "Was the picnic after dark?",
        "Is the car before the house?",
        "Which first name did she choose, Anna or Eva?",
        "Where did we spend the first night, in Rome or in Vienna?",
    ],
)
def test_what_was_before_something_is_no_comparison(text: str) -> None:
    assert read_question(text, lambda phrase: phrase.endswith("2019")).other == ""
