"""What is printed stays on its line and cannot control the terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gamer.index.console import plain


def test_line_breaks_become_spaces_and_control_characters_are_marked() -> None:
    assert plain("PLATFORM 9\nto\tKyoto\r\n\x1b[31m") == "PLATFORM 9 to Kyoto  \ufffd[31m"


@given(st.text())
def test_any_text_is_printed_on_one_line(text: str) -> None:
    assert plain(text).isprintable()
    assert len(plain(text)) == len(text)
