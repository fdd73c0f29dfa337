"""The Core ML backend: names, numbers, refusals, and the whole engine through it, with the MIL interpreter
in place of Core ML.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gamer.runtime import backends
from gamer.runtime.backends import Array, coreml_backend, open_session
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle.manifest import Artifact, Parity, TensorSpec
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.language.kv_cache import StateSession
from gamer.runtime.models.models import Models
from tests.paths import GOLDEN

NOW = datetime(2026, 11, 21)


def artifact(
    role: str,
    inputs: dict[str, tuple[Any, str]],
    outputs: dict[str, tuple[Any, str]],
    path: str = "a.mlpackage",
) -> Artifact:
    input_specs, output_specs = (
        tuple(TensorSpec(n, shape, dtype) for n, (shape, dtype) in side.items()) for side in (inputs, outputs)
    )
    return Artifact(role, "coreml", "fp16", path, 0, "", input_specs, output_specs, Parity("", "", 0.0), 0.0)


def step(inputs: list[str], outputs: list[str]) -> Artifact:
    return artifact(
        "llm_decoder", dict.fromkeys(inputs, ((1,), "float32")), dict.fromkeys(outputs, ((1,), "float16"))
    )


def names(item: Artifact) -> tuple[list[str], list[str]]:
    return [t.name for t in item.inputs], [t.name for t in item.outputs]


PAST, CROSS = ([f"{kind}_{x}.{n}" for n in (0, 1) for x in "kv"] for kind in ("past", "cross"))
FRESH = ["logits", "hidden", "k_0", "v_0", "k_1", "v_1"]


ROTATED = ["embeds", "cos", "sin", "place", "mask"]
LEARNED = ["embeds", "place", "mask"]
LOCAL = [*ROTATED, "cos_local", "sin_local", "mask_local"]
RELATIVE = [*LEARNED, "buckets", "cross_mask"]


@pytest.mark.parametrize("head", [LEARNED, ROTATED, LOCAL, RELATIVE])
@pytest.mark.parametrize("states", [False, True])
def test_the_tensors_of_a_step_get_the_names_of_the_other_backends(head: list[str], states: bool) -> None:
    """Whatever the program calls them: by position, with the cache as inputs or in states."""
    wanted = [*head, *([] if states else PAST), *(CROSS if head is RELATIVE else [])]
    renamed = coreml_backend.shared_names(
        step([f"given_{n}" for n in range(len(wanted))], FRESH[:2] if states else FRESH)
    )
    assert names(renamed) == (
        wanted,
        ["logits", "hidden"] if states else ["logits", "hidden", "k.0", "v.0", "k.1", "v.1"],
    )


@pytest.mark.parametrize(
    ("inputs", "fresh"),
    [(6, FRESH), (8, FRESH), (11, FRESH), (14, FRESH), (4, FRESH[:2]), (6, FRESH[:2]), (0, FRESH)],
)
def test_a_step_that_fits_no_decoder_is_refused(inputs: int, fresh: list[str]) -> None:
    with pytest.raises(RuntimeFailure, match=f"{inputs} inputs, .*: no decoder's step"):
        coreml_backend.shared_names(step([f"rest_{n}" for n in range(inputs)], fresh))


class Fixed:
    """A program without states that stores its inputs and always gives the same result."""

    functions = (coreml_backend.MAIN,)

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        self.seen = inputs
        return {"embeds": np.ones((1, 4), np.float32)}

    def run_function(self, name: str, inputs: dict[str, Array]) -> dict[str, Array]:
        return self.run(inputs)

    def reset(self) -> None: ...

    def states(self) -> dict[str, Array]:
        return {}

    def set_states(self, values: dict[str, Array]) -> None: ...


def test_numbers_are_cast_to_what_the_program_declares() -> None:
    """The drivers' token ids have 64 bits; results may come in a wider type than they were computed in."""
    program = Fixed()
    session = coreml_backend.shared(
        program, artifact("llm_embed", {"ids": ((1,), "int32")}, {"embeds": ((1, 4), "float16")})
    )
    assert session.run({"ids": np.array([7], np.int64)})["embeds"].dtype == np.float16
    assert program.seen["ids"].dtype == np.int32
    assert program.seen["ids"].tolist() == [7]
    turned = coreml_backend.shared(
        program, artifact("text_tower", {"x": ((4, 2), "float32")}, {"embeds": ((1, 4), "float16")})
    )
    turned.run({"x": np.zeros((2, 4), np.float64).T})
    assert program.seen["x"].flags.c_contiguous
    assert program.seen["x"].dtype == np.float32
    assert not isinstance(session, StateSession)


