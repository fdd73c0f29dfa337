"""What an export does to a bundle that is there: of another version, or of other settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gamer.export.bundle import write
from gamer.export.errors import ExportError
from gamer.export.recipe import FACE_ROLES, OCR_ROLES
from gamer.export.settings import Settings
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.models.printed import CHARACTERS

RANDOM = (("text", "random:1"), ("faces", "random:1"))
TEXT = {"text_tower"}
pytestmark = pytest.mark.slow


def exported(
    folder: Path, parts: tuple[str, ...], quant: str = "int8", targets: tuple[str, ...] = ("onnx",)
) -> tuple[set[str], list[str]]:
    """The roles of the bundle that an export leaves, and its notes."""
    told: list[str] = []
    settings = Settings("pocket", quant, RANDOM, parts=parts)
    manifest = write.export(settings, targets, folder, 2, lambda line, _: told.append(line))
    assert manifest == mf.read(folder)
    mf.check(folder, manifest)
    return {artifact.role for artifact in manifest.artifacts}, [t for t in told if t.startswith(write.NOTE)]


def of_another_version(folder: Path) -> None:
    path = folder / mf.MANIFEST_NAME
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["tools"]["fingerprint"] = "0" * 64
    path.write_text(json.dumps(manifest), encoding="utf-8")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a text tower alone, as another version made it."""
    folder = tmp_path_factory.mktemp("text") / "bundle"
    assert exported(folder, ("text",))[0] == TEXT
    of_another_version(folder)
    return folder


def test_optional_parts_are_added_to_any_bundle_and_all_else_stays(text: Path) -> None:
    before, written = mf.read(text), {p: p.stat().st_mtime_ns for p in text.rglob("*.onnx")}
    roles, notes = exported(text, ("faces", "ocr"), "fp16", ("onnx", "coreml"))  # of coreml it has nothing
    assert roles == TEXT | set(FACE_ROLES) | set(OCR_ROLES)
    assert not any("another version" in note for note in notes)
    after = mf.read(text)
    assert {a.target for a in after.artifacts} == {"onnx"}
    assert after.has_file(CHARACTERS)
    assert after.artifact("text_tower", "onnx") == before.artifact("text_tower", "onnx")
    assert after.tools == before.tools
    assert after.settings is not None
    assert after.settings["parts"] == "text,faces,ocr"
    assert {p: p.stat().st_mtime_ns for p in written} == written
    notice = (text / "NOTICE.txt").read_text(encoding="utf-8")
    assert "PaddleOCR" in notice
    assert "dlib" in notice
    assert "geonames" in notice
    assert not [p for p in text.parent.iterdir() if p.is_dir() and p != text]
    with pytest.raises(ExportError, match="is for onnx: give one of these as --targets"):
        exported(text, ("ocr",), targets=("coreml",))


def test_what_another_version_made_is_made_again_beside_what_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    faces, _ = exported(folder, ("faces",))
    of_another_version(folder)
    roles, notes = exported(folder, ("text",))
    assert roles == faces | TEXT
    assert any("made by another version, or damaged: all that it has is exported again" in n for n in notes)
    # Other settings make another bundle, as they did.
    assert exported(folder, ("text",), "fp16")[0] == TEXT
