"""ORT format: the file computes what the ONNX file computes, stands alone, runs on any processor, and goes
through export, verify and search.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("onnx")
pytest.importorskip("transformers", reason="needs the export extra")
from onnxruntime.tools.reduced_build_config_parser import parse_config

from gamer.bench.cost import graph
from gamer.bench.cost.nodes import GraphError
from gamer.export.components import decoders
from gamer.export.errors import ExportError
from gamer.export.onnx import to_onnx, to_ort
from gamer.export.parity import measure, verify
from gamer.export.planning import limits, plan
from gamer.export.recipe import TARGETS
from gamer.export.settings import Settings
from gamer.runtime.backends import open_session, processor
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.errors import BundleError
from gamer.runtime.models.language.decoder import BoundDecoder, open_decoder
from gamer.runtime.models.language.llm import Request
from gamer.runtime.models.models import Models
from tests.export import tiny
from tests.export.conftest import Export
from tests.export.convolutions import SAMPLES, convolutions
from tests.export.onnx.test_to_onnx import CLIP, NO_LANGUAGE, inputs, run, tower
from tests.export.tiny_llms import SLOTS, artifact, torch_decoder
from tests.export.tiny_llms import tiny as tiny_llm

# The domains that every build of ONNX Runtime has on any processor: com.microsoft.nchwc is on x86 only.
PORTABLE = {"ai.onnx", "com.microsoft"}


def domains(text: str) -> set[str]:
    return {row.split(";")[0] for row in text.splitlines() if not row.startswith("#")}


@pytest.mark.parametrize("quant", ["fp32", "fp16", "int8", "int4"])
@pytest.mark.parametrize("kind", ["image", "text"])
def test_a_tower_gives_the_same_vectors_in_onnx_and_in_ort_format(
    kind: str, quant: str, tmp_path: Path
) -> None:
    item, folder = tower(CLIP, kind), tmp_path / "ort"
    given = inputs(item, 3)
    folder.mkdir()
    specs = [
        writer.write(item, quant, NO_LANGUAGE, [], path)
        for writer, path in ((to_onnx, tmp_path / "t.onnx"), (to_ort, folder / "t.ort"))
    ]
    assert specs[0] == specs[1]
    assert {p.name for p in folder.iterdir()} <= {
        "t.ort",
        to_ort.source_graph(folder / "t.ort").name,
    }
    assert (folder / "t.ort").stat().st_size < 1.15 * (tmp_path / "t.onnx").stat().st_size + 60_000
    for got, want in zip(
        run(folder / "t.ort", given, plain=True), run(tmp_path / "t.onnx", given, plain=True), strict=True
    ):
        assert measure.cosines(got, want).min() > 0.99999
    assert domains(to_ort.required_operators([folder / "t.ort"])) <= PORTABLE


def test_convolutions_in_int8_are_fused_for_any_processor(tmp_path: Path) -> None:
    item, given = convolutions(), {"pixels": SAMPLES[0][0]}
    for writer, name in ((to_onnx, "c.onnx"), (to_ort, "c.ort")):
        writer.write(item, "int8", NO_LANGUAGE, list(SAMPLES), tmp_path / name)
    needed = to_ort.required_operators([tmp_path / "c.ort"])
    assert "QLinearConv" in needed
    assert domains(needed) <= PORTABLE
    assert (
        measure.cosines(
            run(tmp_path / "c.ort", given, plain=True)[0], run(tmp_path / "c.onnx", given, plain=True)[0]
        ).min()
        > 0.9999
    )


@pytest.mark.parametrize("quant", ["fp32", "int8", "int4"])
def test_a_decoder_with_a_bound_cache_gives_the_same_in_onnx_and_ort_format(
    quant: str, tmp_path: Path
) -> None:
    """Past and present are bound to one memory: the prompt at once and token by token, compared with the ONNX
    file and with torch.
    """
    _, config, weights = tiny_llm("qwen2")
    language, embeds = (
        decoders.language(config, SLOTS),
        np.random.default_rng(0).normal(0, 1, (9, 64)).astype(np.float32),
    )
    states = {}
    for writer, name in ((to_onnx, "d.onnx"), (to_ort, "d.ort")):
        item = decoders.decoder(config, weights, SLOTS)
        specs = writer.write(item, quant, language, [], tmp_path / name)
        decoder = open_decoder(
            open_session("onnx", tmp_path / name, artifact(item.role, *specs), 1), language
        )
        assert isinstance(decoder, BoundDecoder)
        at_once = decoder.forward(embeds)[1].copy()
        np.testing.assert_allclose(
            measure.teacher_force(decoder, embeds)[0], at_once, atol=2e-2 if quant != "fp32" else 1e-4
        )
        states[name] = at_once
    np.testing.assert_allclose(states["d.ort"], states["d.onnx"], atol=1e-5)
    reference = torch_decoder(decoders.decoder(config, weights, SLOTS), language).forward(embeds)[1]
    assert measure.cosines(states["d.ort"], reference).min() > (0.9999 if quant == "fp32" else 0.95)


def test_weights_beside_a_graph_are_put_into_the_ort_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = tower(CLIP, "text")
    given = inputs(item, 2)
    to_onnx.write(item, "fp32", NO_LANGUAGE, [], tmp_path / "one.onnx")
    monkeypatch.setattr("gamer.export.onnx.graph.MAX_EMBEDDED_BYTES", 0)
    to_ort.write(item, "fp32", NO_LANGUAGE, [], tmp_path / "t.ort")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.onnx", "t.ort"]
    np.testing.assert_allclose(
        run(tmp_path / "t.ort", given)[0], run(tmp_path / "one.onnx", given)[0], atol=1e-6
    )


def test_a_component_too_large_for_an_ort_file_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(to_ort, "MAX_BYTES", 100_000)
    with pytest.raises(
        ExportError,
        match=r"text_tower in fp32 is 0\.0 GB and an ORT file "
        r"holds 2: choose "
        r"fewer bits, or "
        r"--onnx-format "
        r"onnx",
    ):
        to_ort.write(tower(CLIP, "text"), "fp32", NO_LANGUAGE, [], tmp_path / "t.ort")
    assert not list(tmp_path.iterdir())


def large(quant: str, form: str = "ort", **more: Any) -> Settings:
    return Settings(
        "gamer-flan-t5-xl",
        quant,
        tuple((part, "random") for part in ("image", "text", "llm")),
        onnx_format=form,
        **more,
    )


def test_a_plan_refuses_a_component_too_large_for_an_ort_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(to_ort, "MAX_BYTES", 300_000_000)
    full, small = (
        Settings("clip-vit-b32", quant, (("image", "random"), ("text", "random")), onnx_format="ort")
        for quant in ("fp32", "int4")
    )
    with pytest.raises(ExportError, match=r"image_tower in fp32 is 0\.4 GB and an ORT file holds 2"):
        plan.predict(full, ("onnx",))
    assert plan.predict(small, ("onnx",)).artifacts
    assert plan.predict(full, ("coreml",)).artifacts


@pytest.mark.parametrize(("quant", "more"), [("fp16", {}), ("int8", {"keep": (("head", "fp16"),)})])
def test_fp16_weights_that_would_become_fp32_in_an_ort_file_are_refused(
    quant: str, more: dict[str, Any]
) -> None:
    with pytest.raises(
        ExportError,
        match="fp16 weights would become fp32 in an ORT file: choose "
        "int8, int4 or fp32, or --onnx-format onnx",
    ):
        limits.check(large(quant, **more), TARGETS)
    limits.check(large(quant, **more), ("coreml",))
    limits.check(large(quant, "onnx", **more), TARGETS)


def test_the_required_operators_are_written_as_the_build_of_onnx_runtime_reads_them(tmp_path: Path) -> None:
    item = tower(CLIP, "image")
    for quant in ("fp32", "int4"):
        to_ort.write(item, quant, NO_LANGUAGE, [], tmp_path / f"{quant}.ort")
    (tmp_path / to_ort.CONFIG).write_text(to_ort.required_operators(sorted(tmp_path.glob("*.ort"))))
    read, _ = parse_config(str(tmp_path / to_ort.CONFIG), False)
    assert "MatMulNBits" in read["com.microsoft"][1]
    assert "MatMul" in read["ai.onnx"][13]
    assert sum(len(ops) for by in read.values() for ops in by.values()) > 15


def test_counting_an_ort_file_is_refused_with_what_to_export_instead(tmp_path: Path) -> None:
    (tmp_path / "t.ort").write_bytes(b"")
    with pytest.raises(
        GraphError,
        match="ORT format holds no graph that can be counted: export the same with --onnx-format onnx",
    ):
        graph.read(tmp_path / "t.ort", {})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clip", "qwen2", "t5"])
def test_a_bundle_of_ort_files_is_verified_and_runs(name: str, tmp_path: Path, export: Export) -> None:
    source, out = str(tiny.TINY[name](tmp_path / name)), tmp_path / "out"
    parts = ("image", "text") if name == "clip" else ("llm",)
    settings = Settings(
        "towers" if name == "clip" else "llm",
        "int8",
        tuple((p, source) for p in parts),
        max_seq=2048,
        onnx_format="ort",
    )
    manifest = export(settings, out)
    assert all(
        a.path == f"onnx/{a.role}.ort" and a.target == "onnx" and a.parity.status == "passed"
        for a in manifest.artifacts
    )
    config = out / manifest.file("onnx/required_operators.config").path
    assert domains(config.read_text(encoding="utf-8")) <= PORTABLE
    assert str(tmp_path) not in config.read_text(encoding="utf-8")
    assert export(settings, out) == mf.read(out)
    if processor.read().saturates:
        pytest.skip(
            "an ORT file is written for all processors, and this one's byte products saturate: it was "
            "proven by its source graph"
        )
    sources = tuple((part, source) for part in parts)
    again = verify.verify(out, manifest, lambda text: None, sources)
    assert [a.parity.minimum for a in again.artifacts] == [a.parity.minimum for a in manifest.artifacts]
    models = Models.open(out)
    if name == "clip":
        assert models.encode_image(np.zeros((40, 50, 3), np.uint8)).embedding.shape == (manifest.dim,)
    else:
        generated = models.language_model.generate(
            Request(tuple(models.llm_tokenizer.encode("a red boat").ids), 4)
        )
        assert generated.prompt_tokens > 0
        assert name == "t5" or manifest.prefixes
    (out / manifest.artifacts[0].path).write_bytes(b"\x00" * 8)
    with pytest.raises(BundleError, match=r"\.ort"):
        mf.check(out, manifest)
