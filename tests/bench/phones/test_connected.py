"""A phone on a cable, played by programs that answer as adb and devicectl do: what is pushed, asked and
left.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gamer.bench.cli.bench import bench
from gamer.bench.latency.measure import bundle_sha256
from gamer.bench.phones import adb, connected, devicectl, selection
from gamer.bench.study.settings import SettingError
from gamer.export.planning import devices
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.errors import RuntimeFailure
from tests.paths import GOLDEN, ROOT

PIXEL = {
    "ro.product.manufacturer": "Google",
    "ro.product.model": "Pixel 8",
    "ro.product.device": "shiba",
    "ro.build.version.sdk": "36",
    "ro.product.cpu.abilist": "arm64-v8a,armeabi-v7a",
}


class Desk:
    """A computer with fake cables, a small bundle, an app, and the folders of the phones."""

    def __init__(self, home: Path) -> None:
        self.phones, self.bundle, self.app = home / "phones", home / "small", home / "app.apk"
        self.phones.mkdir()
        self.app.write_bytes(b"an app")
        self._bundle()
        row = {"layer": "component", "step": "text_tower", "n": 1, "samples_ns": [4_000_000]}
        row |= dict.fromkeys(("avg_ns", "p50_ns", "p90_ns", "stddev_ns"), 4e6)
        phone = {"device": "Google Pixel 8", "model": "Pixel 8", "os": "Android 16"}
        ran = {"backend": "onnx", "bundle_sha256": bundle_sha256(self.bundle), "rows": [row]}
        self.answer({"schema": "gamer-latency/1", **phone, **ran})

    def _bundle(self) -> None:
        manifest = mf.from_json((GOLDEN / "manifest_v1.json").read_text(encoding="utf-8"), "golden")
        artifacts = []
        for artifact in manifest.artifacts:
            path = self.bundle / artifact.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(artifact.path.encode())
            size, sha = mf.digest(path)
            artifacts.append(replace(artifact, bytes=size, sha256=sha))
        whole = replace(manifest, artifacts=tuple(artifacts), files=(), prefixes=())
        (self.bundle / mf.MANIFEST_NAME).write_text(mf.to_json(whole), encoding="utf-8")

    def answer(self, measurement: object) -> None:
        (self.phones / "measurement.json").write_text(json.dumps(measurement))

    def connect(self, serial: str = "P8", **state: Any) -> Path:
        folder = self.phones / serial
        folder.mkdir()
        made = {"properties": PIXEL, "free_kb": 9_000_000} | state
        (folder / "phone.json").write_text(json.dumps(made))
        return folder

    def state(self, serial: str = "P8") -> Any:
        return json.loads((self.phones / serial / "phone.json").read_text())

    def change(self, serial: str = "P8", **state: Any) -> None:
        (self.phones / serial / "phone.json").write_text(json.dumps(self.state(serial) | state))

    def measure(self, *given: str) -> selection.Selected:
        settings = [f"app={self.app}", *given]
        return selection.select([connected.CONNECTED], settings, [self.bundle], lambda line: None)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path)
    cables = tmp_path / "bin"
    cables.mkdir()
    for name in ("adb", "xcrun"):
        program = Path(__file__).with_name(f"fake_{name}.py")
        (cables / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "{program}" "$@"\n')
        (cables / name).chmod(0o755)
    (desk.phones / "iphone").mkdir()
    (desk.phones / "iphone/phone.json").write_text("{}")
    (cables / "xcrun").rename(cables / "xcrun.off")
    monkeypatch.setenv("PATH", str(cables), prepend=":")
    monkeypatch.setenv("FAKE_PHONES", str(desk.phones))
    monkeypatch.setattr(adb.Android, "poll", 0.0)
    monkeypatch.setattr(devicectl.IPhone, "poll", 0.0)
    (desk.phones / "iphone").rename(tmp_path / "iphone")
    return desk


def test_a_phone_is_measured_and_left_as_it_was(desk: Desk) -> None:
    phone = desk.connect()
    found = desk.measure("rounds=3", "runner=xnnpack", "ops=true")
    assert [p.name for p in found.profiles] == ["Pixel 8"]
    assert [(m.profile.name, m.bundle) for m in found.measured] == [("Pixel 8", "small")]
    started = desk.state()["started"]
    assert (started["rounds"], started["runner"], started["ops"]) == ("3", "xnnpack", "true")
    pushed = [Path(name).name for name in desk.state()["pushed"]]
    assert pushed[-1] == "manifest.json"
    assert "text_tower.onnx" in pushed
    assert not any("mlpackage" in name or ".pte" in name for name in pushed)
    assert not desk.state()["installed"]
    assert not list((phone / "files").iterdir())


def test_with_keep_nothing_is_pushed_or_installed_again_and_a_new_run_measures_anew(desk: Desk) -> None:
    desk.connect()
    desk.measure("keep=true")
    first = desk.state()
    assert first["installed"]
    desk.measure("keep=true", "rounds=5")
    second = desk.state()
    assert second["pushed"] == first["pushed"]
    assert second["started"]["rounds"] == "5"
    (desk.bundle / "onnx/text_tower.onnx").write_bytes(b"other")
    with pytest.raises(RuntimeFailure, match=r"text_tower\.onnx"):
        desk.measure("keep=true")


def test_an_app_that_was_there_stays_and_loses_its_measurement_only(desk: Desk) -> None:
    phone = desk.connect()
    desk.measure("keep=true")
    desk.measure()
    assert desk.state()["installed"]
    assert not list((phone / "app").iterdir())


def test_a_phone_that_disappears_goes_on_where_it_was(desk: Desk) -> None:
    desk.connect(gone_after=1)
    with pytest.raises(RuntimeFailure, match=r"the phone is gone .* run the same command"):
        desk.measure()
    assert len(desk.state()["pushed"]) == 1
    desk.change(gone_after=None)
    desk.measure()
    pushed = desk.state()["pushed"]
    assert len(pushed) == len(set(pushed))


def test_a_measurement_that_ended_while_the_phone_was_gone_is_taken_once(desk: Desk) -> None:
    phone = desk.connect()
    desk.measure("keep=true")
    number = desk.state()["started"]["id"]
    desk.change(started=None)
    shutil.copy(desk.phones / "measurement.json", phone / "app" / f"{number}.json")
    desk.measure("keep=true")
    assert desk.state()["started"] is None
    desk.measure("keep=true")
    assert desk.state()["started"]["id"] == number


def test_an_album_lies_in_the_apps_own_folder_and_only_while_it_is_measured(desk: Desk) -> None:
    phone, album = desk.connect(), desk.phones.parent / "holidays.gamer"
    album.write_bytes(b"places\xff")
    for settings in (["keep=true"], ["keep=true"], []):
        desk.change(album=None)
        desk.measure(f"album={album}", *settings)
        assert desk.state()["album"] == "places\xff"
        assert not [path for path in phone.rglob("*") if "album" in path.name]
    assert not any("album" in name for name in desk.state()["pushed"])
    desk.answer({"error": "out of time"})
    with pytest.raises(RuntimeFailure, match="out of time"):
        desk.measure(f"album={album}")
    desk.change(crashes=True)
    with pytest.raises(RuntimeFailure, match="ended before it had measured"):
        desk.measure(f"album={album}")
    assert not [path for path in phone.rglob("*") if "album" in path.name]


def test_a_run_that_goes_on_removes_the_app_that_the_first_one_brought(desk: Desk) -> None:
    phone = desk.connect(gone_after=1)
    with pytest.raises(RuntimeFailure, match="the phone is gone"):
        desk.measure()
    assert desk.state()["installed"]
    desk.change(gone_after=None)
    desk.measure()
    assert not desk.state()["installed"]
    assert not list((phone / "files").iterdir())


def test_what_a_phone_prints_strangely_is_no_traceback(desk: Desk) -> None:
    desk.connect(free_kb="-", mount="\udcff")
    assert desk.measure().measured


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"free_kb": 1000}, r"it is full: 0 MB are free, and 200 MB are needed"),
        ({"refuses": "INSTALL_FAILED_INSUFFICIENT_STORAGE"}, r"it is full"),
        ({"refuses": "INSTALL_FAILED_UPDATE_INCOMPATIBLE: signatures"}, r"adb uninstall gamer\.app\.debug"),
        ({"properties": PIXEL | {"ro.build.version.sdk": "24"}}, r"too old: 26 \(Android 8\)"),
        ({"properties": PIXEL | {"ro.product.cpu.abilist": "x86_64"}}, r"no arm64-v8a .*it has x86_64"),
        ({"state": "unauthorized"}, r"P8 is unauthorized: unlock it"),
        ({"properties": PIXEL | {"ro.product.model": "Pixel 8 Pro", "ro.product.device": "husky"}},
         r"Google Pixel 8 Pro \(Pixel 8 Pro, husky\) has no profile; the nearest is Pixel 8\."),
        ({"release": True}, r"app\.apk is no debug build"),
        ({"crashes": True}, r"the app ended before it had measured"),
    ],
)  # fmt: skip
def test_what_a_phone_refuses_is_said_in_a_line(desk: Desk, state: dict[str, Any], message: str) -> None:
    desk.connect(**state)
    with pytest.raises(RuntimeFailure, match=message) as refused:
        desk.measure()
    assert "\n" not in str(refused.value)


def test_what_the_app_could_not_measure_is_said(desk: Desk) -> None:
    desk.connect()
    desk.answer({"error": "no manifest.json"})
    with pytest.raises(RuntimeFailure, match=r"could not measure: no manifest\.json"):
        desk.measure()
    desk.answer({"error": "no processor"})
    with pytest.raises(RuntimeFailure, match="could not measure: no processor"):  # measured anew
        desk.measure()


def test_of_two_phones_one_is_named(desk: Desk) -> None:
    desk.connect("P7", state="offline")
    desk.connect()
    desk.measure("serial=P8", "keep=true")
    shutil.rmtree(desk.phones / "P7")
    desk.connect("P9")
    with pytest.raises(RuntimeFailure, match=r"2 phones are connected: P8 .*P9 .*serial=P8"):
        desk.measure()
    desk.measure("serial=P9")
    assert "started" in desk.state("P9")
    with pytest.raises(RuntimeFailure, match="no phone P7 is connected"):
        desk.measure("serial=P7")


def test_without_a_phone_an_app_or_a_right_setting_nothing_begins(desk: Desk) -> None:
    with pytest.raises(RuntimeFailure, match="no phone is connected"):
        desk.measure()
    desk.connect()
    with pytest.raises(RuntimeFailure, match=r"gone\.apk: no such app; build it"):
        desk.measure("app=gone.apk")
    with pytest.raises(RuntimeFailure, match=r"gone\.gamer: no such album"):
        desk.measure("album=gone.gamer")
    with pytest.raises(RuntimeFailure, match=r"small: not an app; name an \.apk"):
        desk.measure(f"app={desk.bundle}")
    with pytest.raises(RuntimeFailure, match="no operators of executorch"):
        desk.measure("runner=executorch", "ops=true")
    with pytest.raises(RuntimeFailure, match="Pixel 8: its app has no coreml; one of onnx, xnnpack"):
        desk.measure("runner=coreml")
    with pytest.raises(SettingError, match="one of onnx"):
        desk.measure("runner=gpu")
    with pytest.raises(RuntimeFailure, match="give --device connected"):
        selection.select(["Pixel 8"], ["rounds=3"], [desk.bundle], lambda line: None)
    assert "pushed" not in desk.state()


def test_an_iphone_is_measured_by_a_launch_argument(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "iphone").rename(desk.phones / "iphone")
    (tmp_path / "bin/xcrun.off").rename(tmp_path / "bin/xcrun")
    (tmp_path / "bin/adb").unlink()
    answer = json.loads((desk.phones / "measurement.json").read_text())
    desk.answer(answer | {"device": "iPhone", "model": "iPhone16,1", "backend": "coreml:all"})
    with pytest.raises(RuntimeFailure, match="by Android's app alone"):
        desk.measure("ops=true")
    desk.change("iphone", gone_after=4)
    with pytest.raises(RuntimeFailure, match=r"copy to failed .*the same command"):
        desk.measure("runner=coreml")
    desk.change("iphone", gone_after=None)
    found = desk.measure("runner=coreml")
    state = desk.state("iphone")
    assert found.measured[0].profile.name == "iPhone 15 Pro"
    assert not found.measured[0].run.on_processor
    assert state["started"] | {"id": ""} == {
        "id": "", "bundle": "bench/bundle", "runner": "coreml", "rounds": 20, "threads": 0, "ops": False,
        "keep": False,
    }  # fmt: skip
    assert state["installed"]  # the first try had installed it


def test_an_iphone_that_has_the_app_measures_anew_and_gets_what_it_lacks(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "iphone").rename(desk.phones / "iphone")
    (tmp_path / "bin/xcrun.off").rename(tmp_path / "bin/xcrun")
    (tmp_path / "bin/adb").unlink()
    there, album = desk.phones / "iphone/Documents/bench", tmp_path / "a.gamer"
    album.write_bytes(b"an album")
    answer = json.loads((desk.phones / "measurement.json").read_text())
    answer |= {"device": "iPhone", "model": "iPhone16,1"}
    for os_name in ("iOS 1", "iOS 2"):
        desk.answer(answer | {"os": os_name})
        assert desk.measure("keep=true").measured[0].run.os == os_name
    assert not any("mlpackage" in str(path) or "album" in path.name for path in there.rglob("*"))
    desk.measure("keep=true", "runner=coreml", f"album={album}")
    assert any("mlpackage" in str(path) for path in there.rglob("*"))
    assert (there / "album.gamer").read_bytes() == b"an album"
    for error in ("one", "two"):
        desk.answer({"error": error})
        with pytest.raises(RuntimeFailure, match=f"could not measure: {error}"):
            desk.measure("keep=true")


def test_only_the_cable_starts_the_screen_that_measures() -> None:
    name = "{http://schemas.android.com/apk/res/android}"
    root = ElementTree.parse(ROOT / "android_demo/app/src/debug/AndroidManifest.xml").getroot()
    exported = [a for a in root.iter("activity") if a.get(f"{name}exported") == "true"]
    assert [a.get(f"{name}permission") for a in exported] == ["android.permission.DUMP"]
    assert [a.get(f"{name}dataExtractionRules") for a in root.iter("application")] == ["@xml/data_extraction"]


def test_an_unknown_variant_of_the_app_is_refused() -> None:
    done = subprocess.run(
        ["bash", str(ROOT / "android_demo/build_apk.sh")],
        env=os.environ | {"VARIANT": "debgu"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "VARIANT=debgu" in done.stderr


def test_the_profiles_of_a_file_come_before_those_of_the_project(desk: Desk, tmp_path: Path) -> None:
    own = json.loads(devices.PROFILES.read_text())[0] | {"name": "Pixel 8 Pro", "codes": ["husky"]}
    (tmp_path / "own.json").write_text(json.dumps([own]))
    chosen = selection.select([str(tmp_path / "own.json")], [], [desk.bundle], lambda line: None)
    assert [p.name for p in chosen.profiles] == ["Pixel 8 Pro"]
    assert devices.match(chosen.known, ["husky"])


def test_a_phone_that_was_slowed_down_is_refused_with_strict(desk: Desk, tmp_path: Path) -> None:
    answer = json.loads((desk.phones / "measurement.json").read_text())
    (tmp_path / "hot.json").write_text(json.dumps(answer | {"thermal": "severe"}))
    words = ["device", "-b", str(desk.bundle), "--import", str(tmp_path / "hot.json"), "--strict"]
    done = CliRunner().invoke(bench, words)
    assert done.exit_code == 1
    assert "Google Pixel 8 was slowed down (thermal state severe)" in done.output


@pytest.mark.slow
def test_one_command_measures_a_phone_that_is_the_jvm_and_compares_it(
    desk: Desk, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`am start` runs the Kotlin core on what was pushed; the rest is the command as it is used."""
    tools = Path(os.environ.get("GAMER_TOOLS") or Path.home() / ".cache/gamer-tools")
    if not (tools / "kotlin/compiler/lib/kotlin-compiler.jar").is_file():
        pytest.skip("no Kotlin tools: run make mobile-setup-kotlin")
    runner = tmp_path / "runner"
    device = "--device 'Google Pixel 8' --ops true"
    core = ROOT / "android_demo/core/runner.sh"
    runner.write_text(f'#!/bin/sh\nexec "{core}" bench "$1" --bench "$3" {device}\n')
    runner.chmod(0o755)
    subprocess.run([core.with_name("build.sh")], check=True, capture_output=True, timeout=600)
    monkeypatch.setenv("FAKE_RUNNER", str(runner))
    phone, out = desk.connect(), tmp_path / "phone.json"
    given = ["rounds=2", f"app={desk.app}", "ops=true"]
    words = ["device", "-b", str(bundle), "--device", "connected", "-r", "1", "-o", str(out)]
    done = CliRunner().invoke(bench, [*words, *(word for one in given for word in ("--set", one))])
    assert done.exit_code == 0, done.output
    result = json.loads(out.read_text())
    outlooks = {o["component"]: o for o in result["outlooks"]}
    assert {o["device"] for o in outlooks.values()} == {"Pixel 8"}
    wanted = {"image_tower", "text_tower", "dpe_router", "dpe_expert_0", "llm_prefill", "llm_decode"}
    assert all(outlooks[step]["measured_ms"] > 0 and outlooks[step]["refined_ms"] > 0 for step in wanted)
    (measurement,) = result["measurements"]
    assert {o["step"] for o in measurement["operators"]} >= {"image_tower", "dpe_expert_2", "llm_decoder"}
    assert "Pixel 8 took" in done.output
    assert "Operators on Google Pixel 8" in done.output
    assert not list((phone / "files").iterdir())
    words = ["device", "-b", str(bundle), "--import", str(out), "-r", "1", "--json"]
    again = CliRunner().invoke(bench, words)
    assert again.exit_code == 0
    assert json.loads(again.stdout)["outlooks"]
