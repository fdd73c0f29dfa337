"""Short ids derived from photo ids: of an event, and of a photo where a program names photos in texts.

A photo's own id is often a long path; a model copies ten hexadecimal digits more reliably. Among 100,000
photos two share them with a probability of half a percent; a reader refuses such an id rather than guess.
"""

from __future__ import annotations

import hashlib
import re

EVENT_ID = re.compile(r"ev_[0-9a-f]{10}")


def event_id(first_photo_id: str) -> str:
    """The id of a new event: "ev_" and ten hexadecimal digits. Events share no photo, so ids differ."""
    return f"ev_{_digits(first_photo_id)}"


def image_id(photo_id: str) -> str:
    """The photo's short id: "img_" and ten hexadecimal digits."""
    return f"img_{_digits(photo_id)}"


def _digits(photo_id: str) -> str:
    return hashlib.sha256(photo_id.encode("utf-8")).hexdigest()[:10]
