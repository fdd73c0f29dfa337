from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")

from gamer.export.errors import ExportError
from gamer.export.settings import Settings, from_strings
from gamer.runtime.glosses.bundled import Bundled
from gamer.runtime.glosses.letters import Names
from gamer.runtime.models.models import Models
from tests.export import tiny_encoders
from tests.export.conftest import Export


def test_a_bundle_gets_tables_later_and_keeps_them(export: Export, tmp_path: Path) -> None:
    words = tmp_path / "words.tsv"
    words.write_text("# made for a test, CC0\nder\tthe\nhund\tdog\nstrand\tbeach\n", encoding="utf-8")
    source = str(tiny_encoders.bert(tmp_path / "bert"))
    plain, out = Settings("sentence", "fp32", (("text", source),)), tmp_path / "out"
    before = export(plain, out)
    assert not any(file.name.startswith("glosses-") for file in before.files)
    asked = replace(plain, languages=("de",), dictionaries=(("de", str(words)),))
    made = export(asked, out)
    assert made.has_file("glosses-de.bin")
    assert made.artifacts == before.artifacts
    assert "made for a test, CC0" in (out / "NOTICE.txt").read_text(encoding="utf-8")
    assert made.settings is not None
    assert str(tmp_path) not in str(made.settings)
    assert from_strings(made.settings, plain.sources).languages == ("de",)
    assert export(asked, out) == made
    assert export(plain, out) == made
    table = (out / "glosses-de.bin").stat()
    more = tmp_path / "more.tsv"
    more.write_text("chien\tdog\n", encoding="utf-8")
    both = replace(asked, languages=("de", "fr"), dictionaries=(*asked.dictionaries, ("fr", str(more))))
    assert export(both, out).has_file("glosses-fr.bin")
    assert (out / "glosses-de.bin").stat().st_mtime_ns == table.st_mtime_ns  # not made again
    reader = Bundled(Models.open(out)).reader
    assert reader is not None
    reading = reader.read("der Hund am Strand", Names(()))
    assert reading is not None
    assert reading.language == "de"


def test_a_dictionary_that_cannot_be_read_leaves_no_bundle(export: Export, tmp_path: Path) -> None:
    words = tmp_path / "words.tsv"
    words.write_text("no tab in this line\n")
    source = str(tiny_encoders.bert(tmp_path / "bert"))
    asked = Settings(
        "sentence", "fp32", (("text", source),), languages=("de",), dictionaries=(("de", str(words)),)
    )
    with pytest.raises(ExportError, match=r"words.tsv: this dictionary cannot be read \(line 1 has no tab"):
        export(asked, tmp_path / "out")
    assert not (tmp_path / "out").exists()
