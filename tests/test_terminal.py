"""No text of a photo, a person, a file or a bundle reaches the terminal as more than text: neither as a
control character nor as a mark that turns the order around, also in JSON, nor as the markup of a table.
"""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gamer.index.console import json_line
from gamer.main import main, run
from gamer.runtime.models.models import Models
from tests.albums import built
from tests.fakes import fake_models
from tests.paths import GOLDEN

# CSI in one character, an override, an isolate, the character after DEL; markup that ends what is not begun.
EVIL = "\x9b31m\u202egnp\u2066x\x85\x7f\u2028[/bold] :cat: <b>"
COMMANDS = (
    "index stats ALBUM", "index names ALBUM", "index copies ALBUM", "index verify ALBUM",
    "index events ALBUM", "search ALBUM EVIL",
    "search ALBUM EVIL --explain", "similar ALBUM ID", "ask ALBUM EVIL",
    "things list ALBUM", "things show ALBUM th1", "memory list ALBUM", "memory show ALBUM m1",
    "people show ALBUM EVIL", "things show ALBUM EVIL", "memory forget ALBUM EVIL", "index split ALBUM EVIL",
    "index prefer ALBUM EVIL EVIL", "index remove ALBUM EVIL", "index build EVIL -b EVIL -o EVIL",
    "similar ALBUM EVIL", "verify EVIL", "unpack EVIL -o EVIL", "EVIL", "search ALBUM --EVIL",
    "export EVIL -o EVIL --dry-run", "memory export ALBUM ASIDE --all", "index export-jsonl ALBUM -o ASIDE",
)  # fmt: skip


def controls(text: str) -> set[str]:
    """What of a text a terminal would obey."""
    turning = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return {
        c
        for c in text
        if c != "\n"
        and (unicodedata.category(c) in ("Cc", "Cs", "Zl") or unicodedata.bidirectional(c) in turning)
    }


@pytest.fixture
def album(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [
        {
            "id": f"{n}{EVIL}.jpg",
            "path": f"/p/{n}{EVIL}.jpg",
            "taken_at": f"2026-05-0{n}T10:00:00",
            "memories": [{"source": "note", "text": f"My red bag {EVIL} with Anna{EVIL} at Café{EVIL}"}],
        }
        for n in (1, 2)
    ]
    monkeypatch.setattr(Models, "open", lambda *_, **__: fake_models())
    path = built(tmp_path, rows)
    CliRunner().invoke(main, ["memory", "add", str(path), f"Tea {EVIL}", "--key", "drink"])
    return path


@pytest.mark.parametrize("as_json", [False, True])
def test_nothing_that_is_printed_controls_the_terminal(
    album: Path, as_json: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    values = {"ALBUM": str(album), "EVIL": EVIL, "ID": f"1{EVIL}.jpg", "ASIDE": str(album.with_name("aside"))}
    for words in COMMANDS:
        given = [values.get(word, word.replace("--EVIL", f"--{EVIL}")) for word in words.split()]
        if given[0] in ("search", "ask"):
            given += ["-b", "out/x"]
        monkeypatch.setattr("sys.argv", ["gamer", *given, *(["--json"] if as_json else [])])
        with pytest.raises(SystemExit):
            run()
        printed = "".join(capfd.readouterr())
        assert printed, (words, printed)
        assert not controls(printed), (words, printed)
        assert "Traceback" not in printed, (words, printed)
        album.with_name("aside").unlink(missing_ok=True)


def test_json_that_is_printed_reads_back_the_same() -> None:
    value = {EVIL: [EVIL, "Zoë 猫 🐈", "\ud800", "\U000e0041"]}
    line = json_line(value)
    assert json.loads(line) == value
    assert line.isprintable()
    assert "Zoë 猫 🐈" in line


def test_a_bundle_whose_manifest_holds_controls_is_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    raw: dict[str, Any] = json.loads((GOLDEN / "manifest_v3.json").read_text(encoding="utf-8"))
    raw["recipe"] = raw["quant"] = EVIL
    for component in raw["components"]:
        component["role"] += EVIL
    for artifact in raw["artifacts"]:
        artifact["role"] += EVIL
        artifact["target"] += EVIL
    from gamer.export.cli import print_manifest
    from gamer.runtime.bundle import manifest

    for as_json in (False, True):
        print_manifest(manifest.from_json(json.dumps(raw), "x"), tmp_path / EVIL, as_json)
        printed = "".join(capfd.readouterr())
        assert printed
        assert not controls(printed)
