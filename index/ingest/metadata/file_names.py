"""The time in a picture's file name, for screenshots and messengers' pictures, whose metadata is lost.

The time is marked as `tz_source` "name": wall time as the program that named the file wrote it. It is used
only if no metadata holds a time.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from .moment import Moment, to_millis

# A date and, where it follows, a time of day. The separators within a date are alike. Digits on either side
# would make it part of a longer number.
_DATE = re.compile(
    r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<separator>[-_.]?)(?P<month>\d\d)(?P=separator)(?P<day>\d\d)"
    r"(?:(?:[-_. T]| at |, )(?P<hour>\d\d)(?P<between>[-_.:]?)(?P<minute>\d\d)(?P=between)(?P<second>\d\d)"
    r"(?:\d{3})?)?(?!\d)"
)
# Milliseconds since 1970 in UTC, as some messengers name the pictures that they save.
_EPOCH = re.compile(r"(?:FB_IMG_|mmexport|received_|IMG_?)(?P<ms>1\d{12})(?!\d)", re.I)
_LONGEST = 255  # characters of a name that file systems admit
_NOON = 12  # for a name that holds only a date


def moment(name: str) -> Moment | None:
    """The wall time in a file name, or None. A date without a time of day gives noon.

    Recognised are, among others, `Screenshot_20250310-081500`, `PXL_20230708_123456789`, `20240214_153000`,
    `IMG-20260601-WA0001` and `2024-02-14 15.30.00`. `PXL_` names and numbers of milliseconds are in UTC; the
    others are local time.
    """
    name = name[-_LONGEST:]
    if match := _EPOCH.search(name):
        return Moment(int(match["ms"]), "name", None)
    for match in _DATE.finditer(name):
        hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
        if match["hour"] is None:
            hour = _NOON
        try:
            time = datetime(
                int(match["year"]), int(match["month"]), int(match["day"]), hour, minute, second, tzinfo=UTC
            )
        except ValueError:  # 20241399, or a time such as 99:99
            continue
        return Moment(to_millis(time), "name", None)
    return None
