"""Parses chat logs: WhatsApp's text exports from Android and iPhone, and `2023-12-31 21:15 Name: text` lines.

A log's times are wall times. The order of day and month is inferred from the entire log: a number over 12
decides, else the order in which fewer times run backwards, else month first with AM/PM and day first without.
chat_matching.py assigns messages to photos.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from io import StringIO
from itertools import pairwise
from pathlib import Path

from ..errors import IngestError
from ..text import clean
from .metadata.moment import to_millis

MAX_BYTES = 64 << 20
MAX_LINES = 500_000  # a message takes some 700 bytes of memory, however short it is
_HEAD_LINES = 40  # a text file whose first 40 non-empty lines hold no message is not a log
_SPACE = "[ \\u00a0\\u2009\\u202f]"
_LINE = re.compile(
    rf"\[?(?P<a>\d{{1,4}})(?P<mark>[./-])(?P<b>\d{{1,2}})(?P=mark)(?P<c>\d{{2,4}})[,.]?(?:{_SPACE}{{1,3}}|T)"
    rf"(?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})(?:[:.](?P<second>\d{{2}}))?"
    rf"(?:{_SPACE}?(?P<half>[ap])\.?{_SPACE}?m\.?)?\]?(?:{_SPACE}?-)?{_SPACE}(?P<rest>.*)",
    re.I | re.S | re.ASCII,
)
_FILE_NAME = re.compile(r"[^\s<>:\"/\\|?*]+")
_ENDING = re.compile(r"(?<=.)\.(?:jpe?g|png|webp|heic|heif|tiff?)", re.I)
_LONGEST_NAME = 200  # characters before its ending
_ATTACHED = re.compile(r"<[^<>:]{1,40}:\s*[^<>]{1,200}>|(?<=\.)(\w{3,4})\s*\([^()]{4,40}\)")
_PLACEHOLDER = re.compile(r"<[^<>]{1,60}>|\w+ omitted|null", re.I)


@dataclass(frozen=True)
class Message:
    """`wall`: milliseconds of the wall clock, as if UTC.

    `picture`: the file name that the message names, if any.
    """

    wall: int
    name: str
    text: str
    picture: str | None


@dataclass(frozen=True)
class _Raw:
    numbers: tuple[int, int, int]
    clock: tuple[int, int, int]
    halves: bool
    lines: list[str]


def read(path: Path) -> tuple[Message, ...] | None:
    """The messages in order of time, or None if the file is no chat log.

    Raises IngestError for a log that is too long.
    """
    with path.open("rb") as file:
        head = file.read(1 << 16)
        if b"\x00" in head or not _is_log(head.decode("utf-8", "replace")):
            return None
        data = head + file.read(MAX_BYTES)
    if len(data) > MAX_BYTES:
        raise IngestError(f"{path}: a chat log of more than {MAX_BYTES >> 20} MB; split it")
    if max(data.count(b"\n"), data.count(b"\r")) > MAX_LINES:
        raise IngestError(f"{path}: a chat log of more than {MAX_LINES} lines; split it")
    return parse(data.decode("utf-8-sig", "replace"))


def parse(text: str) -> tuple[Message, ...]:
    """The messages of a log, in order of time. A line that begins no message continues the one before it.

    Never raises.
    """
    raws: list[_Raw] = []
    for line in StringIO(text, newline=None):
        line = line.rstrip("\n")
        raw = _raw(line)
        if raw is not None:
            raws.append(raw)
        elif raws and len(raws[-1].lines) < 200:
            raws[-1].lines.append(line)
    order = _order(raws)
    messages = [message for raw in raws if (message := _message(raw, order)) is not None]
    return tuple(sorted(messages, key=lambda message: message.wall))


def _is_log(head: str) -> bool:
    lines = [line for line in head.splitlines() if line.strip()][:_HEAD_LINES]
    return any((raw := _raw(line)) is not None and ":" in raw.lines[0] for line in lines)


def _raw(line: str) -> _Raw | None:
    match = _LINE.match(line[:20_000].lstrip("\ufeff\u200e\u200f"))
    if match is None:
        return None
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"].lower() == "p" else 0)
    clock = (hour, int(match["minute"]), int(match["second"] or 0))
    return _Raw(
        (int(match["a"]), int(match["b"]), int(match["c"])), clock, bool(match["half"]), [match["rest"]]
    )


def _order(raws: Sequence[_Raw]) -> str:
    """ "ymd", "dmy" or "mdy": the order of the date's numbers in a log."""
    if any(raw.numbers[0] > 31 for raw in raws):
        return "ymd"
    if any(raw.numbers[0] > 12 for raw in raws):
        return "dmy"
    if any(raw.numbers[1] > 12 for raw in raws):
        return "mdy"
    backwards = {order: _steps_back(raws, order) for order in ("dmy", "mdy")}
    if backwards["dmy"] != backwards["mdy"]:
        return min(backwards, key=lambda order: backwards[order])
    return "mdy" if any(raw.halves for raw in raws) else "dmy"


def _steps_back(raws: Sequence[_Raw], order: str) -> int:
    times = [time for raw in raws if (time := _time(raw, order)) is not None]
    return sum(later < earlier for earlier, later in pairwise(times))


def _time(raw: _Raw, order: str) -> datetime | None:
    by = dict(zip(order, raw.numbers, strict=True))
    year = by["y"] + (2000 if by["y"] < 100 else 0)
    try:
        return datetime(year, by["m"], by["d"], *raw.clock) if year >= 1990 else None
    except ValueError:
        return None


def _message(raw: _Raw, order: str) -> Message | None:
    """None for a system line ("Anna added Ben"), an impossible date, or an empty message."""
    name, colon, first = raw.lines[0].partition(": ")
    time = _time(raw, order)
    if time is None or not (colon or name.endswith(":")) or len(name) > 80:
        return None
    body = clean("\n".join([first, *raw.lines[1:]]))
    picture = _picture(body)
    attached = picture is not None and (_ATTACHED.search(body) is not None or body == picture)
    text = _without_attachment(body, picture) if picture and attached else body
    if _PLACEHOLDER.fullmatch(text):
        text = ""
    if not text and picture is None:
        return None
    return Message(
        to_millis(time), " ".join(clean(name.removesuffix(":"), 80).split()).lstrip("~ "), text, picture
    )


def _picture(body: str) -> str | None:
    """The first file name of a picture in a message, or None.

    The name is located from its ending: trying every beginning would take time quadratic in the text.
    """
    for run in _FILE_NAME.finditer(body):
        endings = list(_ENDING.finditer(run[0]))
        if endings:
            last = next((e for e in reversed(endings) if e.start() <= _LONGEST_NAME), endings[0])
            return run[0][max(0, last.start() - _LONGEST_NAME) : last.end()]
    return None


def _without_attachment(body: str, picture: str) -> str:
    without = _ATTACHED.sub(lambda match: match[1] or "", body, count=1)
    return clean(without.replace(picture, "", 1))
