"""Decides what may leave the device, in an export or in a prompt for a model that runs elsewhere.

The labels are the paper's (ethics section): sharing "low" or sensitivity "high" keeps a photo or a memory on
the device.
"""

from __future__ import annotations

from ..records import Memory, Photo


def may_leave(item: Photo | Memory) -> bool:
    """False for a photo or memory marked low-sharing or high-sensitivity.

    A memory also stays on the device if its photo must: see `leaving`.
    """
    return item.sharing != "low" and item.sensitivity != "high"


def leaving(photo: Photo) -> tuple[Memory, ...]:
    """The memories of a photo that may leave: none if the photo itself may not."""
    return tuple(memory for memory in photo.memories if may_leave(memory)) if may_leave(photo) else ()
