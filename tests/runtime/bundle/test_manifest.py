"""The bundle's manifest: round trip, the golden file of version 1, and everything that a hostile or damaged
bundle may try.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gamer.runtime.bundle import manifest as mf
from gamer.runtime.errors import BundleError
from tests.paths import GOLDEN

MANIFEST = GOLDEN / "manifest_v1.json"


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, mf.Manifest]:
    """A bundle of one artifact and one data file, with true hashes."""
    manifest = mf.from_json(MANIFEST.read_text(encoding="utf-8"), "golden")
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "text_tower.onnx").write_bytes(b"weights")
    (tmp_path / "labels.json").write_text('["cat"]')
    size, sha = mf.digest(tmp_path / "onnx" / "text_tower.onnx")
    artifact = replace(manifest.artifacts[0], bytes=size, sha256=sha)
    file = mf.DataFile("labels.json", "labels.json", *mf.digest(tmp_path / "labels.json"))
    manifest = replace(manifest, artifacts=(artifact,), files=(file,))
    (tmp_path / mf.MANIFEST_NAME).write_text(mf.to_json(manifest), encoding="utf-8")
    return tmp_path, manifest


def test_golden_version_1_opens_and_writes_back_the_same() -> None:
    text = MANIFEST.read_text(encoding="utf-8")
    manifest = mf.from_json(text, "golden")
    assert manifest.schema_version == 1
    assert manifest.artifact("text_tower", "onnx").inputs[0] == mf.TensorSpec(
        "input_ids", ("batch", "tokens"), "int64"
    )
    assert manifest.artifact("text_tower", "coreml").parity == mf.Parity(mf.NOT_RUN, "cosine", 0.985)
    assert mf.to_json(manifest) == text


def test_golden_version_2_names_the_kernels_of_its_parity_and_writes_back_the_same() -> None:
    text = (GOLDEN / "manifest_v2.json").read_text(encoding="utf-8")
    manifest = mf.from_json(text, "golden")
    assert manifest.schema_version == 2 and manifest.artifact("text_tower", "onnx").parity.kernels.startswith(
        "onnxruntime 1.32.0, x86_64"
    )
    assert mf.to_json(manifest) == text


def test_golden_arrays_are_a_components_own_or_its_familys() -> None:
    manifest = mf.from_json(MANIFEST.read_text(encoding="utf-8"), "golden")
    names = (
        "fixtures/dpe.patches.npy",
        "fixtures/dpe_router.want.npy",
        "fixtures/dpe_expert_1.want.npy",
        "fixtures/text.json",
        "labels.json",
    )
    manifest = replace(manifest, files=tuple(mf.DataFile(n, n, 1, "0") for n in names))
    assert {k: f.name for k, f in manifest.golden("dpe_router").items()} == {
        "patches": names[0],
        "want": names[1],
    }
    assert manifest.golden("text_tower") == {}


def test_a_whole_bundle_passes(small: tuple[Path, mf.Manifest]) -> None:
    folder, manifest = small
    assert mf.read(folder) == manifest
    mf.check(folder, manifest)


@pytest.mark.parametrize("name", ["onnx/text_tower.onnx", "labels.json"])
def test_a_flipped_byte_is_named(small: tuple[Path, mf.Manifest], name: str) -> None:
    folder, manifest = small
    data = bytearray((folder / name).read_bytes())
    data[0] ^= 1
    (folder / name).write_bytes(bytes(data))
    with pytest.raises(BundleError, match=Path(name).name):
        mf.check(folder, manifest)


@pytest.mark.parametrize("name", ["onnx/text_tower.onnx", "labels.json"])
def test_a_truncated_and_a_missing_file_are_named(small: tuple[Path, mf.Manifest], name: str) -> None:
    folder, manifest = small
    (folder / name).write_bytes(b"")
    with pytest.raises(BundleError, match="0 bytes"):
        mf.check(folder, manifest)
    (folder / name).unlink()
    with pytest.raises(BundleError, match="missing"):
        mf.check(folder, manifest)


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "onnx/../../secret", "labels\0.json"])
def test_a_path_that_leaves_the_bundle_is_refused(small: tuple[Path, mf.Manifest], path: str) -> None:
    folder, manifest = small
    with pytest.raises(BundleError, match="leaves the bundle"):
        mf.check(folder, replace(manifest, files=(mf.DataFile("x", path, 1, "0"),)))


def test_a_link_that_leaves_the_bundle_is_refused(small: tuple[Path, mf.Manifest]) -> None:
    folder, manifest = small
    (folder.parent / "outside").write_text("x")
    (folder / "link").symlink_to(folder.parent / "outside")
    with pytest.raises(BundleError, match="leaves the bundle"):
        mf.check(folder, replace(manifest, files=(mf.DataFile("x", "link", 1, "0"),)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("[]", "no schema_version"),
        ("{}", "no schema_version"),
        ('{"schema_version": 99}', "schema version 99"),
        ('{"schema_version": 1}', "field"),
        ('{"schema_version": 1, "components": 3}', "field"),
        ("[" * 100_000, "not JSON"),
        ('{"schema_version": ' + "9" * 5000 + "}", "not JSON"),
    ],
)
def test_a_manifest_that_is_none_says_so_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / mf.MANIFEST_NAME).write_text(text)
    with pytest.raises(BundleError, match=says) as caught:
        mf.read(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("thresholds", "k"), "5", r"thresholds\.k: int is wanted, not str"),
        (("thresholds", "delta"), None, r"thresholds\.delta: float"),
        (("files", 0, "path"), 5, r"files\[0\]\.path: str"),
        (("preprocessing", "resize"), 0, "preprocessing.resize: 0 outside"),
        (("language", "max_seq"), 10**9, "language.max_seq"),
        (("prompts",), {}, "refine missing"),
        (("artifacts", 0, "inputs", 0, "shape"), [], "without a shape"),
        (("artifacts", 0, "surprise"), 1, "surprise unknown"),
    ],
)
def test_a_field_of_the_wrong_kind_is_named(path: tuple[str | int, ...], value: object, says: str) -> None:
    raw = json.loads(MANIFEST.read_text(encoding="utf-8"))
    at = raw
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    with pytest.raises(BundleError, match=says):
        mf.from_json(json.dumps(raw), "x")


def test_no_bundle_there(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"no manifest\.json"):
        mf.read(tmp_path)


def test_a_directory_artifact_is_hashed_by_names_and_contents(tmp_path: Path) -> None:
    package = tmp_path / "a.mlpackage"
    package.mkdir()
    (package / "x").write_bytes(b"1")
    (package / "y").write_bytes(b"23")
    first = mf.digest(package)
    assert first[0] == 3
    (package / "y").rename(package / "z")
    assert mf.digest(package)[1] != first[1]


def test_unknown_target_lists_what_there_is() -> None:
    manifest = mf.from_json(MANIFEST.read_text(encoding="utf-8"), "golden")
    with pytest.raises(BundleError, match="coreml, onnx"):
        manifest.artifact("text_tower", "executorch")
    assert json.loads(mf.to_json(manifest))["schema_version"] == 1
