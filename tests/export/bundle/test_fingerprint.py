"""What makes an export start anew, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.bundle import fingerprint as fp
from gamer.export.errors import ExportError
from gamer.export.settings import Settings


def test_comments_docstrings_and_layout_keep_the_meaning_and_a_constant_changes_it() -> None:
    plain = "def scale(x):\n    return x * 2\n"
    commented = (
        '"""A module."""\n\n\ndef scale(x):  # '
        'doubles\n    """Twice '
        'x."""\n    return '
        "(\n        x * "
        "2\n    )\n"
    )
    assert fp.meaning(plain) == fp.meaning(commented)
    assert fp.meaning(plain) != fp.meaning(plain.replace("2", "3"))


def test_a_listed_module_that_does_not_exist_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fp.fingerprint(Settings("pocket")) == fp.fingerprint(Settings("pocket"))
    monkeypatch.setattr(fp, "CODE", (*fp.CODE, "gamer.export.bundle.no_such_module"))
    with pytest.raises(ExportError, match="no_such_module"):
        fp.fingerprint(Settings("pocket"))


def test_every_listed_module_has_python_files() -> None:
    for name in fp.CODE:
        assert any(file.suffix == ".py" for file in fp._files(name)), name


def test_a_change_of_how_a_sentence_encoder_is_pooled_changes_the_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "1_Pooling").mkdir()
    for name in ("config.json", "1_Pooling/config.json"):
        (tmp_path / name).write_text("{}")
    asked = Settings("sentence", "int8", (("text", str(tmp_path)),))
    before = fp.fingerprint(asked)
    assert fp.fingerprint(asked) == before
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    assert fp.fingerprint(asked) != before