@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has Core ML")
@pytest.mark.parametrize("backend", ["coreml", "coreml:cpu_and_ne"])
def test_other_systems_refuse_the_core_ml_backend_in_one_line(backend: str, tmp_path: Path) -> None:
    for refused in (
        lambda: Models.open(tmp_path, backend),
        lambda: open_session(backend, tmp_path, step(["embeds"], FRESH[:2]), 1),
    ):
        with pytest.raises(
            RuntimeFailure, match=r"^the coreml backend runs on macOS alone, this is \w+: use --backend onnx$"
        ):
            refused()


@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has Core ML")
def test_the_search_command_refuses_the_core_ml_backend_in_one_line(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from gamer.runtime.cli.search import search

    album = GOLDEN / "album_v3.gamer"
    done = CliRunner().invoke(search, [str(album), "cat", "-b", str(tmp_path), "--backend", "coreml"])
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert "macOS alone" in done.stderr


@pytest.mark.parametrize("backend", ["coreml:gpu", "onnx:all", "coreml:", "", "core"])
def test_unknown_backends_and_units_are_listed(backend: str) -> None:
    with pytest.raises(RuntimeFailure, match="choose one of") as caught:
        backends.split(backend)
    listed = str(caught.value).partition("choose one of: ")[2].split(", ")
    assert listed == [
        "onnx",
        "executorch",
        "coreml",
        "onnx:fused",
        "onnx:unfused",
        "coreml:all",
        "coreml:cpu_only",
        "coreml:cpu_and_gpu",
        "coreml:cpu_and_ne",
    ]


def test_a_mac_without_coremltools_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(backends.PLATFORMS, "coreml", (sys.platform, "this system"))
    monkeypatch.setitem(sys.modules, "coremltools", None)
    with pytest.raises(RuntimeFailure, match=r"needs coremltools: .* -m pip install -e .*\[coreml\]"):
        open_session("coreml", Path("a.mlpackage"), step(["embeds"], FRESH[:2]), 1)


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> Any:
    """This system with the interpreter for Core ML."""
    pytest.importorskip("torch", reason="needs the export extra")
    pytest.importorskip("coremltools", reason="needs the export extra")
    from tests.runtime.backends import coreml_double

    return coreml_double.install(monkeypatch)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Artifact]:
    """A token table of 80 rows, as the exporter writes it."""
    pytest.importorskip("coremltools", reason="needs the export extra")
    from gamer.export.components import decoders
    from tests.export.tiny_llms import tiny

    _, config, weights = tiny("llama", 1)
    return written(decoders.embed(config, weights, "fp32"), "fp16", None, tmp_path_factory.mktemp("table"))


def written(
    item: Any, quant: str, language: Any, folder: Path, cache: str = "tensors"
) -> tuple[Path, Artifact]:
    from gamer.export.coreml import to_coreml
    from gamer.export.target_options import TargetOptions

    path = folder / f"{item.role}.mlpackage"
    inputs, outputs = to_coreml.write(item, quant, language, [], path, TargetOptions(cache=cache))
    return path, Artifact(
        item.role, "coreml", quant, path.name, 0, "", inputs, outputs, Parity("", "", 0.0), 0.0
    )


@pytest.mark.slow
@pytest.mark.parametrize("half", [np.float16, np.float32])
def test_a_package_runs_on_the_compute_units_that_were_chosen(
    mac: Any, package: tuple[Path, Artifact], half: Any
) -> None:
    mac.half_out = half
    for units in ("all", "cpu_only", "cpu_and_gpu", "cpu_and_ne"):
        session = open_session(f"coreml:{units}", *package, 1)
        assert mac.loaded[-1] == ("llm_embed.mlpackage", units.upper())
    open_session("coreml", *package, 1)
    assert mac.loaded[-1] == ("llm_embed.mlpackage", "ALL")
    one, two = (session.run({"ids": np.array([n], np.int64)})["embeds"] for n in (3, 4))
    assert one.shape == (1, 64)
    assert one.dtype == np.float16
    assert not np.array_equal(one, two)


