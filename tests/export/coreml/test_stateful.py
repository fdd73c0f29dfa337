"""A Core ML decoder that keeps its cache in states of the program, compared with torch token by token through
the driver that parity uses.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("coremltools", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from gamer.export.components import decoders
from gamer.export.coreml import mil, to_coreml
from gamer.export.coreml.mil.program import Stored, read
from gamer.export.coreml.stateful import stateful
from gamer.export.errors import ExportError
from gamer.export.parity import measure, reference
from gamer.export.recipe import THRESHOLDS
from gamer.export.target_options import TargetOptions
from gamer.runtime.backends.coreml_backend import shared
from gamer.runtime.bundle.manifest import Artifact, Language, Parity
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.language.decoder import StepDecoder, open_decoder
from tests.export.tiny_llms import SLOTS, VOCAB, ids, tiny, torch_decoder, torch_session

FIRST, SECOND = ids(14), ids(11)


def session(item: Any, language: Language, quant: str, path: Path, cache: str = "state") -> Any:
    """What parity runs: the saved program, its tensors under the module's names."""
    inputs, outputs = to_coreml.write(item, quant, language, [], path, TargetOptions(cache=cache))
    artifact = Artifact(item.role, "coreml", quant, "", 0, "", inputs, outputs, Parity("", "", 0.0), 0.0)
    return shared(mil.open_session(path, artifact), artifact)


@pytest.fixture(scope="module", params=["llama", "qwen2"])
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Any, Language, Any, Any]:
    """(the torch step, its language, its token table, the session of the fp16 program with states)."""
    _, config, weights = tiny(request.param, 2)
    language, item = decoders.language(config, SLOTS), decoders.decoder(config, weights, SLOTS)
    table = decoders.embed(config, weights, "fp32").module.get_buffer("rows").numpy()
    return (
        item,
        language,
        table,
        session(item, language, "fp16", tmp_path_factory.mktemp("mil") / "d.mlpackage"),
    )


@pytest.mark.slow
def test_the_states_of_every_token_match_torch_in_a_second_sequence_too(
    made: tuple[Any, Language, Any, Any],
) -> None:
    item, language, table, program = made
    decoder, threshold = open_decoder(program, language), THRESHOLDS["fp16"]["llm_decoder"]
    for sequence in (FIRST, SECOND):
        want, best = measure.teacher_force(torch_decoder(item, language), table[sequence])
        got, ours = measure.teacher_force(decoder, table[sequence])
        assert measure.cosines(got, want).min() >= threshold.cosine
        # Where torch finds two tokens equally likely, fp16 may choose the other one.
        logits, row = want @ item.module.head.weight.detach().numpy().T, np.arange(len(best))
        assert (logits[row, best] - logits[row, ours]).max() < 0.01 * logits.std()
    # Without the reset, the first sequence would still affect the second.
    decoder.reset()
    decoder.forward(table[FIRST])
    stale = [decoder.forward(table[[token]])[1][-1] for token in SECOND]
    assert measure.cosines(np.stack(stale), want).min() < threshold.cosine


@pytest.mark.slow
def test_the_cache_is_no_input_or_output_but_an_fp16_state_of_the_program(
    made: tuple[Any, Language, Any, Any],
) -> None:
    _, language, table, program = made
    assert [t.name for t in program.artifact.inputs] == ["embeds", "cos", "sin", "place", "mask"]
    assert [t.name for t in program.artifact.outputs] == ["logits", "hidden"]
    states = program.states()
    assert sorted(states) == sorted(f"past_{x}_{n}" for n in range(2) for x in "kv")
    assert {(x.shape, x.dtype) for x in states.values()} == {
        ((language.kv_heads, SLOTS, language.head_dim), np.dtype(np.float16))
    }
    decoder = open_decoder(program, language)
    decoder.reset()
    decoder.forward(table[FIRST[:3]])
    for value in program.states().values():
        assert np.abs(value[:, :3]).min(axis=(0, 2)).all()
        assert not value[:, 3:].any()


