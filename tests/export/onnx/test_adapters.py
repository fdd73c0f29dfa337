"""LoRA adapters beside the ONNX decoder: switched by the request, equal to the model they are merged into."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")

import torch
import transformers
from click.testing import CliRunner
from safetensors.torch import load_file, save_file

from gamer.export.errors import ExportError
from gamer.export.settings import Settings, parse_adapters
from gamer.runtime.backends import onnx_backend
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle import packed
from gamer.runtime.cli.generate import generate
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.language.chat import Chat, Message, Wish
from gamer.runtime.models.language.llm import LanguageModel, Request
from gamer.runtime.models.models import Models
from tests.export import tiny
from tests.export.conftest import Export

# Of q and v alone, as many adapters are, and of all maps.
SOME, ALL = (
    ("q_proj", "v_proj"),
    ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
)
IDS = tuple(int(n) for n in np.random.default_rng(3).integers(0, 250, 90))


def peft(
    base: Path, folder: Path, names: tuple[str, ...], rank: int = 3, size: float = 0.3, **told: Any
) -> Path:
    """An adapter of a checkpoint in PEFT's layout."""
    generator, tensors = torch.Generator().manual_seed(rank), {}
    for name, weight in load_file(base / "model.safetensors").items():
        module = name.removesuffix(".weight")
        if module.rpartition(".")[2] in names and weight.dim() == 2:
            rows, columns = weight.shape
            for side, shape in (("A", (rank, columns)), ("B", (rows, rank))):
                value = torch.randn(shape, generator=generator) * size
                tensors[f"base_model.model.{module}.lora_{side}.weight"] = value
    folder.mkdir()
    save_file(tensors, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": 2 * rank, "target_modules": list(names)} | told
    (folder / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def merged(base: Path, adapter: Path, scale: float) -> Any:
    """The base of transformers with `scale` · B · A added to its matrices."""
    model = transformers.AutoModelForCausalLM.from_pretrained(base).eval()
    tensors = load_file(adapter / "adapter_model.safetensors")
    with torch.no_grad():
        for name, b in tensors.items():
            if ".lora_B." in name:
                module = model.get_submodule(name.removeprefix("base_model.model.").partition(".lora_")[0])
                module.weight += scale * (b @ tensors[name.replace("lora_B", "lora_A")])
    return model


def logits(model: LanguageModel, adapter: str = "") -> np.ndarray[Any, Any]:
    model.generate(Request(IDS, 1, plain=True, adapter=adapter))
    model.decoder.reset()
    return np.array(model.decoder.rows(model.embed(IDS), None, len(IDS)))


def settings(base: Path, quant: str = "fp32", **adapters: Path) -> Settings:
    pairs = tuple((name, str(folder)) for name, folder in adapters.items())
    return Settings("llm", quant, sources=(("llm", str(base)),), adapters=pairs, max_seq=128)


@pytest.fixture(scope="module")
def made(shared_export: Export, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Path, Path]]:
    """(bundle, base) of a small Qwen2 with the adapters "some" and "all", which lie beside the base."""

    @cache
    def make(quant: str = "fp32") -> tuple[Path, Path]:
        folder = tmp_path_factory.mktemp(quant)
        base = tiny.qwen2(folder / "base")
        # So great that they change what is said, beside a base in 4 bits as great as its errors allow.
        size = 0.1 if quant == "int4" else 0.3
        some = peft(base, folder / "peft-some", SOME, size=size)
        everything = peft(base, folder / "peft-all", ALL, 4, size, use_rslora=True)
        shared_export(settings(base, quant, some=some, all=everything), folder / "out")
        return folder / "out", base

    return make


@pytest.fixture(scope="module")
def bare(
    made: Callable[..., tuple[Path, Path]], shared_export: Export, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The bundle of the base alone."""
    folder = tmp_path_factory.mktemp("bare") / "out"
    shared_export(settings(made()[1]), folder)
    return folder


def test_the_logits_are_those_of_the_merged_model_of_transformers(
    made: Callable[..., tuple[Path, Path]], bare: Path
) -> None:
    out, base = made()
    model = Models.open(out, threads=1).language_model
    plain = logits(model)
    for name, scale in (("some", 2.0), ("all", 2 * 4**0.5 / 1)):
        with torch.no_grad():
            want = merged(base, base.with_name(f"peft-{name}"), scale)(torch.tensor([IDS])).logits[0].numpy()
        got = logits(model, name)
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-4)
        assert np.abs(got - plain).max() > 0.1
    without = logits(model)
    assert np.array_equal(without, plain)
    assert np.array_equal(without, logits(Models.open(bare, threads=1).language_model))


@pytest.mark.parametrize("quant", ["int8", "int4"])
def test_a_quantized_base_takes_them_within_its_parity(
    made: Callable[..., tuple[Path, Path]], quant: str
) -> None:
    artifact = mf.read(made(quant)[0]).artifact("llm_decoder", "onnx")
    assert artifact.quant == quant
    assert {name for name in artifact.parity.outputs if " with " in name} == {
        "logits with some",
        "logits with all",
    }
    assert min(artifact.parity.outputs.values()) > 0.9


def test_core_ml_has_a_function_for_each(
    export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through MLModel, with the MIL interpreter in place of Core ML; the base's weights are stored once."""
    pytest.importorskip("coremltools", reason="needs the export extra")
    from tests.runtime.backends import coreml_double

    base = tiny.qwen2(tmp_path / "base")
    some = peft(base, tmp_path / "some", SOME, size=0.1)
    everything = peft(base, tmp_path / "all", ALL, 4, 0.1)
    for name, adapters in (("out", {"some": some, "all": everything}), ("bare", {})):
        given = replace(settings(base, "fp16", **adapters), coreml_cache="state")
        export(given, tmp_path / name, ("coreml",))
    artifact = mf.read(tmp_path / "out").artifact("llm_decoder", "coreml")
    assert artifact.adapters == ("some", "all")
    assert not list(tmp_path.glob("out/adapters"))
    weights = [
        (tmp_path / name / "coreml/llm_decoder.mlpackage/Data/com.apple.CoreML/weights/weight.bin").stat()
        for name in ("out", "bare")
    ]
    numbers = sum(
        load_file(f / "adapter_model.safetensors")[n].numel()
        for f in (some, everything)
        for n in load_file(f / "adapter_model.safetensors")
    )
    # A map that stacks q, k and v has a matrix with zeros, each of whose parts is its own.
    assert weights[1].st_size < weights[0].st_size < weights[1].st_size + 2 * 3 * numbers
    loaded = coreml_double.install(monkeypatch).loaded
    model = Models.open(tmp_path / "out", backend="coreml", threads=1).language_model
    plain = logits(model)
    for name in ("some", "all"):
        with torch.no_grad():
            want = merged(base, tmp_path / name, 2.0)(torch.tensor([IDS])).logits[0].numpy()
        got = logits(model, name)
        np.testing.assert_allclose(got, want, rtol=0, atol=0.05)
        model.decoder.reset()  # again, 32 tokens at once
        together = model.decoder.forward(model.embed(IDS))[0]
        np.testing.assert_allclose(together, want[-1], rtol=0, atol=0.05)
        assert np.abs(got - plain).max() > 0.1
    assert np.array_equal(logits(model), plain)
    assert [file for file, _ in loaded].count("llm_decoder.mlpackage") == 6  # each function once
    with pytest.raises(RuntimeFailure, match="with --coreml-cache state"):
        Chat(Models.open(tmp_path / "bare", backend="coreml"), "some")


def test_no_cache_of_one_adapter_serves_another(made: Callable[..., tuple[Path, Path]]) -> None:
    """Not the decoder's own, nor a stored one, nor that of the model as it is."""
    out, _ = made()
    model = Models.open(out, threads=1).language_model
    order = ("", "some", "", "all", "some", "some", "all", "")
    want = {name: model.generate(Request(IDS, 12, plain=True, adapter=name)).ids for name in order}
    assert len(set(want.values())) == 3
    model = Models.open(out, threads=1).language_model
    computed = []
    for name in order:
        done = model.generate(Request((*IDS, *want[name][:3]), 9, adapter=name))
        assert done.ids == want[name][3:]
        computed.append(done.computed)
    # What was computed with the same adapter is still there when it comes back.
    assert computed[1] == computed[3] == len(IDS) + 3
    assert max(computed[i] for i in (2, 4, 5, 6, 7)) < len(IDS)
    model.generate(Request(IDS, 1, adapter="all"))
    state = model.state(IDS)
    assert np.array_equal(state, Models.open(out, threads=1).language_model.state(IDS))


def test_the_command_and_the_apps_pack(made: Callable[..., tuple[Path, Path]]) -> None:
    out, _ = made("int8")
    model = Models.open(out)
    said = {name: Chat(model, name).raw("a cat") for name in ("some", "")}
    assert said["some"] == said[""]
    assert Chat(model, "some").name == "local:base:some"
    run = CliRunner().invoke(
        generate, [str(out), "a cat", "--raw", "--adapter", "some", "--max-new", "8", "--json"]
    )
    want = model.language_model.generate(Request(said["some"], 8, adapter="some"))
    assert run.exit_code == 0
    assert json.loads(run.stdout)["text"] == want.text
    run = CliRunner().invoke(generate, [str(out), "a cat", "--raw", "--adapter", "other"])
    assert run.exit_code == 1
    assert "no adapter 'other' for onnx, but some, all" in run.stderr
    manifest = mf.read(out)
    assert list(manifest.adapters) == ["some", "all"]
    assert not packed.chosen(manifest, (), ()).adapters


def test_a_server_s_model_has_its_adapters_behind_a_colon(made: Callable[..., tuple[Path, Path]]) -> None:
    pytest.importorskip("fastapi", reason="needs the serve extra")
    from starlette.testclient import TestClient

    from gamer.runtime.serve.app import create_model_app
    from gamer.runtime.serve.server.settings import ServerSettings

    models = Models.open(made()[0])
    client = TestClient(create_model_app(models, ServerSettings()), base_url="http://127.0.0.1:8765")
    listed = [card["id"] for card in client.get("/v1/models").json()["data"]]
    assert listed == ["local:base", "local:base:some", "local:base:all"]
    asked = {"messages": [{"role": "user", "content": "a cat"}], "max_tokens": 8}
    for name, adapter in zip((*listed, None), ("", "some", "all", ""), strict=True):
        answer = client.post("/v1/chat/completions", json=asked | {"model": name}).json()
        chat = Chat(models, adapter)
        want = chat.generate(chat.ids([Message("user", "a cat")]), Wish(8))
        assert answer["choices"][0]["message"]["content"] == want.text
        assert answer["model"] == chat.name
    refused = client.post("/v1/chat/completions", json=asked | {"model": "local:base:other"})
    assert refused.status_code == 404
    assert "'local:base:all'" in refused.json()["error"]["message"]


def test_genai_activates_the_same_files(export: Export, tmp_path: Path) -> None:
    og = pytest.importorskip("onnxruntime_genai", reason="needs the dev extra")
    base = tiny.qwen2(tmp_path / "base")
    adapter = peft(base, tmp_path / "peft", ALL)
    given = settings(base, style=adapter)
    export(Settings(**{**vars(given), "layout": ("genai",)}), tmp_path / "out")
    model = og.Model(str(tmp_path / "out" / "genai"))
    adapters = og.Adapters(model)
    adapters.load(str(tmp_path / "out" / "adapters" / "style.onnx_adapter"), "style")
    ours = Models.open(tmp_path / "out", threads=1).language_model
    found = []
    for name in ("", "style"):
        parameters = og.GeneratorParams(model)
        parameters.set_search_options(max_length=len(IDS) + 8, do_sample=False)
        generator = og.Generator(model, parameters)
        if name:
            generator.set_active_adapter(adapters, name)
        generator.append_tokens(list(IDS))
        while not generator.is_done():
            generator.generate_next_token()
        found.append(tuple(int(n) for n in generator.get_sequence(0)[len(IDS) :]))
        want = ours.generate(Request(IDS, 8, plain=True, adapter=name)).ids
        assert found[-1][: len(want)] == want
    assert found[0] != found[1]


def changed(folder: Path, **tensors: Any) -> None:
    path = folder / "adapter_model.safetensors"
    kept = {name: value for name, value in load_file(path).items() if name not in tensors}
    new = {name: value for name, value in tensors.items() if value is not None}
    save_file(kept | new, path)


def told(folder: Path, **values: Any) -> None:
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")


Q = "base_model.model.model.layers.0.self_attn.q_proj.lora_"
BAD: dict[str, tuple[Callable[[Path], Any], str]] = {
    "another width": (lambda f: changed(f, **{f"{Q}A.weight": torch.zeros(3, 48)}), "of another base"),
    "more layers": (
        lambda f: changed(f, **{Q.replace(".0.", ".7.") + "A.weight": torch.zeros(3, 64)}),
        "in 2 layers",
    ),
    "other maps": (
        lambda f: changed(f, **{"base_model.model.lm_head.lora_A.weight": torch.zeros(3, 64)}),
        "changes 'lm_head', where an adapter may change q_proj, k_proj",
    ),
    "embeddings": (
        lambda f: changed(f, **{"base_model.model.model.embed_tokens.lora_embedding_A": torch.zeros(3, 320)}),
        "lora_embedding_A",
    ),
    "half": (lambda f: changed(f, **{f"{Q}B.weight": None}), "or not whole"),
    "no rank": (lambda f: changed(f, **{f"{Q}A.weight": torch.zeros(0, 64)}), "of rank 0"),
    "great rank": (
        lambda f: changed(f, **{f"{Q}A.weight": torch.zeros(257, 64), f"{Q}B.weight": torch.zeros(64, 257)}),
        "rank 257, where 1 to 256",
    ),
    "not finite": (lambda f: changed(f, **{f"{Q}A.weight": torch.full((3, 64), torch.nan)}), "not finite"),
    "pickled": (
        lambda f: (f / "adapter_model.safetensors").rename(f / "adapter_model.bin"),
        "only a pickled adapter",
    ),
    "no tensors": (lambda f: (f / "adapter_model.safetensors").unlink(), "no adapter_model.safetensors"),
    "damaged": (lambda f: (f / "adapter_model.safetensors").write_bytes(b"no"), "not a whole safetensors"),
    "no config": (lambda f: (f / "adapter_config.json").unlink(), "no adapter_config.json"),
    "no JSON": (lambda f: (f / "adapter_config.json").write_text("{"), "adapter_config.json"),
    "another kind": (lambda f: told(f, peft_type="IA3"), "peft_type"),
    "DoRA": (lambda f: told(f, use_dora=True), "use_dora: this adapter is more than matrices"),
    "on demand": (
        lambda f: told(f, alora_invocation_tokens=[1]),
        "alora_invocation_tokens: this adapter is more",
    ),
    "biases": (lambda f: told(f, bias="all"), "bias"),
    "patterns": (lambda f: told(f, alpha_pattern={"(a+)+$": 2.0}), "alpha_pattern"),
    "a changed base": (lambda f: told(f, init_lora_weights="pissa_niter_16"), "init_lora_weights"),
    "scale": (lambda f: told(f, lora_alpha=float("inf")), "lora_alpha|JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_adapter_of_this_model_is_refused_in_one_line(
    export: Export, tmp_path: Path, name: str
) -> None:
    base = tiny.qwen2(tmp_path / "base")
    folder = peft(base, tmp_path / "peft", SOME)
    damage, says = BAD[name]
    damage(folder)
    with pytest.raises(ExportError, match=says) as raised:
        export(settings(base, bad=folder), tmp_path / "out")
    assert "\n" not in str(raised.value)
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(
    ("family", "targets", "says"),
    [
        ("t5", ("onnx",), "is for decoders"),
        ("gpt2", ("onnx",), "nothing in this family"),
        ("qwen2", ("coreml",), "as ONNX.*--coreml-cache state"),
    ],
)
def test_models_and_targets_without_adapters_refuse_them(
    export: Export, tmp_path: Path, family: str, targets: tuple[str, ...], says: str
) -> None:
    base = tiny.TINY[family](tmp_path / "base")
    folder = peft(tiny.qwen2(tmp_path / "qwen2"), tmp_path / "peft", SOME)
    with pytest.raises(ExportError, match=says):
        export(settings(base, bad=folder), tmp_path / "out", targets)
    assert not list(tmp_path.glob("out*"))


def test_an_alpha_may_be_a_module_s_own(export: Export, tmp_path: Path) -> None:
    base = tiny.qwen2(tmp_path / "base")
    own = peft(base, tmp_path / "own", ("q_proj",), alpha_pattern={"layers.1.self_attn.q_proj": 0.0})
    all_same = peft(base, tmp_path / "same", ("q_proj",))
    export(settings(base, own=own, same=all_same), tmp_path / "out")
    values = [
        onnx_backend.read_adapter(
            tmp_path / f"out/adapters/{name}.onnx_adapter",
            Models.open(tmp_path / "out").session("llm_decoder"),
        )
        for name in ("own", "same")
    ]
    assert not values[0]["layers.1.qkv.lora_b"].any()
    assert values[1]["layers.1.qkv.lora_b"].any()
    assert np.array_equal(values[0]["layers.0.qkv.lora_b"], values[1]["layers.0.qkv.lora_b"])


def test_a_file_that_fits_no_decoder_is_refused_when_it_is_read(
    made: Callable[..., tuple[Path, Path]], bare: Path, tmp_path: Path
) -> None:
    out, _ = made()
    session = Models.open(out).session("llm_decoder")
    (tmp_path / "no.onnx_adapter").write_bytes(b"no adapter")
    with pytest.raises(RuntimeFailure, match="not an adapter"):
        onnx_backend.read_adapter(tmp_path / "no.onnx_adapter", session)
    whole = onnx_backend.read_adapter(out / "adapters/some.onnx_adapter", session)
    half = onnxruntime.AdapterFormat()
    ups = {name: value for name, value in whole.items() if name.endswith(".lora_a")}
    half.set_parameters(
        {name: onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in ups.items()}
    )
    half.export_adapter(str(tmp_path / "half.onnx_adapter"))
    with pytest.raises(RuntimeFailure, match=r"^half.onnx_adapter: .* has no other half of its rank"):
        onnx_backend.read_adapter(tmp_path / "half.onnx_adapter", session)
    with pytest.raises(RuntimeFailure, match="it is of another"):
        onnx_backend.read_adapter(
            out / "adapters/some.onnx_adapter", Models.open(bare).session("llm_decoder")
        )
    with pytest.raises(RuntimeFailure, match="for onnx, but none"):
        Chat(Models.open(bare), "some")


@pytest.mark.parametrize("items", [("a",), ("=d",), ("a/b=d",), ("..=d",), ("a=d", "a=e"), ("é=d",)])
def test_names_are_plain(items: tuple[str, ...]) -> None:
    with pytest.raises(ExportError, match="--adapter"):
        parse_adapters(items)
