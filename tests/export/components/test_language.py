"""A memory's likelihood after soft prompts, against transformers' own loss, one text at a time."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from tokenizers import Tokenizer, models, pre_tokenizers

from gamer.export.components import decoders
from gamer.export.components.language import ASKED, Language
from gamer.export.errors import ExportError
from gamer.export.networks.decoder import DecoderStep
from tests.export.tiny_llms import SLOTS, tiny

TEXTS = ["a cat on the sofa", "rain"]


def words() -> Tokenizer:
    known = {word: n for n, word in enumerate(["?", *sorted({*" ".join([ASKED, *TEXTS]).split()})])}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt2"])
def test_the_likelihood_is_that_of_transformers(family: str) -> None:
    model, config, weights = tiny(family)
    step = decoders.decoder(config, weights, SLOTS).module
    assert isinstance(step, DecoderStep)
    table = decoders.embed(config, weights, "fp32").module
    language = Language(step, table, words(), end=2)
    ids, asked = language.ids(TEXTS), language.asked(["sofa", ""])
    assert asked == [words().encode(text).ids for text in ("sofa", ASKED)]
    assert [len(row) for row in ids] == [6, 2]
    assert ids[0][-1] == 2
    torch.manual_seed(5)
    prompts = torch.randn(2, 4, step.shape.hidden)
    with torch.no_grad():
        got = language.nll(asked, ids, prompts)
        rows, sums = table.get_buffer("rows"), list[float]()
        for prompt, query, row in zip(prompts, asked, ids, strict=True):
            before = torch.cat([prompt, rows[query]])
            logits = model(inputs_embeds=torch.cat([before, rows[row]])[None]).logits[0]
            likely = torch.log_softmax(logits[len(before) - 1 : -1], dim=-1)
            sums.append(-float(likely[torch.arange(len(row)), torch.tensor(row)].sum()))
    assert got.tolist() == pytest.approx(sums, abs=1e-3)


def test_soft_prompts_take_gradients_of_the_likelihood() -> None:
    _, config, weights = tiny("llama")
    step = decoders.decoder(config, weights, SLOTS).module
    assert isinstance(step, DecoderStep)
    language = Language(step, decoders.embed(config, weights, "fp32").module, words(), 2, rank=2)
    prompts = torch.zeros(2, 3, step.shape.hidden, requires_grad=True)
    language.nll(language.asked(["rain", ""]), language.ids(TEXTS), prompts).sum().backward()
    assert prompts.grad is not None
    assert float(prompts.grad.abs().sum()) > 0
    assert language.adapter is not None
    assert all(p.grad is not None for p in language.adapter.parameters())


def test_a_long_text_is_cut_as_the_runtime_cuts_it() -> None:
    _, config, weights = tiny("llama")
    step = decoders.decoder(config, weights, SLOTS).module
    assert isinstance(step, DecoderStep)
    table = decoders.embed(config, weights, "fp32").module
    language = Language(step, table, words(), end=2, slots=SLOTS)
    long = "rain " * 1000
    assert [len(row) for row in language.ids([long, "rain"])] == [SLOTS, 2]
    assert len(language.ids([long], 5)[0]) + 5 == SLOTS
    assert len(language.asked([long])[0]) == SLOTS // 4
    with pytest.raises(ExportError, match="do not fit"):
        language.ids([long], SLOTS)
