"""What makes an export start anew, and what does not."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.bundle import fingerprint as fp
from gamer.export.errors import ExportError
from gamer.export.settings import Settings


def test_a_comment_a_docstring_and_layout_change_nothing_and_a_constant_does() -> None:
    plain = "def scale(x):\n    return x * 2\n"
    told = (
        '"""A module."""\n\n\ndef scale(x):  # '
        'doubles\n    """Twice '
        'x."""\n    return '
        "(\n        x * "
        "2\n    )\n"
    )
    assert fp.meaning(plain) == fp.meaning(told)
    assert fp.meaning(plain) != fp.meaning(plain.replace("2", "3"))


def test_a_module_that_was_renamed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fp.fingerprint(Settings("pocket")) == fp.fingerprint(Settings("pocket"))
    monkeypatch.setattr(fp, "CODE", (*fp.CODE, "gamer.export.bundle.no_such_module"))
    with pytest.raises(ExportError, match="no_such_module"):
        fp.fingerprint(Settings("pocket"))


def test_every_listed_package_has_files() -> None:
    for name in fp.CODE:
        assert any(file.suffix == ".py" for file in fp._files(name)), name
