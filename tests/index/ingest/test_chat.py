"""Chat logs: the dates of several countries, attachments, and which photo a message belongs to."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from gamer.index import Memory, Photo, scan
from gamer.index.ingest import chat
from gamer.index.ingest.chat_matching import WINDOW, Talk


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("line", "when"),
    [
        ("12/31/23, 21:15 - Anna: Prosit!", "2023-12-31T21:15"),
        ("31/12/2023, 21:15 - Anna: Prosit!", "2023-12-31T21:15"),
        ("31.12.23, 21:15 - Anna: Prosit!", "2023-12-31T21:15"),
        ("[31.12.23, 21:15:30] Anna: Prosit!", "2023-12-31T21:15:30"),
        ("\u200e[31/12/2023 21:15:30] ~\u202fAnna: Prosit!", "2023-12-31T21:15:30"),
        ("12/31/23, 9:15\u202fPM - Anna: Prosit!", "2023-12-31T21:15"),
        ("31/12/2023, 9:15 p. m. - Anna: Prosit!", "2023-12-31T21:15"),
        ("[2023-12-31, 12:05:00 AM] Anna: Prosit!", "2023-12-31T00:05"),
        ("2023-12-31 21:15 Anna: Prosit!", "2023-12-31T21:15"),
        ("2023-12-31T21:15:00 Anna: Prosit!", "2023-12-31T21:15"),
        ("2023/12/31 21:15 - Anna: Prosit!", "2023-12-31T21:15"),
    ],
)
def test_a_line_of_each_form_is_parsed(line: str, when: str) -> None:
    assert chat.parse(line) == (chat.Message(ms(when), "Anna", "Prosit!", None),)


def test_day_and_month_are_distinguished_by_the_whole_log() -> None:
    assert [m.wall for m in chat.parse("1/2/23, 10:00 - A: x\n1/13/23, 10:00 - A: y")] == [
        ms("2023-01-02T10:00"),
        ms("2023-01-13T10:00"),
    ]
    assert [m.wall for m in chat.parse("1/2/23, 10:00 - A: x\n13/2/23, 10:00 - A: y")] == [
        ms("2023-02-01T10:00"),
        ms("2023-02-13T10:00"),
    ]
    # Nothing over 12, but as month first the second would lie before the first.
    assert [m.wall for m in chat.parse("9/1/23, 10:00 - A: x\n1/2/23, 10:00 - A: y")] == [
        ms("2023-01-09T10:00"),
        ms("2023-02-01T10:00"),
    ]


def test_continued_lines_are_joined_and_system_lines_and_placeholders_dropped() -> None:
    log = "1/1/23, 10:00 - Messages are end-to-end encrypted.\n1/1/23, 10:01 - A: one\ntwo\n"
    log += "1/1/23, 10:02 - A: <Media omitted>\n1/1/23, 10:03 - B added C\n"
    assert [(m.name, m.text) for m in chat.parse(log)] == [("A", "one\ntwo")]


@pytest.mark.parametrize(
    ("body", "name", "text"),
    [
        ("IMG-20231231-WA0001.jpg (file attached)\nfireworks", "IMG-20231231-WA0001.jpg", "fireworks"),
        ("IMG-20231231-WA0001.jpg (Datei angehängt)", "IMG-20231231-WA0001.jpg", ""),
        (
            "\u200e<attached: 00000009-PHOTO-2023-10-27-22-42-29.jpg>",
            "00000009-PHOTO-2023-10-27-22-42-29.jpg",
            "",
        ),
        ("look at DSC_1.png please", "DSC_1.png", "look at DSC_1.png please"),
        ("DSC_1.HEIC", "DSC_1.HEIC", ""),
    ],
)
def test_an_attachment_gives_the_name_of_its_file_and_the_text_beside_it(
    body: str, name: str, text: str
) -> None:
    (message,) = chat.parse(f"1/1/23, 10:00 - A: {body}")
    assert (message.picture, message.text) == (name, text)


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=300)
    | st.from_regex(
        r"(\[?[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{2,4},? [0-9]{1,2}:[0-9]{2} ?(PM)?\]?"
        r" ?-? ?[A:. ]{0,6}\n?){0,5}"
    )
)
def test_no_text_makes_the_parser_of_chats_raise(text: str) -> None:
    messages = chat.parse(text)
    assert [m.wall for m in messages] == sorted(m.wall for m in messages)
    for photo in Talk("log.txt", messages).rest():
        assert photo.path is None
        assert photo.memories
        assert photo.taken_at is not None


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 10_000), st.booleans()), max_size=40),
    st.lists(st.integers(0, 10_000), max_size=5),
)
def test_every_message_is_in_a_photos_memory_or_in_a_row_of_its_own(
    minutes: list[tuple[int, bool]], photos: list[int]
) -> None:
    """Every message is in a memory of some photo or in a row of its own, never in both."""
    messages = [chat.Message(60_000 * at, "A", f"word{i}", None) for i, (at, _) in enumerate(sorted(minutes))]
    talk = Talk("log.txt", messages)
    with_photos = "\n".join(m.text for at in photos for m in talk.of("x.jpg", 60_000 * at)).split()
    rest = [word for photo in talk.rest() for word in photo.memories[0].text.split()]
    for message in messages:
        near = any(abs(message.wall - 60_000 * at) <= WINDOW for at in photos)
        assert (message.text in with_photos) + (message.text in rest) == 1
        assert near or message.text in rest


def test_messages_of_a_chat_go_to_the_photos_that_they_came_with_or_near(tmp_path: Path) -> None:
    tags = Image.Exif()
    tags.get_ifd(0x8769)[0x9003] = "2023:12:31 21:00:00"
    Image.new("RGB", (8, 8)).save(tmp_path / "near.jpg", exif=tags)
    Image.new("RGB", (8, 8)).save(tmp_path / "IMG-20231225-WA0007.jpg")
    (tmp_path / "WhatsApp Chat with Anna.txt").write_text(
        "12/25/23, 18:00 - Ben: IMG-20231225-WA0007.jpg (file attached)\n"
        "12/25/23, 18:01 - Anna: What a goose!\n"
        "12/28/23, 09:00 - Anna: See you at the station\n"
        "12/28/23, 09:05 - Ben: Platform 4\n"
        "12/31/23, 21:04 - Anna: the lake is frozen\n",
        encoding="utf-8",
    )
    (tmp_path / "notes.txt").write_text("milk\nbread: 3\n")
    goose, near, talk = (item for item in scan(tmp_path) if isinstance(item, Photo))
    assert goose.memories == (Memory("chat", "Anna: What a goose!"),)
    assert near.memories == (Memory("chat", "Anna: the lake is frozen"),)
    assert talk == Photo(
        "WhatsApp Chat with Anna.txt#2023-12-28T09:00:00",
        None,
        ms("2023-12-28T09:00"),
        memories=(Memory("chat", "Anna: See you at the station\nBen: Platform 4"),),
    )


@given(
    st.text(alphabet="ab. :/<>\n?jpgJPEeif-", max_size=80)
    | st.sampled_from(["see IMG-1.jpg.png x", "a.jpgb.jpg", ".jpg", "x.heic (file attached)"])
)
def test_the_name_of_a_picture_is_what_the_plain_pattern_finds(body: str) -> None:
    """The plain pattern takes quadratic time; the search from the endings finds the same names."""
    plain = re.search(r"([^\s<>:\"/\\|?*]{1,200}\.(?:jpe?g|png|webp|heic|heif|tiff?))", body, re.I)
    assert chat._picture(body) == (plain[0] if plain else None)


def test_a_long_name_is_cut_where_the_plain_pattern_would_cut_it() -> None:
    assert chat._picture("x" * 300 + ".jpg") == "x" * 200 + ".jpg"
    assert chat._picture("x" * 20_000) is None


def test_a_picture_without_a_time_gets_that_of_the_message_that_sent_it(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "grandpa.jpg")
    Image.new("RGB", (8, 8)).save(tmp_path / "IMG-20231225-WA0007.jpg")
    (tmp_path / "chat.txt").write_text(
        "25/12/2023, 18:00 - Ben: grandpa.jpg (file attached)\n"
        "26/12/2023, 19:00 - Ben: grandpa.jpg (file attached)\n"
        "27/12/2023, 19:00 - Ben: IMG-20231225-WA0007.jpg (file attached)\n",
        encoding="utf-8",
    )
    photos = {item.id: item for item in scan(tmp_path) if isinstance(item, Photo)}
    sent, named = photos["grandpa.jpg"], photos["IMG-20231225-WA0007.jpg"]
    assert (sent.taken_at, sent.tz_source) == (ms("2023-12-25T18:00"), "chat")
    assert named.tz_source == "name"  # what its name says counts more
