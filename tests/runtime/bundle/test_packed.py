"""A bundle as one file: what comes out is what went in, less can be taken, and nothing else comes out."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle import packed
from gamer.runtime.cli.pack import pack, unpack
from gamer.runtime.errors import BundleError
from tests.paths import GOLDEN


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """The golden manifest with more components and targets, and made-up files, a directory among them."""
    folder = tmp_path / "bundle"
    folder.mkdir()
    raw = json.loads((GOLDEN / "manifest_v3.json").read_text(encoding="utf-8"))
    component, artifact = raw["components"][0], raw["artifacts"][0]
    raw["artifacts"] = [artifact]
    plain = {name: value for name, value in artifact.items() if name != "contract"}
    for role in ("dpe_router", "llm_decoder"):
        raw["components"].append(component | {"role": role})
        raw["artifacts"].append(plain | {"role": role, "path": f"onnx/{role}.onnx"})
        raw["files"].append(raw["files"][0] | dict.fromkeys(("name", "path"), f"fixtures/{role}.want.npy"))
    raw["files"].append(raw["files"][0] | dict.fromkeys(("name", "path"), "fixtures/llm.json"))
    raw["files"].append(raw["files"][0] | dict.fromkeys(("name", "path"), "llm_tokenizer.json"))
    raw["artifacts"].append(plain | {"target": "coreml", "path": "coreml/text_tower.mlpackage"})
    prefix = {"prompt": "refine", "target": "onnx", "tokens": 4, "made_from": "0" * 64}
    raw["prefixes"] = [prefix | {"path": "prefixes/onnx-refine.npy", "bytes": 1, "sha256": "0" * 64}]
    for n, entry in enumerate((*raw["files"], *raw["artifacts"], *raw["prefixes"])):
        path = folder / entry["path"]
        if entry["path"].endswith(".mlpackage"):
            for name in ("Data/weights.bin", "Manifest.json"):
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_bytes(f"{n} {name}".encode() * 9)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(f"{n} {entry['path']}".encode() * 9)
        entry["bytes"], entry["sha256"] = mf.digest(path)
    (folder / mf.MANIFEST_NAME).write_text(json.dumps(raw), encoding="utf-8")
    mf.check(folder, mf.read(folder))
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_what_is_packed_comes_out_the_same(bundle: Path, tmp_path: Path) -> None:
    done = packed.pack(bundle, tmp_path / "a.zip")
    assert done.bytes == (tmp_path / "a.zip").stat().st_size
    assert done.files == len(tree(bundle)) - 1
    assert packed.unpack(done.path, tmp_path / "out") == mf.read(bundle)
    before, after = tree(bundle), tree(tmp_path / "out")
    assert {n: d for n, d in before.items() if n != mf.MANIFEST_NAME} == {
        n: d for n, d in after.items() if n != mf.MANIFEST_NAME
    }
    again = packed.pack(bundle, tmp_path / "b.zip")
    assert done.path.read_bytes() == again.path.read_bytes()
    with zipfile.ZipFile(done.path) as file:
        assert file.namelist()[0] == mf.MANIFEST_NAME
        assert file.testzip() is None


def test_targets_and_parts_can_be_left_out(bundle: Path, tmp_path: Path) -> None:
    whole = mf.read(bundle)
    targets = {artifact.target for artifact in whole.artifacts}
    target = sorted(targets)[0]
    done = packed.pack(bundle, tmp_path / "a.zip", [target], ["llm", "dpe"])
    left = packed.unpack(done.path, tmp_path / "out")
    assert {artifact.target for artifact in left.artifacts} == {target}
    roles = {component.role for component in left.components}
    assert roles
    assert not any(role.startswith(("llm_", "dpe_")) for role in roles)
    assert left.language is None
    assert left.prefixes == ()
    assert left.prompts == {}
    assert left.channels == ()
    assert not any("llm" in name or "dpe" in name for name in tree(tmp_path / "out"))
    assert left.text_encoder == whole.text_encoder
    assert left.licences == whole.licences


@pytest.mark.parametrize(
    ("targets", "without", "said"),
    [(["tflite"], [], "has no target 'tflite'"), ([], ["text"], "a bundle needs its part 'text'")],
)
def test_what_cannot_be_chosen_is_said(
    bundle: Path, tmp_path: Path, targets: list[str], without: list[str], said: str
) -> None:
    with pytest.raises(BundleError, match=said):
        packed.pack(bundle, tmp_path / "a.zip", targets, without)
    assert not list(tmp_path.glob("a.zip*"))


def test_a_bundle_that_is_not_whole_is_not_packed(bundle: Path, tmp_path: Path) -> None:
    name = mf.read(bundle).files[0].path
    (bundle / name).write_bytes(b"changed")
    with pytest.raises(BundleError, match="changed since export"):
        packed.pack(bundle, tmp_path / "a.zip")
    assert not list(tmp_path.glob("a.zip*"))


def rewritten(source: Path, out: Path, change: Callable[[list[tuple[zipfile.ZipInfo, bytes]]], None]) -> Path:
    with zipfile.ZipFile(source) as file:
        entries = [(entry, file.read(entry)) for entry in file.infolist()]
    change(entries)
    with zipfile.ZipFile(out, "w") as file:
        for entry, data in entries:
            file.writestr(entry, data)
    return out


def _added(name: str, data: bytes = b"x") -> Callable[[list[tuple[zipfile.ZipInfo, bytes]]], None]:
    return lambda entries: entries.append((zipfile.ZipInfo(name), data))


def _grown(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    entries[1] = (zipfile.ZipInfo(entries[1][0].filename), entries[1][1] + b"more")


def _changed(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    entries[1] = (zipfile.ZipInfo(entries[1][0].filename), bytes(len(entries[1][1])))


def _compressed(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    entries[1][0].compress_type = zipfile.ZIP_DEFLATED


def _twice(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    entries.append((zipfile.ZipInfo("./" + entries[1][0].filename), entries[1][1]))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_added("../evil"), "does not name '../evil'"),
        (_added("/tmp/evil"), "does not name '/tmp/evil'"),
        (_added("extra.txt"), "does not name 'extra.txt'"),
        (_twice, "does not name"),
        (_grown, "is larger than the manifest promises"),
        (_changed, "not what its manifest promises"),
        (_compressed, "compressed or encrypted"),
        (lambda entries: entries.pop(1), "in it is missing"),
        (lambda entries: entries.insert(0, entries.pop()), "not a packed bundle"),
        (lambda entries: entries.clear(), "not a packed bundle"),
    ],
)
def test_files_that_were_tampered_with_leave_nothing(
    bundle: Path, tmp_path: Path, change: Callable[[list[tuple[zipfile.ZipInfo, bytes]]], None], said: str
) -> None:
    whole = packed.pack(bundle, tmp_path / "a.zip").path
    with pytest.raises(BundleError, match=said) as caught:
        packed.unpack(rewritten(whole, tmp_path / "b.zip", change), tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("out*"))
    assert not (tmp_path / "evil").exists()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flips=st.lists(st.tuples(st.integers(0, 2**24), st.integers(1, 255)), min_size=1, max_size=4))
def test_flipped_bytes_are_refused_in_one_line(
    bundle: Path, tmp_path: Path, flips: list[tuple[int, int]]
) -> None:
    whole = tmp_path / "whole.zip"
    if not whole.exists():
        packed.pack(bundle, whole)
    data = bytearray(whole.read_bytes())
    for place, value in flips:
        data[place % len(data)] ^= value
    (tmp_path / "b.zip").write_bytes(data)
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    try:
        found = packed.unpack(tmp_path / "b.zip", tmp_path / "out")
        mf.check(tmp_path / "out", found)  # what was flipped was nothing that is read
    except BundleError as error:
        assert "\n" not in str(error)
        assert not (tmp_path / "out").exists()


def test_the_commands_say_what_they_did(bundle: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "a.zip", tmp_path / "out"
    done = CliRunner().invoke(pack, [str(bundle), "-o", str(file), "--json"])
    assert done.exit_code == 0
    assert json.loads(done.output)["bytes"] == file.stat().st_size
    assert CliRunner().invoke(unpack, [str(file), "-o", str(out)]).exit_code == 0
    again = CliRunner().invoke(unpack, [str(file), "-o", str(out)])
    assert again.exit_code == 1
    assert "there is something already" in again.output
    none = CliRunner().invoke(unpack, [str(tmp_path / "none.zip"), "-o", str(tmp_path / "other")])
    assert none.exit_code == 1
    assert "no such file" in none.output
