"""An export into a bundle of another version of this program keeps what that bundle has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gamer.export.bundle import write
from gamer.export.recipe import OCR_ROLES
from gamer.export.settings import Settings
from gamer.runtime.bundle import manifest as mf

FACES = (("faces", "random:1"),)


def exported(
    folder: Path, quant: str = "int8", parts: tuple[str, ...] = ("faces",)
) -> tuple[set[str], list[str]]:
    """The roles of the bundle that an export leaves, and its notes."""
    told: list[str] = []
    settings = Settings("pocket", quant, FACES, parts=parts)
    manifest = write.export(settings, ("onnx",), folder, 2, lambda line, _: told.append(line))
    return {artifact.role for artifact in manifest.artifacts}, [t for t in told if t.startswith(write.NOTE)]


@pytest.mark.slow
def test_what_another_version_made_is_made_again_beside_what_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    faces, _ = exported(folder)
    path = folder / mf.MANIFEST_NAME
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["tools"]["fingerprint"] = "0" * 64
    path.write_text(json.dumps(manifest), encoding="utf-8")
    roles, notes = exported(folder, parts=("ocr",))
    assert roles == faces | set(OCR_ROLES)
    assert any(
        "made by another version, or damaged: all that it has is exported again" in note for note in notes
    )
    mf.check(folder, mf.read(folder))
    # Other settings make another bundle, as they did.
    assert exported(folder, "fp16")[0] == faces
