"""`--calibrate`: the user's photographs instead of the packaged ones, hostile folders, and what makes an
artifact out of date.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
onnx = pytest.importorskip("onnx")
from PIL import Image

from gamer.export.bundle.fingerprint import fingerprint
from gamer.export.errors import ExportError
from gamer.export.executorch import to_executorch
from gamer.export.onnx import to_onnx
from gamer.export.parity.measure import cosines
from gamer.export.planning import limits
from gamer.export.quantize import calibration
from gamer.export.recipe import TARGETS
from gamer.export.settings import Settings, from_strings
from gamer.runtime.backends import open_session
from gamer.runtime.bundle.manifest import Preprocessing
from tests.export.convolutions import SAMPLES, SIDE, convolutions
from tests.export.onnx.test_to_onnx import CLIP, NO_LANGUAGE, tower
from tests.export.tiny_llms import artifact

SPEC = Preprocessing(SIDE, SIDE, "bilinear", 0.0, 1.0)


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """Dim pictures, JPEG and PNG, in folders, and a file that is no picture."""
    folder = tmp_path / "my photos"
    (folder / "2024" / "may").mkdir(parents=True)
    rng = np.random.default_rng(5)
    for n in range(9):
        where = folder / ("2024" if n % 2 else "2024/may")
        Image.fromarray(rng.integers(0, 60, (40, 30 + n, 3)).astype(np.uint8)).save(
            where / f"{n}.{'jpg' if n % 3 else 'PNG'}"
        )
    (folder / "notes.txt").write_text("no picture")
    return folder


def with_conv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gamer.export.components.components.preprocessing", lambda settings: SPEC)


def test_the_users_photographs_replace_the_packaged_ones_for_int8(
    album: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_conv(monkeypatch)
    asked = Settings("pocket", calibrate=str(album))
    for target in ("onnx", "executorch"):
        samples = calibration.samples(asked, convolutions(), target, "int8")
        assert len(samples) == 9
        assert samples[0][0].shape == (1, SIDE, SIDE, 3)
        assert max(x.max() for (x,) in samples) < 80
        assert len(calibration.samples(Settings("pocket"), convolutions(), target, "int8")) == 16
    for target, quant in (("coreml", "int8"), ("onnx", "fp32")):
        assert calibration.samples(asked, convolutions(), target, quant) == []


@pytest.mark.parametrize("target", ["onnx", pytest.param("executorch", marks=pytest.mark.slow)])
def test_activation_ranges_come_from_the_photographs(target: str, tmp_path: Path) -> None:
    """Faint samples have small activations: a tower calibrated with them is nearer to torch on faint pictures
    and clips strong ones.
    """
    pictures: dict[str, list[Any]] = {
        "strong": list(SAMPLES),
        "faint": [(127 + (x - 127) * 0.05,) for (x,) in SAMPLES],
    }
    worst = {}
    for name, given in pictures.items():
        item, path = convolutions(), tmp_path / name
        writer: Any = to_onnx if target == "onnx" else to_executorch
        session = open_session(
            target, path, artifact(item.role, *writer.write(item, "int8", NO_LANGUAGE, given, path)), 1
        )
        for seen, rows in pictures.items():
            wants = [item.module(torch.from_numpy(x)).detach().numpy() for (x,) in rows]
            gots = [session.run({"pixels": x})["embedding"].astype(np.float32) for (x,) in rows]
            worst[name, seen] = min(
                float(cosines(got, want).min()) for got, want in zip(gots, wants, strict=True)
            )
    assert worst["faint", "faint"] > worst["strong", "faint"]
    assert worst["strong", "strong"] > worst["faint", "strong"]


def test_photographs_are_chosen_evenly_and_within_bounds(
    album: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = calibration.chosen(album)
    assert len(every) == 9
    assert every == calibration.chosen(album)
    monkeypatch.setattr(calibration, "MOST", 5)
    assert calibration.chosen(album) == every[::2]  # first, last, and three between
    monkeypatch.setattr(calibration, "LISTED", 6)
    assert set(calibration.chosen(album)) < set(every[:6])


def test_unreadable_files_pipes_and_links_are_skipped(album: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_conv(monkeypatch)
    for n, bad in enumerate(
        (b"", b"\xff\xd8\xff" + b"0" * 99, b"MZ" * 50, Path(calibration.chosen(album)[0]).read_bytes()[:60])
    ):
        (album / f"bad{n}.jpg").write_bytes(bad)
    os.mkfifo(album / "pipe.png")
    (album / "loop").symlink_to(album)
    (album / "link.png").symlink_to(calibration.chosen(album)[0])
    assert (
        len(calibration.samples(Settings("pocket", calibrate=str(album)), convolutions(), "onnx", "int8"))
        == 9
    )


def test_a_folder_without_enough_photographs_is_refused_with_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_conv(monkeypatch)
    with pytest.raises(ExportError, match=r"nowhere: no folder of photographs to calibrate with"):
        calibration.chosen(tmp_path / "nowhere")
    for name, count in (("two", 2), ("broken", 5)):
        (tmp_path / name).mkdir()
        for n in range(count):
            (tmp_path / name / f"{n}.png").write_bytes(b"x")
    with pytest.raises(ExportError, match="two: must have at least 4 JPEG or PNG files"):
        calibration.chosen(tmp_path / "two")
    with pytest.raises(ExportError, match=r"broken: 0 of 5 photographs can be read, at least 4"):
        calibration.samples(
            Settings("pocket", calibrate=str(tmp_path / "broken")), convolutions(), "onnx", "int8"
        )


def test_photographs_that_no_tower_is_calibrated_with_are_refused(album: Path) -> None:
    asked = Settings("pocket", "fp32", calibrate=str(album))
    delegated = Settings("pocket", calibrate=str(album), executorch_backend="coreml")
    for settings, targets in (
        (asked, TARGETS),
        (Settings("pocket", calibrate=str(album)), ("coreml",)),
        (delegated, ("executorch",)),
    ):
        with pytest.raises(ExportError, match="no image tower becomes int8 for ONNX or ExecuTorch here"):
            limits.check(settings, targets)
    limits.check(
        Settings("pocket", "int4", calibrate=str(album)), ("onnx",)
    )  # pocket's convolutions stay int8
    with pytest.raises(ExportError, match="this image tower has no convolutions"):
        calibration.samples(Settings("pocket", calibrate=str(album)), tower(CLIP, "image"), "onnx", "int8")


def test_a_new_photograph_changes_the_fingerprint_and_only_the_folders_name_is_stored(
    album: Path,
) -> None:
    asked = Settings("pocket", calibrate=str(album))
    before = fingerprint(asked)
    assert fingerprint(asked) == before != fingerprint(Settings("pocket"))
    Image.new("RGB", (20, 20)).save(album / "new.png")
    assert fingerprint(asked) != before
    assert asked.to_strings()["calibrate"] == "my photos"
    assert from_strings(asked.to_strings()).calibrate == "my photos"
    assert Settings("pocket", calibrate=".").to_strings()["calibrate"] == Path.cwd().name
