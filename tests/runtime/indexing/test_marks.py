"""A mark that the person set on the page outlives a scan of the folder."""

from __future__ import annotations

from gamer.index import Memory, Photo
from gamer.index.records import FAVOURITE
from gamer.runtime.indexing.reconcile import merge_scanned


def test_a_mark_is_not_taken_for_the_beginning_of_a_post_that_contains_its_word() -> None:
    scanned = Photo("a", memories=(Memory("social", "my favourite cat"),))
    stored = Photo("a", memories=(Memory("social", "my favourite"), FAVOURITE))
    assert merge_scanned(scanned, stored).memories == (*scanned.memories, FAVOURITE)