@pytest.mark.slow
def test_what_core_ml_refuses_is_reported_in_one_line(
    mac: Any, package: tuple[Path, Artifact], tmp_path: Path
) -> None:
    session = open_session("coreml:cpu_and_ne", *package, 1)
    with pytest.raises(
        RuntimeFailure,
        match=r"on cpu_and_ne: Core ML fails \(MultiArray shape \(2,\) .*: try --backend coreml:cpu_only$",
    ):
        session.run({"ids": np.array([1, 2])})
    renamed = replace(package[1], inputs=(TensorSpec("tokens", (1,), "int32"),))
    with pytest.raises(RuntimeFailure, match=r'on all: Core ML fails \(.*Provided key \\?"tokens\\?"'):
        open_session("coreml", package[0], renamed, 1).run({"tokens": np.array([1])})
    mac.refuses = "Error compiling model: no such operation\nand more lines"
    refusal = pytest.raises(
        RuntimeFailure, match=r"llm_embed.mlpackage: Core ML refuses it \(.*\): export again$"
    )
    with (
        pytest.warns(RuntimeWarning, match="no such operation"),
        refusal,
    ):  # coremltools warns of a model that does not load
        open_session("coreml", *package, 1)
    for text in (b"", b"\xff" * 64):
        (tmp_path / "no.mlpackage").write_bytes(text)
        with pytest.raises(RuntimeFailure, match=r"no.mlpackage: Core ML refuses it \(") as caught:
            open_session("coreml", tmp_path / "no.mlpackage", package[1], 1)
        assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "cache"), [("gemma3", "tensors"), ("gpt2", "state"), ("flan-t5", "tensors")]
)
def test_every_family_decodes_as_torch_does(mac: Any, family: str, cache: str, tmp_path: Path) -> None:
    """Names by position, fp16 results, the cache stored here or in Core ML's states; a T5's encoder beside
    its decoder.
    """
    from gamer.export.components import decoders
    from gamer.export.coreml.stateful import inputs_of, outputs_of
    from gamer.export.parity import measure
    from gamer.runtime.models.language.decoder import EncoderDecoder, StepDecoder, open_decoder
    from tests.export.tiny_llms import SLOTS, ids, tiny, torch_decoder, torch_session

    _, config, weights = tiny(family, 2)
    language, items = decoders.language(config, SLOTS), [decoders.decoder(config, weights, SLOTS)]
    if family == "flan-t5":
        items.append(decoders.encoder(config, weights, SLOTS))
    sessions = [
        open_session("coreml", *written(item, "fp16", language, tmp_path, cache), 1) for item in items
    ]
    for session, item in zip(sessions, items, strict=True):
        sides = (item.inputs, item.outputs) if cache == "tensors" else (inputs_of(item), outputs_of(item))
        assert names(session.artifact) == tuple([t.name for t in side] for side in sides)
    assert isinstance(sessions[0], StateSession) == (cache == "state")
    table = np.asarray(decoders.embed(config, weights, "fp32").module.get_buffer("rows").numpy())
    decoder, plain = open_decoder(sessions[0], language, *sessions[1:]), torch_decoder(items[0], language)
    if isinstance(decoder, EncoderDecoder):
        reference = EncoderDecoder(torch_session(items[1]), plain, language)
        assert measure.cosines(decoder.read(table[ids(13)]), reference.read(table[ids(13)])).min() > 0.999
    else:
        assert isinstance(decoder, StepDecoder)
    got, want = decoder.forward(table[ids(9)]), plain.forward(table[ids(9)])
    assert measure.cosines(got[1], want[1]).min() > 0.999
    assert np.argmax(got[0]) == np.argmax(want[0])
    assert got[0].dtype == np.float32
    saved = decoder.keep()
    after = decoder.forward(table[[5]])[0].copy()
    decoder.forward(table[[6]])
    decoder.restore(saved)
    np.testing.assert_array_equal(decoder.forward(table[[5]])[0], after)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A tiny language model's bundle as a Mac exports it, and the settings it was exported with."""
    pytest.importorskip("coremltools", reason="needs the export extra")
    from gamer.export.bundle import write as bundle
    from gamer.export.settings import Settings
    from tests.export import tiny
    from tests.runtime.backends import coreml_double

    folder = tmp_path_factory.mktemp("exported")
    settings = Settings("llm", "int8", (("llm", str(tiny.qwen2(folder / "qwen2"))),))
    with pytest.MonkeyPatch.context() as patched:
        coreml_double.install(patched)
        patched.setattr(bundle, "_run", lambda tasks, jobs, report: [bundle.run_task(task) for task in tasks])
        bundle.export(settings, ("coreml",), folder / "out", 1, lambda text, artifact: None)
    return folder / "out", settings


