"""T5 compared with transformers' own model: encoder, cross-attention, relative positions, and the tokens that
the language model generates.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from gamer.export.components import decoders
from gamer.export.errors import ExportError
from gamer.export.onnx import llm_graph
from gamer.export.onnx.graph import Scheme
from gamer.export.parity import measure
from gamer.index.records import FloatArray
from gamer.runtime.backends import open_session
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.language.decoder import BoundDecoder, EncoderDecoder, open_decoder, relative_buckets
from gamer.runtime.models.language.llm import LanguageModel, Request
from tests.export.tiny_llms import (
    SLOTS,
    DictWeights,
    Table,
    artifact,
    ids,
    on_the_grid,
    tiny,
    torch_decoder,
    torch_session,
)

PROMPT, ANSWER = ids(23), ids(20)
FAMILIES = ("t5", "flan-t5")


@lru_cache(maxsize=2)
def reference(family: str) -> tuple[Any, dict[str, Any], DictWeights, FloatArray]:
    """transformers' results for PROMPT and ANSWER, configuration, weights, the token table."""
    model, config, weights = tiny(family)
    with torch.no_grad():
        out = model(
            input_ids=torch.tensor([PROMPT]),
            decoder_input_ids=torch.tensor([ANSWER]),
            output_hidden_states=True,
        )
    return (
        out,
        config,
        weights,
        np.asarray(decoders.embed(config, weights, "fp32").module.get_buffer("rows").numpy()),
    )


def through_torch(family: str) -> EncoderDecoder:
    _, config, weights, _ = reference(family)
    language = decoders.language(config, SLOTS)
    step = torch_decoder(decoders.decoder(config, weights, SLOTS), language)
    return EncoderDecoder(torch_session(decoders.encoder(config, weights, SLOTS)), step, language)


def through_onnx(
    config: dict[str, Any], items: tuple[Any, Any], scheme: Scheme, folder: Path
) -> EncoderDecoder:
    language, sessions = decoders.language(config, SLOTS), []
    for item in items:
        path = folder / f"{item.role}.onnx"
        inputs, outputs = llm_graph.write(item.module, language, scheme, path)
        sessions.append(open_session("onnx", path, artifact(item.role, inputs, outputs), 1))
    decoder = open_decoder(sessions[0], language, sessions[1])
    assert isinstance(decoder, EncoderDecoder)
    return decoder


