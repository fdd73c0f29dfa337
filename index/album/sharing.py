"""The one place that decides what may leave the device: an export, or a prompt for a model that runs
elsewhere.

The labels are the paper's (ethics section): sharing "low" and sensitivity "high" keep a photo or a memory at
home. Knows records, nothing else.
"""

from __future__ import annotations

from ..records import Memory, Photo


def may_leave(item: Photo | Memory) -> bool:
    """False for what is marked low-sharing or high-sensitivity.

    A memory also stays when its photo does: see `leaving`.
    """
    return item.sharing != "low" and item.sensitivity != "high"


def leaving(photo: Photo) -> tuple[Memory, ...]:
    """The memories of a photo that may leave: none if the photo itself may not."""
    return tuple(memory for memory in photo.memories if may_leave(memory)) if may_leave(photo) else ()