@pytest.mark.slow
def test_a_prompt_at_once_gives_the_states_and_the_cache_of_its_tokens_one_by_one(
    made: tuple[Any, Language, Any, Any],
) -> None:
    """A prompt that fills the cache, and one behind another; test_adapters.py has one of several calls."""
    item, language, table, program = made
    assert program.functions == ("main", "prefill")
    prompt = ids(SLOTS)
    decoder, plain = open_decoder(program, language), torch_decoder(item, language)
    _, want = plain.forward(table[prompt])
    for begin in (0, 5):
        decoder.reset()
        if begin:
            decoder.forward(table[prompt[:begin]])
        logits, got = decoder.forward(table[prompt[begin:]])
        assert decoder.past == SLOTS
        assert decoder.held.sure == (begin or SLOTS) - 1
        assert measure.cosines(got, want[begin:]).min() > 0.9999
        assert measure.cosines(decoder.keep(), plain.keep()).min() > 0.9999
        np.testing.assert_array_equal(logits.shape, item.outputs[0].shape[1:])
    decoder.reset()
    rows = decoder.rows(table[FIRST], None, 3)
    decoder.reset()
    assert rows.shape == (3, VOCAB)
    apart = np.stack([decoder.forward(table[[token]])[0].copy() for token in FIRST])
    assert measure.cosines(rows, apart[-3:]).min() > 0.9999


@pytest.mark.slow
@pytest.mark.parametrize(("family", "quant"), [("gemma3", "int4"), ("gpt2", "int8")])
def test_functions_share_what_they_have_in_common(family: str, quant: str, tmp_path: Path) -> None:
    """Each weight of a prompt's function is read from where the token's function reads it."""
    _, config, weights = tiny(family, 2)
    language, item = decoders.language(config, SLOTS), decoders.decoder(config, weights, SLOTS)
    table = decoders.embed(config, weights, "fp32").module.get_buffer("rows").numpy()
    opened = open_decoder(session(item, language, quant, tmp_path / "d.mlpackage"), language)
    together, apart = opened.forward(table[FIRST])[1], measure.teacher_force(opened, table[FIRST])[0]
    assert measure.cosines(together, apart).min() > 0.9999
    stored = {name: _stored(tmp_path / "d.mlpackage", name) for name in ("main", "prefill")}
    assert len(stored["prefill"]) >= 8
    assert stored["prefill"] < stored["main"]


def _stored(package: Path, function: str) -> set[int]:
    """Where in the file the large constants of a function begin."""
    bound = [
        value
        for operation in read(package, function).operations
        for value in (operation.value, *(b for each in operation.inputs.values() for b in each))
    ]
    return {b.offset for b in bound if isinstance(b, Stored) and np.prod(b.type.shape) > 1000}


