"""Every family of decoders compared with transformers' own model: the torch step and the ONNX graph, with the
prompt at once and token by token.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from gamer.export.checkpoints.weights import RandomWeights
from gamer.export.components import decoders
from gamer.export.errors import ExportError
from gamer.export.onnx import llm_graph
from gamer.export.onnx.graph import Scheme
from gamer.export.parity import measure
from gamer.index.records import FloatArray
from gamer.runtime.backends import open_session
from gamer.runtime.bundle.manifest import Language
from gamer.runtime.models.language.decoder import BoundDecoder, open_decoder
from tests.export.tiny_llms import (
    FAMILIES,
    SLOTS,
    DictWeights,
    artifact,
    ids,
    on_the_grid,
    tiny,
    torch_decoder,
)

DECODERS = [family for family in FAMILIES if "t5" not in family]
TOKENS = ids(20)
SCHEMES = [
    (Scheme("fp16"), 0.99999),
    (Scheme("int8"), 0.995),
    (Scheme("int4"), 0.995),
    (Scheme("int4", 16, (("head", "int4"),)), 0.99),
]


def reference(family: str) -> tuple[FloatArray, FloatArray, dict[str, Any], DictWeights]:
    """(logits [S, V], hidden states [S, H]) of transformers' model on TOKENS; configuration and weights."""
    model, config, weights = tiny(family)
    with torch.no_grad():
        out = model(torch.tensor([TOKENS]), output_hidden_states=True)
    return out.logits[0].numpy(), out.hidden_states[-1][0].numpy(), config, weights


def rows(config: dict[str, Any], weights: DictWeights) -> FloatArray:
    return np.asarray(decoders.embed(config, weights, "fp32").module.get_buffer("rows").numpy()[TOKENS])


def bound(item: Any, language: Language, scheme: Scheme, path: Path) -> BoundDecoder:
    inputs, outputs = llm_graph.write(item.module, language, scheme, path)
    decoder = open_decoder(open_session("onnx", path, artifact(item.role, inputs, outputs), 1), language)
    assert isinstance(decoder, BoundDecoder)
    return decoder


@pytest.mark.parametrize("family", DECODERS)
def test_the_torch_step_gives_the_states_of_transformers(family: str) -> None:
    logits, hidden, config, weights = reference(family)
    language = decoders.language(config, SLOTS)
    decoder = torch_decoder(decoders.decoder(config, weights, SLOTS), language)
    got, states = decoder.forward(rows(config, weights))
    np.testing.assert_allclose(got, logits[-1], atol=1e-4)
    np.testing.assert_allclose(states, hidden, atol=1e-4)


@pytest.mark.parametrize("family", DECODERS)
def test_the_onnx_graph_gives_the_states_of_transformers(family: str, tmp_path: Path) -> None:
    logits, hidden, config, weights = reference(family)
    language = decoders.language(config, SLOTS)
    decoder = bound(decoders.decoder(config, weights, SLOTS), language, Scheme("fp32"), tmp_path / "d.onnx")
    embeds = rows(config, weights)
    np.testing.assert_allclose(decoder.rows(embeds, None, len(embeds)), logits, atol=2e-4)
    decoder.reset()
    np.testing.assert_allclose(decoder.forward(embeds)[1], hidden, atol=1e-4)
    np.testing.assert_allclose(measure.teacher_force(decoder, embeds)[0], hidden, atol=1e-4)
    decoder.reset()
    parts = [decoder.forward(embeds[at : at + 7])[1].copy() for at in range(0, len(embeds), 7)]
    np.testing.assert_allclose(np.concatenate(parts), hidden, atol=1e-4)


