"""Language models on XNNPACK: one delegate, the same states as torch with the same quantized weights, driven
by the runtime's own code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("executorch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from gamer.export.components import decoders
from gamer.export.errors import ExportError
from gamer.export.executorch import to_executorch
from gamer.export.parity import measure
from gamer.export.target_options import TargetOptions
from gamer.runtime.backends import Session, open_session
from gamer.runtime.bundle.manifest import Artifact, Language, Parity
from gamer.runtime.models.language.decoder import EncoderDecoder, open_decoder
from tests.export.tiny_llms import SLOTS, ids, tiny, torch_decoder, torch_session

PROMPT, ANSWER = ids(13), ids(12)


def session(item: Any, language: Language, quant: str, path: Path) -> Session:
    inputs, outputs = to_executorch.write(item, quant, language, [], path)
    return open_session(
        "executorch",
        path,
        Artifact(item.role, "executorch", quant, "", 0, "", inputs, outputs, Parity("", "", 0.0), 0.0),
        1,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "layers", "quant", "least"),
    [("gemma3", 2, "fp32", 0.99999), ("gpt2", 1, "int8", 0.999), ("qwen2", 1, "8da4w", 0.999)],
)
def test_a_decoder_on_xnnpack_gives_the_states_of_torch(
    family: str, layers: int, quant: str, least: float, tmp_path: Path
) -> None:
    _, config, weights = tiny(family, layers)
    language, item = decoders.language(config, SLOTS), decoders.decoder(config, weights, SLOTS)
    table = decoders.embed(config, weights, "fp32").module.get_buffer("rows").numpy()
    decoder = open_decoder(session(item, language, quant, tmp_path / "d.pte"), language)
    _, hidden = decoder.forward(table[ANSWER])
    # The module was quantized in place: torch computes with the same weights and rounds the same activations.
    _, want = torch_decoder(item, language).forward(table[ANSWER])
    assert measure.cosines(hidden, want).min() >= least
    if quant == "fp32":
        np.testing.assert_allclose(hidden, want, atol=1e-4)


@pytest.mark.slow
def test_t5_on_xnnpack_gives_the_states_of_torch_for_two_prompts(tmp_path: Path) -> None:
    _, config, weights = tiny("flan-t5", 1)
    language = decoders.language(config, SLOTS)
    modules = decoders.decoder(config, weights, SLOTS), decoders.encoder(config, weights, SLOTS)
    table = decoders.embed(config, weights, "fp32").module.get_buffer("rows").numpy()
    sessions = [session(item, language, "fp32", tmp_path / f"{item.role}.pte") for item in modules]
    decoder = open_decoder(sessions[0], language, sessions[1])
    plain = EncoderDecoder(torch_session(modules[1]), torch_decoder(modules[0], language), language)
    assert isinstance(decoder, EncoderDecoder)
    for prompt in (PROMPT, PROMPT[:5]):
        np.testing.assert_allclose(decoder.read(table[prompt]), plain.read(table[prompt]), atol=1e-4)
        np.testing.assert_allclose(
            decoder.forward(table[ANSWER])[1], plain.forward(table[ANSWER])[1], atol=1e-4
        )


@pytest.mark.parametrize(
    ("quant", "group", "message"),
    [("8da4w", 48, "multiple of 32"), ("int3", 32, "choose one of: fp32, int8, 8da4w")],
)
def test_a_quantization_or_group_that_xnnpack_lacks_is_named(
    quant: str, group: int, message: str, tmp_path: Path
) -> None:
    _, config, weights = tiny("llama")
    item, language = decoders.decoder(config, weights, SLOTS), decoders.language(config, SLOTS)
    with pytest.raises(ExportError, match=message):
        to_executorch.write(item, quant, language, [], tmp_path / "d.pte", TargetOptions(group=group))
    assert not list(tmp_path.iterdir())