@pytest.mark.slow
def test_on_a_mac_export_and_verify_measure_core_ml_and_the_interpreter(
    mac: Any, exported: tuple[Path, Any]
) -> None:
    """Where there is a Core ML, `gamer export` and `gamer verify` hold both it and the interpreter to the
    threshold.
    """
    from gamer.export.cli import parity_text
    from gamer.export.errors import ExportError
    from gamer.export.parity import verify

    folder, settings = exported
    manifest = mf.read(folder)
    for artifact in manifest.artifacts:
        assert artifact.parity.executed_by.startswith("Core ML; MIL interpreter cosine ≥ 0.9")
        assert "Core ML; MIL interpreter" in parity_text(artifact.parity)
    again = verify.verify(folder, manifest, lambda text: None, settings.sources)
    assert [a.parity for a in again.artifacts] == [a.parity for a in manifest.artifacts]
    assert mac.loaded
    mac.disturbed = 0.5  # the interpreter alone would pass
    with pytest.raises(ExportError, match="for coreml"):
        verify.verify(folder, manifest, lambda text: None, settings.sources)
    mac.refuses = "Error compiling model"
    with pytest.warns(RuntimeWarning), pytest.raises(RuntimeFailure, match="Core ML refuses it"):
        verify.verify(folder, manifest, lambda text: None, settings.sources)


