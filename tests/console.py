"""The gamer command in the test's own process, with all that it prints.

Another process takes seconds to start. Tests of what only that shows (signals, the network, memory, the
first import) start one of their own.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO
from unittest import mock

from gamer.main import run


@contextmanager
def _instead(of: int, file: IO[bytes]) -> Iterator[None]:
    """The file in the place of a descriptor, for native code too."""
    before = os.dup(of)
    os.dup2(file.fileno(), of)
    try:
        yield
    finally:
        os.dup2(before, of)
        os.close(before)


def gamer(*words: object, given: str = "") -> subprocess.CompletedProcess[str]:
    """`gamer WORDS…`: its exit code, and what it and its libraries wrote to the descriptors 1 and 2.

    `given`: its standard input. An error that the command lets through is printed as Python does, with 1.
    """
    command = ["gamer", *map(str, words)]
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
        for descriptor, file in enumerate(files, 1):
            stack.enter_context(_instead(descriptor, file))
        opened = [os.fdopen(os.dup(n), "w", encoding="utf-8", buffering=1) for n in (1, 2)]
        for stream in opened:
            stack.enter_context(stream)
        stdin = io.TextIOWrapper(io.BytesIO(given.encode()), encoding="utf-8")
        with mock.patch.multiple(sys, argv=command, stdin=stdin, stdout=opened[0], stderr=opened[1]):
            try:
                run()
                code = 0
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
            except Exception:
                traceback.print_exc()
                code = 1
            for stream in opened:
                stream.flush()
        printed = []
        for file in files:
            file.seek(0)
            printed.append(file.read().decode())
    return subprocess.CompletedProcess(command, code, *printed)