@pytest.mark.slow
def test_a_saved_prefix_is_restored_and_one_of_another_shape_is_refused(
    made: tuple[Any, Language, Any, Any],
) -> None:
    """A cache that the same program saved, and one that torch computed."""
    item, language, table, program = made
    decoder, plain = open_decoder(program, language), torch_decoder(item, language)
    decoder.reset()
    want = np.stack([decoder.forward(table[[token]])[1][-1] for token in FIRST])
    decoder.reset()
    decoder.forward(table[FIRST[:6]])
    saved = decoder.keep()
    plain.forward(table[FIRST[:6]])
    np.testing.assert_allclose(saved, plain.keep(), atol=0.03)
    decoder.forward(table[SECOND])  # `restore` drops these
    for cache in (saved, plain.keep()):
        decoder.restore(cache)
        assert decoder.past == 6
        assert measure.cosines(decoder.forward(table[FIRST[6:]])[1], want[6:]).min() > 0.9999
    with pytest.raises(RuntimeFailure, match="does not fit the decoder"):
        decoder.restore(saved[:1])
    with pytest.raises(ExportError, match=r"no state past_q_0 of shape \[2\]"):
        program.set_states({"past_q_0": np.zeros(2, np.float32)})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "quant"), [("llama", "fp32"), ("qwen2", "int8"), ("gemma3", "int4"), ("gpt2", "fp16")]
)
def test_a_cache_in_states_gives_what_a_cache_in_tensors_gives(
    family: str, quant: str, tmp_path: Path
) -> None:
    """The same weights in the same quantization: only the cache is rounded, to fp16."""
    _, config, weights = tiny(family, 2)
    language, item = decoders.language(config, SLOTS), decoders.decoder(config, weights, SLOTS)
    table = decoders.embed(config, weights, "fp32").module.get_buffer("rows").numpy()
    hidden = {}
    for cache in ("tensors", "state"):
        program = session(item, language, quant, tmp_path / f"{cache}.mlpackage", cache)
        hidden[cache] = open_decoder(program, language).forward(table[FIRST])[1]
    assert measure.cosines(hidden["state"], hidden["tensors"]).min() > 0.9995


@pytest.mark.slow
def test_an_encoder_decoder_keeps_its_own_cache_and_is_given_that_of_the_encoder(tmp_path: Path) -> None:
    _, config, weights = tiny("flan-t5", 1)
    language, item = decoders.language(config, SLOTS), decoders.decoder(config, weights, SLOTS)
    table = decoders.embed(config, weights, "fp32").module.get_buffer("rows").numpy()
    reader = decoders.encoder(config, weights, SLOTS)
    _, cross = reference.read(torch_session(reader), table[FIRST], language)
    program = session(item, language, "fp32", tmp_path / "d.mlpackage")
    decoder, plain = StepDecoder(program, language), torch_decoder(item, language)
    for driver in (decoder, plain):
        driver.attend(cross)
    np.testing.assert_allclose(decoder.forward(table[SECOND])[1], plain.forward(table[SECOND])[1], atol=0.02)
    assert {t.name for t in program.artifact.inputs} >= {"cross_k.0", "cross_v.0"}
    assert len(program.states()) == 2


def test_the_step_stores_the_cache_that_the_driver_would_store() -> None:
    """In torch alone: the buffers after some tokens are the cache of the driver that passes it in and out."""
    _, config, weights = tiny("gemma3", 2)
    language, item = decoders.language(config, SLOTS), decoders.decoder(config, weights, SLOTS)
    table, with_states = (
        decoders.embed(config, weights, "fp32").module.get_buffer("rows").numpy(),
        stateful(item),
    )
    assert with_states.module.step is item.module
    assert len(with_states.example) == len(with_states.inputs) == 8
    plain, driver = torch_decoder(item, language), torch_decoder(item, language)
    _, want = plain.forward(table[FIRST])
    for n, token in enumerate(FIRST):
        given = {"embeds": table[[token]], **driver._where()}
        _, hidden = measure.TorchSession(with_states).run(given).values()
        driver.held.add([token], 1, True)
        np.testing.assert_allclose(hidden[0], want[n], rtol=1e-5, atol=1e-5)
    buffers = [
        with_states.module.get_buffer(f"past_{x}_{n}").numpy()[:, : len(FIRST)]
        for n in range(2)
        for x in "kv"
    ]
    np.testing.assert_allclose(
        np.stack(buffers).reshape(plain.keep().shape), plain.keep(), rtol=1e-5, atol=1e-5
    )


def test_a_decoder_without_a_cache_of_any_kind_is_refused() -> None:
    _, config, weights = tiny("llama", 1)
    language, item = decoders.language(config, SLOTS), stateful(decoders.decoder(config, weights, SLOTS))
    with pytest.raises(RuntimeFailure, match="keeps no states"):
        StepDecoder(torch_session(item), language)