def items(family: str) -> tuple[Any, Any]:
    _, config, weights, _ = reference(family)
    return decoders.decoder(config, weights, SLOTS), decoders.encoder(config, weights, SLOTS)


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize(("buckets", "distance"), [(32, 128), (8, 12), (16, 100)])
def test_position_buckets_are_those_of_transformers_at_every_distance(
    both_ways: bool, buckets: int, distance: int
) -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    offsets = np.arange(-700, 700)
    want = T5Attention._relative_position_bucket(
        torch.from_numpy(offsets), both_ways, buckets, distance
    ).numpy()
    assert (relative_buckets(offsets, buckets, distance, both_ways) == want).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_encoder_and_the_torch_step_give_the_states_of_transformers(family: str) -> None:
    want, _, _, table = reference(family)
    decoder = through_torch(family)
    np.testing.assert_allclose(
        decoder.read(table[PROMPT]), want.encoder_last_hidden_state[0].numpy(), atol=1e-4
    )
    logits, hidden = decoder.forward(table[ANSWER])
    np.testing.assert_allclose(logits, want.logits[0, -1].numpy(), atol=5e-4)
    np.testing.assert_allclose(hidden, want.decoder_hidden_states[-1][0].numpy(), atol=2e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_onnx_graphs_give_the_states_of_transformers(family: str, tmp_path: Path) -> None:
    want, config, _, table = reference(family)
    decoder = through_onnx(config, items(family), Scheme("fp32"), tmp_path)
    np.testing.assert_allclose(
        decoder.read(table[PROMPT]), want.encoder_last_hidden_state[0].numpy(), atol=2e-4
    )
    hidden = want.decoder_hidden_states[-1][0].numpy()
    np.testing.assert_allclose(decoder.forward(table[ANSWER])[1], hidden, atol=2e-4)
    np.testing.assert_allclose(measure.teacher_force(decoder, table[ANSWER])[0], hidden, atol=2e-4)
    decoder.reset()
    parts = [decoder.forward(table[ANSWER[at : at + 7]])[1].copy() for at in range(0, 20, 7)]
    np.testing.assert_allclose(np.concatenate(parts), hidden, atol=2e-4)
    assert isinstance(decoder.inner, BoundDecoder)
    decoder.reset()
    scores = decoder.inner.rows(table[ANSWER], None, len(ANSWER))
    np.testing.assert_allclose(scores, want.logits[0].numpy(), atol=1e-3)


@pytest.mark.parametrize(
    ("scheme", "least"), [(Scheme("fp16"), 0.9999), (Scheme("int8"), 0.99), (Scheme("int4"), 0.98)]
)
@pytest.mark.parametrize("family", FAMILIES)
def test_quantized_graphs_stay_close_to_the_torch_model(
    family: str, scheme: Scheme, least: float, tmp_path: Path
) -> None:
    """For int4 the weights lie on its grid, so that the error comes from the 8-bit activations."""
    _, config, _, table = reference(family)
    modules = items(family)
    if scheme.quant == "int4":
        for item in modules:
            on_the_grid(item.module, scheme.group)
    plain = EncoderDecoder(
        torch_session(modules[1]),
        torch_decoder(modules[0], decoders.language(config, SLOTS)),
        decoders.language(config, SLOTS),
    )
    decoder = through_onnx(config, modules, scheme, tmp_path)
    assert measure.cosines(decoder.read(table[PROMPT]), plain.read(table[PROMPT])).min() >= least
    assert measure.cosines(decoder.forward(table[ANSWER])[1], plain.forward(table[ANSWER])[1]).min() >= least


@pytest.mark.parametrize(
    "part",
    [
        "decoder.block.0.layer.0.SelfAttention.relative",
        "encoder.block.0.layer.0.SelfAttention.relative",
        "EncDecAttention.v",
    ],
)
def test_zeroing_positions_or_values_of_the_encoder_changes_the_states(part: str) -> None:
    want, config, weights, table = reference("t5")
    flat = DictWeights({n: torch.zeros_like(t) if part in n else t for n, t in weights.state.items()})
    language = decoders.language(config, SLOTS)
    step = torch_decoder(decoders.decoder(config, flat, SLOTS), language)
    decoder = EncoderDecoder(torch_session(decoders.encoder(config, flat, SLOTS)), step, language)
    decoder.read(table[PROMPT])
    assert np.abs(decoder.forward(table[ANSWER])[1] - want.decoder_hidden_states[-1][0].numpy()).max() > 0.01


@pytest.mark.parametrize("kind", ["torch", "onnx"])
def test_the_language_model_generates_the_tokens_of_transformers(kind: str, tmp_path: Path) -> None:
    """A second prompt is read from the start: no keys of the first one remain."""
    _, config, _, table = reference("flan-t5")
    decoder = (
        through_torch("flan-t5")
        if kind == "torch"
        else through_onnx(config, items("flan-t5"), Scheme("fp32"), tmp_path)
    )
    lm = LanguageModel(Table(table), decoder, decoders.language(config, SLOTS))
    model, _, _ = tiny("flan-t5")
    for prompt in (PROMPT, PROMPT[:9], PROMPT):
        with torch.no_grad():
            expected = model.generate(
                torch.tensor([prompt]),
                max_new_tokens=8,
                do_sample=False,
                decoder_start_token_id=0,
                eos_token_id=1,
            )
        generated = lm.generate(Request(tuple(prompt), 8))
        assert list(generated.ids) == [i for i in expected[0, 1:].tolist() if i != 1]
        assert generated.prompt_tokens == len(prompt)
    soft = lm.generate(Request(tuple(PROMPT[9:]), 8, soft=table[PROMPT[:9]]))
    assert soft.ids == lm.generate(Request(tuple(PROMPT), 8)).ids
    assert soft.prompt_tokens == len(PROMPT)


def test_t5_refuses_to_answer_without_a_prompt_and_a_prompt_that_is_too_long() -> None:
    _, _, _, table = reference("t5")
    decoder = through_torch("t5")
    with pytest.raises(RuntimeFailure, match="read a prompt before"):
        decoder.forward(table[ANSWER])
    with pytest.raises(RuntimeFailure, match="33 tokens do not fit"):
        decoder.read(table[ids(33)])


def test_an_unsupported_feed_forward_is_named_in_the_error() -> None:
    _, config, weights, _ = reference("t5")
    with pytest.raises(ExportError, match="feed_forward_proj 'gelu' is not supported"):
        decoders.decoder(config | {"feed_forward_proj": "gelu"}, weights, SLOTS)
