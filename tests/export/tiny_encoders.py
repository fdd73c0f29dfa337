"""Very small sentence encoders, saved by Hugging Face's classes, with the files of sentence-transformers."""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers

from .tiny import tokenizer

VOCAB = 320
LEAST_WORDS = 80  # of the table of each of them
_SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
POOLING = {"mean": "mean_tokens", "cls": "cls_token", "lasttoken": "lasttoken"}


def _save(model: Any, folder: Path, tokenizer_json: str) -> Path:
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():  # fresh weights are so small, biases 0 and norms 1 that a mistake would not show
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
    model.eval().save_pretrained(folder)
    (folder / "tokenizer.json").write_text(tokenizer_json, encoding="utf-8")
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [{"path": path, "type": f"sentence_transformers.models.{name}"} for path, name in kinds.items()]
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    (folder / "1_Pooling").mkdir()
    write_pooling(folder, "mean")
    return folder


def write_pooling(folder: Path, how: str) -> None:
    flags = {f"pooling_mode_{name}": key == how for key, name in POOLING.items()}
    config = {"word_embedding_dimension": 32, **flags, "include_prompt": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config), encoding="utf-8")


def bert(folder: Path) -> Path:
    config = transformers.BertConfig(**_SIZES, max_position_embeddings=64)
    return _save(transformers.BertModel(config), folder, tokenizer("[CLS]", "[SEP]"))


def roberta(folder: Path) -> Path:
    config = transformers.RobertaConfig(**_SIZES, max_position_embeddings=66, pad_token_id=1)
    return _save(transformers.RobertaModel(config), folder, tokenizer("<s>", "</s>"))


def xlm_roberta(folder: Path) -> Path:
    config = transformers.XLMRobertaConfig(
        **_SIZES | {"vocab_size": LEAST_WORDS}, max_position_embeddings=66, pad_token_id=1, type_vocab_size=1
    )
    return _save(transformers.XLMRobertaModel(config), folder, unigram())


def mpnet(folder: Path) -> Path:
    config = transformers.MPNetConfig(**_SIZES, max_position_embeddings=66)
    return _save(transformers.MPNetModel(config), folder, tokenizer("<s>", "</s>"))


def modernbert(folder: Path) -> Path:
    config = transformers.ModernBertConfig(
        **_SIZES | {"num_hidden_layers": 4},
        max_position_embeddings=64,
        local_attention=8,
        pad_token_id=1,
        bos_token_id=256,
        cls_token_id=256,
        eos_token_id=257,
        sep_token_id=257,
    )
    return _save(transformers.ModernBertModel(config), folder, tokenizer("[CLS]", "[SEP]"))


def unigram() -> str:
    """A tokenizer.json of the kind that SentencePiece's unigram models are converted to."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    letters = [(letter, -5.0) for letter in "▁" + string.ascii_letters + ",.'?0123456789"]
    words = [("▁a", -3.0), ("▁the", -3.0), ("ing", -4.0)]
    made = Tokenizer(models.Unigram([*special, *letters, *words], unk_id=3))
    made.add_special_tokens([name for name, _ in special])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return str(made.to_str())


TINY: dict[str, Callable[[Path], Path]] = {
    "bert": bert,
    "roberta": roberta,
    "xlm-roberta": xlm_roberta,
    "mpnet": mpnet,
    "modernbert": modernbert,
}