@pytest.mark.slow
def test_a_prefix_is_written_and_used_only_where_core_ml_runs(
    mac: Any, exported: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gamer.export.bundle import prefixes
    from gamer.runtime.models.language.llm import Request

    folder = tmp_path / "out"
    shutil.copytree(exported[0], folder)
    manifest = replace(mf.read(folder), prompts={"refine": "Say: {query}."})
    stored = prefixes.write(folder, manifest)
    assert [(p.prompt, p.target) for p in stored] == [("refine", "coreml")]
    models = Models(folder, replace(manifest, prefixes=stored), "coreml:cpu_only", 1)
    ids, prefix = models.prompt("refine", "my cat"), models.prefix("refine")
    assert prefix is not None
    assert prefix.ids == ids[: stored[0].tokens]
    assert len(prefix.ids) > 4
    lm = models.language_model
    with_it, without = (lm.generate(Request(ids, 6, plain=plain)) for plain in (False, True))
    assert with_it.ids == without.ids
    assert with_it.computed == without.computed - len(prefix.ids)
    monkeypatch.setitem(backends.PLATFORMS, "coreml", ("another", "another system"))
    assert prefixes.write(folder, manifest) == ()


@pytest.mark.slow
def test_bench_latency_measures_the_core_ml_backend(
    mac: Any, exported: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from gamer.bench.cli.cost import latency
    from gamer.bench.latency import launch

    monkeypatch.setattr(launch, "_start", launch.run)  # in this process, where the double of Core ML is
    done = CliRunner().invoke(
        latency, ["-b", str(exported[0]), "--backend", "coreml:cpu_only", "-r", "1", "-w", "0", "--json"]
    )
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["backend"] == "coreml:cpu_only"
    assert {m["role"] for m in result["models"]} == {
        "llm_embed",
        "llm_decoder",
    }
    assert {row["step"] for row in result["rows"]} >= {
        "llm_embed",
        "llm_prefill",
        "llm_decode",
    }
    assert mac.loaded[-1][1] == "CPU_ONLY"


@pytest.fixture
def pocket(mac: Any, bundle: Path) -> tuple[Models, Models]:
    """The pocket bundle through Core ML's stand-in, and on ONNX Runtime."""
    ours = Models.open(bundle, "coreml:cpu_and_ne")
    if not any(a.target == "coreml" for a in ours.manifest.artifacts):
        pytest.skip("the bundle was not exported for coreml")
    return ours, Models.open(bundle)


def cosine(a: Array, b: Array) -> float:
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


@pytest.mark.slow
def test_photos_are_encoded_and_found_through_core_ml_as_on_onnx(
    mac: Any, pocket: tuple[Models, Models], bundle: Path, sample_album: Path, tmp_path: Path
) -> None:
    """Towers and experts photo by photo; searches of the sample album; an album built through the backend.
    Both sides are int8, computed differently.
    """
    from gamer.index import load_pixels
    from gamer.runtime.indexing.build import build
    from gamer.runtime.search.engine import Engine

    ours, _ = pocket
    engines = [Engine.over(models, sample_album) for models in pocket]
    wanted = ("coffee", "chelsea", "rocket")
    photos = {hit.id: hit.path for hit in engines[1].search("a photo", 19, now=NOW).hits if hit.id in wanted}
    for path in photos.values():
        seen, there = (models.encode_image(load_pixels(Path(str(path)))) for models in pocket)
        assert cosine(seen.embedding, there.embedding) > 0.97
        assert seen.labels[0][0] == there.labels[0][0]
        assert seen.embedding.dtype == seen.patches.dtype == np.float32
        # The experts of both get the same patches: routing must not depend on how the tower was quantized.
        mine, theirs = (models.project(there.patches) for models in pocket)
        assert mine.experts == theirs.experts
        assert mine.macs_saved == theirs.macs_saved
        assert cosine(mine.prompts, theirs.prompts) > 0.98
    for query in (
        "coffee I photographed last spring",
        "my cat",
        "rocket launch in Florida last summer",
        "Roman coins",
    ):
        one, other = (engine.search(query, now=NOW) for engine in engines)
        assert one.hits[0].id == other.hits[0].id
        assert len({h.id for h in one.hits} & {h.id for h in other.hits}) >= 4
        assert one.presence == pytest.approx(other.presence, abs=0.1)
    assert one.trace.models.startswith("coreml:cpu_and_ne, its own threads")
    rows = [{"id": f"p{n}", "path": path} for n, path in enumerate(photos.values())]
    (tmp_path / "bare.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    assert build(tmp_path / "bare.jsonl", ours, tmp_path / "bare.gamer").seen == 3
    best = Engine.over(ours, tmp_path / "bare.gamer").search("a cup of coffee").hits[0]
    assert list(photos)[int(best.id[1:])] == "coffee"
    assert {units for _, units in mac.loaded} == {"CPU_AND_NE"}


@pytest.mark.slow
def test_the_language_model_answers_through_core_ml_as_on_onnx(pocket: tuple[Models, Models]) -> None:
    """Decoder with its cache, and a prefix computed by the backend itself: int8 weights here, 4-bit layers on
    ONNX.
    """
    from gamer.runtime.models.language.llm import Request

    ours, onnx = pocket
    ids = tuple(onnx.llm_tokenizer.encode("The capital of France is Paris. The capital of Italy is").ids)
    states, answers = [], []
    for models in pocket:
        lm = models.language_model
        lm.decoder.reset()
        logits, hidden = lm.decoder.forward(lm.embed(ids))
        states.append((logits.copy(), hidden.copy()))
        answers.append(lm.generate(Request(ids, 4)))
    assert answers[0].text == answers[1].text
    assert "Rome" in answers[0].text
    assert cosine(states[0][1], states[1][1]) > 0.95
    assert np.corrcoef(states[0][0], states[1][0])[0, 1] > 0.95
    lm = ours.language_model
    lm.reuse.forget()
    lm.generate(Request(ids[:8], 1))
    again = lm.generate(Request(ids, 4))
    assert again.ids == answers[0].ids
    assert again.computed == len(ids) - 8
