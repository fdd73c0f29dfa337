"""Processes for tests that kill, limit or trace, none of them forked from a process with threads.

A fork of the test process itself would inherit the locks that threads of earlier tests' libraries hold, and
could wait for one for ever.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.context

import pytest

needs_fork = pytest.mark.skipif(
    "forkserver" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork"
)


def clean() -> multiprocessing.context.ForkServerContext:
    """Forks a server that has done nothing but import; it knows what the children of the tests import."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["pytest", "gamer.index", "gamer.runtime.indexing.captions", "tests.fakes"]
    )
    return context
