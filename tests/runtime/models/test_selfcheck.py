"""The self-check: which verdict a component gets on kernels that its manifest does not name, what is cached,
and what is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gamer.runtime.backends import Array, processor
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.errors import BundleError, RuntimeFailure
from gamer.runtime.models import selfcheck
from gamer.runtime.models.models import Models
from tests.paths import GOLDEN

MANIFEST = GOLDEN / "manifest_v2.json"
ROLE = "dpe_router"
PATCHES = np.arange(12, dtype=np.float32).reshape(1, 4, 3)
WANT = np.array([[0.2, 0.3, 0.5]], np.float32)


class Kernels:
    """A backend whose fused form answers `fused` and whose exact form answers `unfused`; counts its runs."""

    def __init__(self, fused: list[float], unfused: list[float]) -> None:
        self.answers = {"fused": fused, "unfused": unfused}
        self.opened: list[str] = []
        self.runs = 0

    def open(self, backend: str, path: Path, artifact: mf.Artifact, threads: int) -> Session:
        self.opened.append(backend.partition(":")[2])
        return Session(self, artifact, self.opened[-1])


class Session:
    def __init__(self, kernels: Kernels, artifact: mf.Artifact, units: str) -> None:
        self._kernels, self.artifact, self._units = kernels, artifact, units

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        assert np.array_equal(inputs["patches"], PATCHES)
        self._kernels.runs += 1
        return {"weights": np.array([self._kernels.answers[self._units]], np.float32)}


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Path, Kernels]]:
    """Writes a bundle of one component that was measured on `proven`; gives it and the kernels here."""
    monkeypatch.setenv("GAMER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        selfcheck.LOG, "disabled", False
    )  # libraries that other tests load change the logging
    monkeypatch.setattr(processor, "kernels", lambda backend: "onnxruntime 9.9, x86_64 sse4.2")

    def write(
        fused: list[float], unfused: list[float] | None = None, proven: str = "elsewhere", version: int = 2
    ) -> tuple[Path, Kernels]:
        folder = tmp_path / "bundle"
        (folder / "fixtures").mkdir(parents=True)
        (folder / "router.onnx").write_bytes(b"weights")
        np.save(folder / "fixtures" / "dpe.patches.npy", PATCHES)
        np.save(folder / "fixtures" / f"{ROLE}.want.npy", WANT)
        manifest = mf.from_json(MANIFEST.read_text(encoding="utf-8"), "golden")
        artifact = replace(
            manifest.artifacts[0],
            role=ROLE,
            path="router.onnx",
            inputs=(mf.TensorSpec("patches", (1, 4, 3), "float32"),),
            outputs=(mf.TensorSpec("weights", (1, 3), "float32"),),
            parity=mf.Parity("passed", "cosine", 0.999, 0.9995, 0.9999, kernels=proven),
        )
        size, sha = mf.digest(folder / "router.onnx")
        names = ("fixtures/dpe.patches.npy", f"fixtures/{ROLE}.want.npy")
        files = tuple(mf.DataFile(n, n, *mf.digest(folder / n)) for n in names) if version == 2 else ()
        component = replace(manifest.components[0], role=ROLE)
        complete = replace(
            manifest,
            schema_version=version,
            components=(component,),
            artifacts=(replace(artifact, bytes=size, sha256=sha),),
            files=files,
            prefixes=(),
        )
        (folder / mf.MANIFEST_NAME).write_text(mf.to_json(complete), encoding="utf-8")
        kernels = Kernels(fused, unfused or fused)
        monkeypatch.setattr(selfcheck, "open_session", kernels.open)
        return folder, kernels

    return write


RIGHT, WRONG, NONE = [0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [float("nan")] * 3


def verdict(folder: Path, backend: str = "onnx") -> selfcheck.Verdict:
    models = Models.open(folder, backend)
    models.session(ROLE)
    return models.verdicts[ROLE]


def test_kernels_that_the_manifest_names_are_trusted_without_a_run(
    make: Callable[..., tuple[Path, Kernels]],
) -> None:
    folder, kernels = make(WRONG, proven="onnxruntime 9.9, x86_64 sse4.2")
    assert verdict(folder) == selfcheck.Verdict(ROLE, "fused", 0.9995, 0.999, "export")
    assert kernels.runs == 0


def test_other_kernels_run_the_fixtures_once_and_the_verdict_is_cached(
    make: Callable[..., tuple[Path, Kernels]], tmp_path: Path
) -> None:
    folder, kernels = make(RIGHT)
    assert verdict(folder) == selfcheck.Verdict(ROLE, "fused", 1.0, 0.999, "measured")
    assert verdict(folder).source == "remembered"
    assert kernels.runs == 1
    assert not list(folder.rglob("*.json.*"))
    assert len(list((tmp_path / "cache" / "selfcheck").iterdir())) == 1


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[]",
        '{"units": 5, "cosine": 1.0}',
        '{"units": "quantum", "cosine": 1.0}',
        '{"units": "fused", "cosine": 7}',
    ],
)
def test_a_damaged_cached_verdict_is_measured_again(
    make: Callable[..., tuple[Path, Kernels]], tmp_path: Path, damage: str
) -> None:
    folder, kernels = make(RIGHT)
    verdict(folder)
    (note,) = (tmp_path / "cache" / "selfcheck").iterdir()
    note.write_text(damage)
    assert verdict(folder).source == "measured"
    assert kernels.runs == 2
    assert json.loads(note.read_text()) == {"units": "fused", "cosine": pytest.approx(1.0)}


def test_without_a_writable_cache_every_start_measures_again(
    make: Callable[..., tuple[Path, Kernels]], tmp_path: Path
) -> None:
    folder, kernels = make(RIGHT)
    (tmp_path / "cache").write_text("a file stands where the folder would")
    assert [verdict(folder).source for _ in range(2)] == ["measured", "measured"]
    assert kernels.runs == 2


def test_wrong_fused_kernels_are_replaced_by_exact_ones_with_one_log_line(
    make: Callable[..., tuple[Path, Kernels]], caplog: pytest.LogCaptureFixture
) -> None:
    folder, kernels = make(WRONG, RIGHT)
    assert verdict(folder) == selfcheck.Verdict(ROLE, "unfused", 1.0, 0.999, "measured")
    assert kernels.opened == ["fused", "unfused"]
    (record,) = caplog.records
    assert "dpe_router is wrong on this processor" in record.getMessage()
    assert "0.7632" in record.getMessage()
    assert "\n" not in record.getMessage()
    models = Models.open(folder)
    models.session(ROLE)
    assert models.verdicts[ROLE].source == "remembered"
    assert "int8, unfused" in models.describe()
    assert kernels.opened[-1] == "unfused"


@pytest.mark.parametrize("bad", [WRONG, NONE])
def test_a_component_that_is_wrong_in_both_forms_is_refused_with_its_cosines(
    make: Callable[..., tuple[Path, Kernels]], tmp_path: Path, bad: list[float]
) -> None:
    folder, _ = make(bad)
    with pytest.raises(
        RuntimeFailure, match=r"worst cosine .* fused, .* unfused on onnxruntime 9\.9.*, below 0\.999"
    ) as caught:
        verdict(folder)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "cache").exists()


def test_a_form_that_was_chosen_by_name_is_measured_and_no_other_opened(
    make: Callable[..., tuple[Path, Kernels]],
) -> None:
    folder, kernels = make(RIGHT, proven="onnxruntime 9.9, x86_64 sse4.2")
    assert verdict(folder, "onnx:unfused").source == "measured"
    assert kernels.opened == ["unfused"]


def test_a_golden_file_that_was_changed_fails_its_hash(make: Callable[..., tuple[Path, Kernels]]) -> None:
    folder, _ = make(RIGHT)
    models = Models.open(folder)
    np.save(folder / "fixtures" / f"{ROLE}.want.npy", WANT * 2)
    with pytest.raises(BundleError, match=r"dpe_router\.want\.npy: .* it changed since export"):
        models.session(ROLE)


def test_an_output_of_another_shape_than_the_fixtures_is_refused(
    make: Callable[..., tuple[Path, Kernels]],
) -> None:
    folder, kernels = make(RIGHT)
    kernels.answers = {"fused": [1.0, 2.0], "unfused": [1.0, 2.0]}
    with pytest.raises(BundleError, match="golden fixtures do not fit"):
        verdict(folder)


def test_a_bundle_of_version_1_is_used_with_a_warning(
    make: Callable[..., tuple[Path, Kernels]], caplog: pytest.LogCaptureFixture
) -> None:
    folder, kernels = make(WRONG, version=1)
    assert verdict(folder).source == "no fixtures"
    assert kernels.runs == 0
    assert [r.getMessage().split(": ", 1)[1][:12] for r in caplog.records] == ["of version 1"]


def test_a_golden_array_without_dimensions_is_refused(make: Callable[..., tuple[Path, Kernels]]) -> None:
    folder, _ = make(RIGHT)
    manifest = mf.read(folder)
    np.save(folder / "fixtures" / f"{ROLE}.want.npy", np.float32(1.0))
    name = f"fixtures/{ROLE}.want.npy"
    files = tuple(
        mf.DataFile(name, name, *mf.digest(folder / name)) if f.name == name else f for f in manifest.files
    )
    (folder / mf.MANIFEST_NAME).write_text(mf.to_json(replace(manifest, files=files)))
    with pytest.raises(BundleError, match="golden fixtures do not fit"):
        verdict(folder)


@pytest.mark.parametrize(
    ("architecture", "features", "says"),
    [
        ("x86_64", ("sse4.2", "avx2", "avx512", "vnni"), "int8, VNNI"),
        ("x86_64", ("sse4.2", "avx2", "vnni"), "int8, VNNI"),
        ("x86_64", ("sse4.2", "avx2", "avx512"), "int8, precise AVX-512"),
        ("x86_64", ("sse4.2", "avx2"), "int8, precise AVX2"),
        ("x86_64", ("sse4.2",), "int8, precise SSE4.2"),
        ("aarch64", ("neon", "dotprod"), "int8, dot product of ARM"),
        ("aarch64", ("neon",), "int8, NEON"),
        ("riscv64", (), "int8, riscv64"),
    ],
)
def test_the_arithmetic_is_named_by_what_the_processor_has(
    monkeypatch: pytest.MonkeyPatch, architecture: str, features: tuple[str, ...], says: str
) -> None:
    monkeypatch.setattr(processor, "read", lambda: processor.Processor(architecture, "", features))
    assert processor.arithmetic("onnx", "int8") == says
    assert processor.arithmetic("onnx", "int8", unfused=True) == "int8, unfused"
    assert processor.arithmetic("onnx", "fp32") == "fp32"
    assert processor.arithmetic("executorch", "int8") == "int8, XNNPACK"


def test_this_processor_is_described_with_its_features() -> None:
    here = processor.read()
    assert here.features
    assert here.described.startswith(here.architecture)
    assert processor.kernels("onnx").startswith("onnxruntime ")


@pytest.mark.slow
def test_every_component_of_the_bundle_has_fixtures_that_it_passes(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On kernels that the manifest does not name: each is measured within its time and lies above its
    threshold.
    """
    monkeypatch.setenv("GAMER_CACHE", str(tmp_path))
    real = processor.kernels("onnx")
    monkeypatch.setattr(processor, "kernels", lambda backend: real + " of another day")
    models = Models.open(bundle)
    for component in models.manifest.components:
        models.session(component.role)
        checked = models.verdicts[component.role]
        assert checked.source == "measured", checked
        assert checked.cosine is not None, checked
        assert checked.cosine >= checked.threshold, checked
    assert len(list((tmp_path / "selfcheck").iterdir())) == len(models.manifest.components)
