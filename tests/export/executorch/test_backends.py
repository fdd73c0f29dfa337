"""ExecuTorch for Core ML and Vulkan on a system that has neither: what can be evaluated is compared with
torch, the rest is reported as not run.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("executorch", reason="needs the export extra")
pytest.importorskip("coremltools", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from executorch.backends.apple.coreml import executorchcoreml
from torch import nn

from gamer.export.bundle import write
from gamer.export.components import decoders
from gamer.export.components.export_module import ExportModule
from gamer.export.errors import ExportError
from gamer.export.executorch import delegate, pte, to_executorch
from gamer.export.parity import measure
from gamer.export.quantize.fp16_emulation import Rounded, in_half
from gamer.export.settings import Settings
from gamer.export.target_options import TargetOptions
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle.manifest import Artifact, Language, Parity, TensorSpec
from gamer.runtime.models.language.decoder import open_decoder
from tests.export import tiny as checkpoints
from tests.export.conftest import Export
from tests.export.tiny_llms import SLOTS, ids, tiny, torch_decoder

TOKENS = ids(9)
LANGUAGE = Language(1, 1, 2, 2, 1, 0.0, ())
X = TensorSpec("x", (2, 8), "float32")


def written(item: Any, quant: str, backend: str, path: Path) -> Artifact:
    inputs, outputs = to_executorch.write(item, quant, LANGUAGE, [], path, TargetOptions(backend=backend))
    return Artifact(
        item.role, "executorch", quant, path.name, 0, "", inputs, outputs, Parity("", "", 0.0), 0.0
    )


class Outside(nn.Module):  # type: ignore[misc]
    """An operator that no backend takes, between two that all do."""

    def forward(self, x: Any) -> Any:
        return torch.asinh(x * 2.0) + 1.0


def small(module: Any) -> ExportModule:
    return ExportModule(
        "dpe_router",
        module.eval(),
        (torch.ones(2, 8),),
        (X,),
        (TensorSpec("y", (2, 8), "float32"),),
        {},
        "",
        "",
        True,
        "",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "quant", "least"),
    [("llama", "fp32", 0.99999), ("gemma3", "fp16", 0.999), ("qwen2", "int4", 0.95)],
)
def test_the_core_ml_delegate_gives_the_states_of_torch(
    family: str, quant: str, least: float, tmp_path: Path
) -> None:
    """Evaluated from the .pte file itself, token by token."""
    _, config, weights = tiny(family, 1)
    language, item = decoders.language(config, SLOTS), decoders.decoder(config, weights, SLOTS)
    table = decoders.embed(config, weights, "fp32").module.get_buffer("rows").numpy()
    _, want = torch_decoder(item, language).forward(table[TOKENS])
    artifact = written(item, quant, "coreml", tmp_path / "d.pte")
    program = pte.read(tmp_path / "d.pte")
    assert program.backends == ("CoreMLBackend",)
    assert len(program.calls) == 1
    assert not program.left
    _, hidden = open_decoder(delegate.open_delegate(tmp_path / "d.pte", artifact), language).forward(
        table[TOKENS]
    )
    assert measure.cosines(hidden, want).min() >= least


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "quant"), [("coreml", "int8"), ("vulkan", "fp16")])
def test_a_tower_for_core_ml_passes_parity_and_one_for_vulkan_is_reported_as_not_run(
    backend: str, quant: str, tmp_path: Path
) -> None:
    source = str(checkpoints.clip(tmp_path / "clip", layers=1))
    asked = Settings("towers", "int8", (("image", source), ("text", source)), executorch_backend=backend)
    (task,) = [t for t in write.tasks(asked, ("executorch",), str(tmp_path)) if t.role == "image_tower"]
    (tmp_path / "records").mkdir()
    artifact = write.run_task(task).artifact
    proof = artifact.parity
    assert artifact.quant == quant
    if backend == "coreml":
        assert (proof.status, proof.executed_by) == (
            "passed",
            "MIL interpreter",
        )
        assert proof.minimum is not None
    else:
        assert (proof.status, proof.minimum, proof.mean) == (mf.NOT_RUN, None, None)
        assert re.search(
            r"VulkanBackend.*torch runs what was delegated with cosine ≥ (0\.999|1\.0)", proof.executed_by
        )


@pytest.mark.slow
def test_a_language_model_for_vulkan_is_one_delegate_without_prefixes(tmp_path: Path, export: Export) -> None:
    """The 4-bit matrices are one delegate; nothing here runs it, so the bundle has no prefixes of it."""
    source = str(checkpoints.qwen2(tmp_path / "qwen2", layers=1))
    asked = Settings("llm", "int4", (("llm", source),), executorch_backend="vulkan")
    manifest = export(asked, tmp_path / "out", ("executorch",))
    decoder = manifest.artifact("llm_decoder", "executorch")
    assert decoder.quant == "8da4w"
    assert not manifest.prefixes
    report = decoder.parity.executed_by
    assert report.startswith(
        "loads as 1 × VulkanBackend, nothing left to portable kernels; torch runs what was delegated with "
        "cosine ≥ 0.9"
    )


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["xnnpack", "coreml"])
def test_operators_outside_the_delegate_are_named(backend: str, tmp_path: Path) -> None:
    artifact = written(small(Outside()), "fp32", backend, tmp_path / "a.pte")
    program = pte.read(tmp_path / "a.pte")
    assert list(program.left) == ["aten::asinh.out"]
    assert "left to portable kernels: aten::asinh.out × 1" in pte.describe(program)
    if backend == "coreml":
        assert [by for by, *_ in measure._delegated(artifact, tmp_path / "a.pte")] == []
        with pytest.raises(ExportError, match="not Core ML's alone"):
            delegate.open_delegate(tmp_path / "a.pte", artifact)


def test_an_operator_that_no_backend_takes_runs_without_a_delegate(tmp_path: Path) -> None:
    class Alone(nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return torch.asinh(x)

    artifact = written(small(Alone()), "fp32", "vulkan", tmp_path / "a.pte")
    ((by, session, _),) = measure._delegated(artifact, tmp_path / "a.pte")
    x = torch.linspace(-3, 3, 16).reshape(2, 8)
    assert by == "executorch"
    assert torch.allclose(torch.from_numpy(session.run({"x": x.numpy()})["y"]), torch.asinh(x), atol=1e-6)


@pytest.mark.parametrize(
    ("backend", "quant", "choices"),
    [("vulkan", "int8", "fp32, fp16, 8da4w"), ("coreml", "8da4w", "fp32, fp16, int8, int4, pal6, pal4")],
)
def test_a_quantization_that_a_backend_lacks_is_refused_with_the_choices(
    backend: str, quant: str, choices: str, tmp_path: Path
) -> None:
    with pytest.raises(
        ExportError, match=f"ExecuTorch for {backend} has no '{quant}'; choose one of: {choices}"
    ):
        written(small(Outside()), quant, backend, tmp_path / "a.pte")
    assert not list(tmp_path.iterdir())


def test_a_module_that_cannot_be_lowered_is_refused_in_one_line(tmp_path: Path) -> None:
    class Branches(nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x if x.sum() > 0 else -x

    with pytest.raises(ExportError, match="dpe_router: ExecuTorch cannot lower it for vulkan") as caught:
        written(small(Branches()), "fp32", "vulkan", tmp_path / "a.pte")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_half_precision_rounds_every_result_and_overflows() -> None:
    class Norm(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.full((8,), 0.1))

        def forward(self, x: Any) -> Any:
            return x * torch.rsqrt((x * x).mean(-1, keepdim=True)) * self.weight

    module, x = Norm(), torch.linspace(0.1, 3, 16).reshape(2, 8)
    half = Rounded(in_half(module))
    with torch.no_grad():
        assert torch.equal(half(x), module.half()(x.half()).float())
        assert not half(x * 300).isfinite().all() or (half(x * 300) == 0).all()


def test_a_flattened_folder_unfolds_to_the_same_files(tmp_path: Path) -> None:
    files = {"a/b/weight.bin": b"\x00\xff}]" * 40, "metadata.json": b"{}"}
    for name, data in files.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(data)
    pte.unfold(executorchcoreml.flatten_directory_contents(str(tmp_path / "in")), tmp_path / "out")
    assert {
        str(p.relative_to(tmp_path / "out")): p.read_bytes()
        for p in (tmp_path / "out").rglob("*")
        if p.is_file()
    } == files


@pytest.mark.parametrize(
    "nodes",
    [
        [{"kind": 0, "dataRegion": {"offset": 0, "size": 1}}, {"kind": 1, "children": {"../out": 0}}],
        [{"kind": 0, "dataRegion": {"offset": 0, "size": 1}}, {"kind": 1, "children": {"..": 0}}],
        [{"kind": 0, "dataRegion": {"offset": 0, "size": 1 << 40}}, {"kind": 1, "children": {"a": 0}}],
        [{"kind": 1, "children": {"a": 0}}],
        [{"kind": 1, "children": {"a": 5}}],
        [{"kind": 1}],
        [],
    ],
)
def test_a_hostile_flattened_folder_is_refused_and_writes_nothing_outside(
    nodes: list[Any], tmp_path: Path
) -> None:
    with pytest.raises(ExportError, match="does not unfold") as caught:
        pte.unfold(b"x" + json.dumps({"nodes": nodes}).encode()[::-1], tmp_path / "in")
    assert "\n" not in str(caught.value)
    assert {p.name for p in tmp_path.iterdir()} <= {"in"}


def test_a_file_that_is_no_executorch_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.pte").write_bytes(b"\x00" * 64)
    with pytest.raises(ExportError, match=r"a\.pte: not an ExecuTorch program"):
        pte.read(tmp_path / "a.pte")
    with pytest.raises(ExportError, match=r"b\.pte: cannot be read"):
        pte.read(tmp_path / "b.pte")
