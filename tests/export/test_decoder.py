"""The decoder three ways on one tiny random model: transformers' Llama, our torch step, our ONNX graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
from gamer.export import onnx_decoder, parity  # noqa: E402
from gamer.export.components import ExportModule, decoder_specs  # noqa: E402
from gamer.export.modules.decoder import DecoderShape, DecoderStep, Int8Embedding  # noqa: E402
from gamer.runtime.backends import Array, open_session  # noqa: E402
from gamer.runtime.errors import RuntimeFailure  # noqa: E402
from gamer.runtime.llm import Floats, LanguageModel, StepDecoder, open_decoder  # noqa: E402
from gamer.runtime.manifest import Artifact, Language, Parity  # noqa: E402

SHAPE = DecoderShape(vocab=64, hidden=64, layers=2, heads=4, kv_heads=2, head_dim=16, intermediate=96, eps=1e-5, rope_theta=10_000.0)
LANGUAGE = Language(layers=2, kv_heads=2, head_dim=16, hidden=64, max_seq=24, rope_theta=10_000.0, eos_ids=())


@pytest.fixture(scope="module")
def step() -> DecoderStep:
    torch.manual_seed(3)
    model = DecoderStep(SHAPE)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.eval()
    return model


@pytest.fixture(scope="module")
def table() -> Floats:
    return np.random.default_rng(5).standard_normal((SHAPE.vocab, SHAPE.hidden)).astype(np.float32)


def torch_decoder(step: DecoderStep) -> StepDecoder:
    inputs, outputs = decoder_specs(step, LANGUAGE.max_seq)
    item = ExportModule("llm_decoder", step, (), inputs, outputs, {}, "", "", True, "")
    return StepDecoder(parity._TorchSession(item), LANGUAGE)


def onnx_session(step: DecoderStep, quant: str, path: Path) -> object:
    onnx_decoder.write(step, LANGUAGE, quant, path)
    inputs, outputs = onnx_decoder.specs(step, LANGUAGE.max_seq)
    return open_session("onnx", path, Artifact("llm_decoder", "onnx", quant, "", 0, "", inputs, outputs, Parity("", "", 0.0), 0.0), 1)


def test_the_step_is_transformers_llama(step: DecoderStep, table: Floats) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        rms_norm_eps=1e-5, rope_theta=10_000.0, tie_word_embeddings=False, attn_implementation="eager",
    )  # fmt: skip
    llama = transformers.LlamaForCausalLM(config).eval()
    ours, theirs = step.state_dict(), {"model.embed_tokens.weight": torch.from_numpy(table)}
    theirs |= {"model.norm.weight": ours["norm.weight"], "lm_head.weight": ours["head.weight"]}
    for n in range(2):
        q, k, v = ours[f"layers.{n}.qkv.weight"].split([64, 32, 32])
        gate, up = ours[f"layers.{n}.gate_up.weight"].chunk(2)
        at = f"model.layers.{n}"
        theirs |= {f"{at}.self_attn.q_proj.weight": q, f"{at}.self_attn.k_proj.weight": k, f"{at}.self_attn.v_proj.weight": v}
        theirs |= {
            f"{at}.self_attn.o_proj.weight": ours[f"layers.{n}.out.weight"],
            f"{at}.mlp.gate_proj.weight": gate,
            f"{at}.mlp.up_proj.weight": up,
        }
        theirs |= {f"{at}.mlp.down_proj.weight": ours[f"layers.{n}.down.weight"]}
        theirs |= {f"{at}.input_layernorm.weight": ours[f"layers.{n}.attention_norm.weight"]}
        theirs |= {f"{at}.post_attention_layernorm.weight": ours[f"layers.{n}.norm.weight"]}
    llama.load_state_dict(theirs)
    ids = [5, 9, 1, 33, 60, 2, 7]
    with torch.no_grad():
        want = llama(torch.tensor([ids]), output_hidden_states=True)
    decoder = torch_decoder(step)
    logits, hidden = decoder.forward(table[ids])
    np.testing.assert_allclose(logits, want.logits[0, -1].numpy(), atol=2e-4)
    np.testing.assert_allclose(hidden, want.hidden_states[-1][0].numpy(), atol=2e-4)


@pytest.mark.parametrize(("quant", "least"), [("fp32", 0.99999), ("int8", 0.995)])
def test_onnx_decodes_and_prefills_like_the_step(step: DecoderStep, table: Floats, tmp_path: Path, quant: str, least: float) -> None:
    decoder = open_decoder(onnx_session(step, quant, tmp_path / "d.onnx"), LANGUAGE)  # type: ignore[arg-type]
    rows = table[[5, 9, 1, 33, 60, 2, 7, 7, 12]]
    want, best = parity.teacher_force(torch_decoder(step), rows)
    got, ours = parity.teacher_force(decoder, rows)
    assert parity.cosines(got, want).min() >= least
    decoder.reset()
    _, first = decoder.forward(rows[:4])
    _, rest = decoder.forward(rows[4:])
    assert parity.cosines(np.concatenate([first, rest]), want).min() >= least
    if quant == "fp32":
        assert (ours == best).all()


def test_the_cache_has_an_end(step: DecoderStep, table: Floats, tmp_path: Path) -> None:
    decoder = open_decoder(onnx_session(step, "fp32", tmp_path / "d.onnx"), LANGUAGE)  # type: ignore[arg-type]
    decoder.forward(table[:24])
    with pytest.raises(RuntimeFailure, match="25 tokens do not fit"):
        decoder.forward(table[:1])


def test_generation_is_greedy_and_stops(step: DecoderStep, table: Floats) -> None:
    class Table:
        artifact = Artifact("llm_embed", "onnx", "fp32", "", 0, "", (decoder_specs(step, 24)[0][0],), (), Parity("", "", 0.0), 0.0)

        def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
            return {"embeds": table[inputs["ids"].astype(int)]}

    lm = LanguageModel(Table(), torch_decoder(step), LANGUAGE)
    seen: list[int] = []
    free = lm.generate([5, 9, 1], 6, on_token=seen.append)
    assert len(free.ids) == 6 and list(free.ids) == seen and not free.stopped and free.prompt_tokens == 3
    again = LanguageModel(Table(), torch_decoder(step), Language(2, 2, 16, 64, 24, 10_000.0, (free.ids[2],)))
    stopped = again.generate([5, 9, 1], 6)
    assert stopped.ids == free.ids[: free.ids.index(free.ids[2])] and stopped.stopped


def test_blocks_quantize_to_half_a_step() -> None:
    matrix = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)
    codes, scales = onnx_decoder.quantize_blocks(matrix, 32)
    back = (codes.astype(np.float32) - 128) * scales.reshape(8, 2, 1)
    assert np.abs(back.reshape(8, 64) - matrix).max() <= scales.max() / 2 + 1e-6


def test_the_int8_table_gives_its_rows_back() -> None:
    weight = torch.randn(10, 16)
    ids = torch.tensor([3, 3, 9])
    assert (Int8Embedding(weight)(ids) - weight[ids]).abs().max() <= weight.abs().max() / 254 + 1e-6