@pytest.mark.parametrize("family", DECODERS)
@pytest.mark.parametrize(("scheme", "least"), SCHEMES)
def test_quantized_graphs_stay_close_to_the_torch_step(
    family: str, scheme: Scheme, least: float, tmp_path: Path
) -> None:
    """For int4 the weights lie on its grid, so that the error comes from the 8-bit activations. The grid
    itself is tested with the block codes.
    """
    _, _, config, weights = reference(family)
    language = decoders.language(config, SLOTS)
    item = decoders.decoder(config, weights, SLOTS)
    if scheme.quant == "int4":
        on_the_grid(item.module, scheme.group)
    embeds = rows(config, weights)
    want, _ = measure.teacher_force(torch_decoder(item, language), embeds)
    decoder = bound(item, language, scheme, tmp_path / "d.onnx")
    assert measure.cosines(decoder.forward(embeds)[1], want).min() >= least
    assert measure.cosines(measure.teacher_force(decoder, embeds)[0], want).min() >= least


@pytest.mark.parametrize(
    ("family", "left_out"),
    [
        ("gemma3", {"sliding_window": 64}),
        ("gemma3", {"rope_local_base_freq": 1e6, "rope_parameters": {"full_attention": {"rope_theta": 1e6}}}),
        ("gemma3", {"query_pre_attn_scalar": 32}),
        ("gpt2", {"scale_attn_weights": False}),
        ("llama", {"rope_parameters": {"rope_theta": 1e4}}),
    ],
)
def test_changing_what_is_special_to_a_family_changes_the_states(
    family: str, left_out: dict[str, Any]
) -> None:
    """The comparisons above would notice an omission: with one of these changed, the states differ."""
    _, hidden, config, weights = reference(family)
    changed = config | left_out
    decoder = torch_decoder(decoders.decoder(changed, weights, SLOTS), decoders.language(changed, SLOTS))
    assert np.abs(decoder.forward(rows(config, weights))[1] - hidden).max() > 0.01


@pytest.mark.parametrize(
    ("family", "parts"),
    [
        ("gemma3", ("q_norm", "k_norm")),
        ("qwen3", ("q_norm",)),
        ("gemma3", ("post_feedforward_layernorm",)),
        ("qwen2", ("q_proj.bias",)),
        ("gpt2", ("wpe",)),
        ("gpt2", ("ln_1.bias",)),
    ],
)
def test_zeroing_a_stored_vector_changes_the_states(family: str, parts: tuple[str, ...]) -> None:
    _, hidden, config, weights = reference(family)
    flat = DictWeights(
        {n: torch.zeros_like(t) if any(p in n for p in parts) else t for n, t in weights.state.items()}
    )
    decoder = torch_decoder(decoders.decoder(config, flat, SLOTS), decoders.language(config, SLOTS))
    assert np.abs(decoder.forward(rows(config, weights))[1] - hidden).max() > 0.01


def test_gemmas_scale_is_in_the_table_and_not_in_the_tied_head() -> None:
    _, config, weights = tiny("gemma3")
    stored = weights.get("model.embed_tokens.weight", 80, 64)
    assert torch.equal(decoders.embed(config, weights, "fp32").module.get_buffer("rows"), stored * 8.0)
    assert torch.equal(decoders.decoder(config, weights, SLOTS).module.head.weight, stored)


