"""What the tests of bench/ share."""

from __future__ import annotations

import pytest

from gamer.bench import machine


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command prints beside its result must not depend on what else runs where the tests do."""
    monkeypatch.setattr(machine, "load", lambda: 0.0)
