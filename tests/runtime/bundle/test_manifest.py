"""The bundle's manifest: round trip, the golden files of versions 1 to 3, and what a hostile or damaged
bundle may contain.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gamer.runtime.bundle import manifest as mf
from gamer.runtime.errors import BundleError
from gamer.runtime.search.hits import presence
from tests.paths import GOLDEN, ROOT

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
    assert manifest.schema_version == 2
    assert manifest.artifact("text_tower", "onnx").parity.kernels.startswith("onnxruntime 1.32.0, x86_64")
    assert mf.to_json(manifest) == text


def test_golden_version_3_says_what_a_caller_must_do_and_writes_back_the_same() -> None:
    text = (GOLDEN / "manifest_v3.json").read_text(encoding="utf-8")
    manifest = mf.from_json(text, "golden")
    contract = manifest.artifact("text_tower", "onnx").contract
    assert contract is not None
    assert contract.golden is not None
    assert contract.golden.want == "fixtures/text_tower.want.npy"
    assert contract.outputs[0].unit_length
    assert manifest.pixels().normalised_by == "graph"
    assert mf.to_json(manifest) == text
    with pytest.raises(BundleError, match=r"golden file 'gone\.npy' is not in files"):
        mf.from_json(text.replace('"want": "fixtures/text_tower.want.npy"', '"want": "gone.npy"'), "golden")


def test_golden_arrays_belong_to_a_component_or_to_its_family() -> None:
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


def test_an_intact_bundle_passes(small: tuple[Path, mf.Manifest]) -> None:
    folder, manifest = small
    assert mf.read(folder) == manifest
    mf.check(folder, manifest)


@pytest.mark.parametrize("name", ["onnx/text_tower.onnx", "labels.json"])
def test_a_file_with_a_flipped_byte_is_named(small: tuple[Path, mf.Manifest], name: str) -> None:
    folder, manifest = small
    data = bytearray((folder / name).read_bytes())
    data[0] ^= 1
    (folder / name).write_bytes(bytes(data))
    with pytest.raises(BundleError, match=Path(name).name):
        mf.check(folder, manifest)


@pytest.mark.parametrize("name", ["onnx/text_tower.onnx", "labels.json"])
def test_a_file_that_was_emptied_or_removed_is_refused_with_the_reason(
    small: tuple[Path, mf.Manifest], name: str
) -> None:
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
        ("", "must be JSON"),
        ("[]", "no schema_version"),
        ("{}", "no schema_version"),
        ('{"schema_version": 99}', "schema version 99"),
        ('{"schema_version": 1}', "manifest: must have 'recipe'"),
        ('{"schema_version": 1, "components": 3}', "manifest: must have"),
        ("[" * 100_000, "must be JSON"),
        ('{"schema_version": ' + "9" * 5000 + "}", "must be JSON"),
    ],
)
def test_a_malformed_manifest_is_refused_in_one_line_with_the_reason(
    tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / mf.MANIFEST_NAME).write_text(text)
    with pytest.raises(BundleError, match=says) as caught:
        mf.read(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("thresholds", "k"), "5", r"thresholds\.k: must be a whole number from 1 to 1000, not '5'"),
        (("thresholds", "delta"), None, r"thresholds\.delta: must be a finite number"),
        (("files", 0, "path"), 5, r"files\[0\]\.path: must be a string, not 5"),
        (
            ("preprocessing", "resize"),
            0,
            "resize: must be a whole number from 1 to 4096, not 0",
        ),
        (("language", "max_seq"), 10**9, "language.max_seq"),
        (("prompts",), {}, "prompts: must have 'refine'"),
        (("artifacts", 0, "inputs", 0, "shape"), [], r"shape: must be a list that is not empty"),
        (("artifacts", 0, "surprise"), 1, r"artifacts\[0\]: must have no 'surprise'"),
    ],
)
def test_a_wrong_missing_or_unknown_field_is_named(
    path: tuple[str | int, ...], value: object, says: str
) -> None:
    raw = json.loads(MANIFEST.read_text(encoding="utf-8"))
    at = raw
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    with pytest.raises(BundleError, match=says):
        mf.from_json(json.dumps(raw), "x")


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
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


def test_an_unknown_target_lists_those_that_the_bundle_has() -> None:
    manifest = mf.from_json(MANIFEST.read_text(encoding="utf-8"), "golden")
    with pytest.raises(BundleError, match="coreml, onnx"):
        manifest.artifact("text_tower", "executorch")
    assert json.loads(mf.to_json(manifest))["schema_version"] == 1


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"k": 5', '"k": 5, "k": 6', "the key 'k' stands twice"),
        ('"delta": 0.8', '"delta": NaN', "delta: must be a finite number"),
        ('"delta": 0.8', '"delta": Infinity', "delta: must be a finite number"),
        ('"delta": 0.8', '"delta": 1e999', "delta: must be a finite number"),
        ('"delta": 0.8', f'"delta": 1{"0" * 400}', "delta: must be a finite number"),
    ],
)
def test_numbers_that_are_not_finite_and_keys_that_stand_twice_are_refused(
    old: str, new: str, says: str
) -> None:
    text = MANIFEST.read_text(encoding="utf-8")
    field = re.search(old.replace("0.8", r"[\d.]+"), text)
    assert field, old
    with pytest.raises(BundleError, match=says):
        mf.from_json(text.replace(field[0], new, 1), "hostile")


@pytest.mark.parametrize("shape", [[10**12], [1 << 20, 1 << 20], [-1, 4]])
def test_a_tensor_of_an_impossible_size_is_refused(shape: list[int]) -> None:
    raw = json.loads(MANIFEST.read_text(encoding="utf-8"))
    raw["artifacts"][0]["inputs"][0]["shape"] = shape
    with pytest.raises(BundleError, match="sizes outside"):
        mf.from_json(json.dumps(raw), "hostile")


@pytest.mark.parametrize("kind", ["inputs", "outputs"])
def test_an_artifact_without_inputs_or_outputs_is_refused(kind: str) -> None:
    raw = json.loads(MANIFEST.read_text(encoding="utf-8"))
    raw["artifacts"][0][kind] = []
    with pytest.raises(BundleError, match=rf"artifacts\[0\]\.{kind}: must be a list that is not empty"):
        mf.from_json(json.dumps(raw), "hostile")


def test_a_channel_of_experts_that_were_not_trained_is_refused() -> None:
    manifest = mf.from_json(MANIFEST.read_text(encoding="utf-8"), "golden")
    for trained in (True, False):
        router = replace(manifest.components[0], role="dpe_router", trained=trained)
        channel = mf.Channel("dpe:text:00000000", "text", 8)
        text = mf.to_json(replace(manifest, components=(router,), channels=(channel,)))
        if trained:
            assert mf.from_json(text, "golden").channels == (channel,)
            continue
        with pytest.raises(BundleError, match="dpe_router is not trained"):
            mf.from_json(text, "golden")


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("ranking", "text", 1e308),
        ("ranking", "here_cue", -1e9),
        ("thresholds", "delta", 1e300),
        ("thresholds", "rho", -1.0),
        ("language", "rope_theta", -1.0),
        ("language", "rope_theta", 1e300),
    ],
)
def test_weights_that_would_overflow_are_refused(part: str, field: str, value: float) -> None:
    raw = json.loads((ROOT / "bench" / "results" / "manifest-pocket.json").read_text(encoding="utf-8"))
    assert field in raw[part]
    raw[part][field] = value
    with pytest.raises(BundleError, match=f"{part}.{field}"):
        mf.from_json(json.dumps(raw), "crafted")


def test_the_greatest_weights_give_probabilities_and_no_warning() -> None:
    ranking = mf.Ranking(here=-mf.MAX_WEIGHT, here_cosine=-mf.MAX_WEIGHT, here_cue=mf.MAX_WEIGHT)
    assert presence(ranking, 1.0, 1.0, -4.0) == pytest.approx(0)
    assert presence(ranking, -1.0, 1.0, 6.0) == pytest.approx(1)
