"""Which updates are installed, and how they are split. The whole command: test_train_cli.py."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.errors import ExportError
from gamer.export.training.measure import Recall
from gamer.export.training.update import Skills, better, split
from gamer.index import Opened


def skills(known: float, opened: float) -> Skills:
    return Skills(Recall(known, 300, 500), Recall(opened, 20, 500))


@pytest.mark.parametrize(
    ("known", "opened", "installed"),
    [(0.5, 0.4, False), (0.49, 0.5, True), (0.47, 0.9, False), (0.9, 0.3, False), (0.6, 0.5, True)],
)
def test_a_worse_model_is_not_installed(known: float, opened: float, installed: bool) -> None:
    assert better(skills(0.5, 0.4), skills(known, opened), 0.5 - known) is installed


def test_many_updates_together_forget_no_more_than_one_may() -> None:
    assert better(skills(0.5, 0.4), skills(0.49, 0.5), 0.01)
    assert not better(skills(0.49, 0.4), skills(0.48, 0.5), 0.025)


def test_the_last_quarter_of_the_searches_is_not_learned_from() -> None:
    searches = [Opened(n, "my cat", str(n)) for n in range(12)]
    learned, later = split(searches, Path("a.gamer"))
    assert [entry.at for entry in learned] == list(range(9))
    assert [entry.at for entry in later] == [9, 10, 11]
    with pytest.raises(ExportError, match=r"7 searches .* 8 are needed"):
        split(searches[:7], Path("a.gamer"))