@pytest.mark.parametrize(
    ("quant", "kind", "off"),
    [("fp32", torch.float32, 0.0), ("fp16", torch.float16, 5e-4), ("int4", torch.int8, 4e-3)],
)
def test_the_token_table_is_stored_in_the_type_of_its_quantization(quant: str, kind: Any, off: float) -> None:
    _, config, weights = tiny("llama")
    table, stored = (
        decoders.embed(config, weights, quant).module,
        weights.get("model.embed_tokens.weight", 80, 64),
    )
    got = table(torch.tensor([3, 3, 70]))
    assert table.get_buffer("rows").dtype == kind
    assert got.dtype == torch.float32
    assert (got - stored[[3, 3, 70]]).abs().max() <= off * stored.abs().max()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "mamba"}, "'mamba' is not supported; supported are: llama"),
        ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5}}, "rope scaling 'llama3'"),
        (
            {"rope_parameters": None, "rope_scaling": {"type": "linear", "factor": 4.0}},
            "rope scaling 'linear'",
        ),
        ({"hidden_act": "xielu"}, "activation 'xielu'"),
        ({"mlp_bias": True}, "mlp_bias True"),
        ({"num_hidden_layers": None}, "no num_hidden_layers"),
        ({"num_hidden_layers": 0}, "num_hidden_layers: must be a whole number from 1 to 512, not 0"),
        (
            {"num_hidden_layers": 10**7},
            "num_hidden_layers: .* from 1 to 512, not 10000000",
        ),
        ({"num_attention_heads": -2}, "num_attention_heads: must be a whole number from 1 to 512, not -2"),
        ({"intermediate_size": 2**40}, "intermediate_size: .* to 1048576, not 1099511627776"),
        ({"vocab_size": 80.5}, "vocab_size: must be a whole number .*, not 80.5"),
        ({"hidden_size": float("nan")}, "hidden_size: must be a whole number .*, not nan"),
        ({"num_key_value_heads": 3}, "do not fit together"),
        ({"hidden_size": "wide"}, "hidden_size: must be a whole number .*, not 'wide'"),
        ({"rope_parameters": [1]}, "cannot be read"),
    ],
)
def test_an_unsupported_configuration_is_named_in_the_error(change: dict[str, Any], message: str) -> None:
    _, config, weights = tiny("llama")
    with pytest.raises(ExportError, match=message):
        decoders.decoder(config | change, weights, SLOTS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layer_types": ["full_attention"]}, "do not fit together"),
        ({"sliding_window": None}, "no sliding_window"),
    ],
)
def test_an_impossible_attention_window_is_named_in_the_error(change: dict[str, Any], message: str) -> None:
    _, config, weights = tiny("gemma3")
    with pytest.raises(ExportError, match=message):
        decoders.decoder(config | change, weights, SLOTS)


def test_gpt2_is_refused_more_positions_than_it_learned() -> None:
    _, config, weights = tiny("gpt2")
    with pytest.raises(ExportError, match="64 positions are wanted, the model has learned 48"):
        decoders.decoder(config, weights, 64)


@pytest.mark.parametrize(
    ("scheme", "message"), [(("int4", 128), "64 columns must be a multiple of group size 128")]
)
def test_a_group_size_that_does_not_fit_is_named_and_no_file_written(
    scheme: tuple[str, int], message: str, tmp_path: Path
) -> None:
    _, config, weights = tiny("llama")
    item = decoders.decoder(config, weights, SLOTS)
    with pytest.raises(ExportError, match=message):
        llm_graph.write(item.module, decoders.language(config, SLOTS), Scheme(*scheme), tmp_path / "d.onnx")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ExportError, match="choose one of"):
        Scheme("int3")
    with pytest.raises(ExportError, match="group size 20"):
        Scheme("int4", 20)


def test_large_weights_are_written_beside_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights too large for one file are written into a directory, and the answers stay the same."""
    from gamer.export.onnx import graph

    _, hidden, config, weights = reference("qwen2")
    language = decoders.language(config, SLOTS)
    monkeypatch.setattr(graph, "MAX_EMBEDDED_BYTES", 0)
    path = tmp_path / "llm_decoder.onnx"
    decoder = bound(decoders.decoder(config, weights, SLOTS), language, Scheme("fp32"), path)
    assert sorted(p.name for p in path.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert (path / "model.onnx").stat().st_size < (path / "model.onnx.data").stat().st_size / 5
    np.testing.assert_allclose(decoder.forward(rows(config, weights))[1], hidden, atol=1e-4)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_sizes_computed_without_weights_match_the_modules(family: str) -> None:
    _, config, weights = tiny(family)
    sizes = {size.role: size for size in decoders.shapes(config, SLOTS)}
    modules = [decoders.decoder(config, weights, SLOTS), decoders.embed(config, weights, "fp32")]
    modules += [decoders.encoder(config, weights, SLOTS)] if "t5" in family else []
    for item in modules:
        described = item.describe()
        assert (sizes[item.role].parameters, sizes[item.role].macs) == (described.parameters, described.macs)
    assert len(sizes) == len(modules)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_random_weights_give_every_family_finite_outputs(family: str) -> None:
    _, config, _ = tiny(family)
    item = decoders.decoder(config, RandomWeights(3), SLOTS)
    assert not item.trained
    assert item.source == "random:3"
    assert all(torch.isfinite(out).all() for out in item.module(*item.example))
