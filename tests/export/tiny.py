"""Very small checkpoints, saved by Hugging Face's classes: config.json, safetensors, tokenizer.json.

The weights are random; the files and the tensors' names are those of real checkpoints.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

VOCAB = 320


def tokenizer(begin: str | None, end: str, extra: tuple[str, ...] = ()) -> str:
    """The content of a tokenizer.json in which every token is one byte, except the special ones.

    Every text gets the token `end` after it and, unless it is None, `begin` before it, as with CLIP and T5.
    `extra`: further special tokens.
    """
    vocabulary = {letter: n for n, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    special = [token for token in (begin, end, *extra) if token]
    vocabulary |= {token: len(vocabulary) + n for n, token in enumerate(special)}
    byte_tokenizer = Tokenizer(models.BPE(vocabulary, []))
    byte_tokenizer.add_special_tokens(special)
    byte_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special_ids = [(token, vocabulary[token]) for token in (begin, end) if token]
    byte_tokenizer.post_processor = processors.TemplateProcessing(
        single=" ".join([*([begin] if begin else []), "$A", end]), special_tokens=special_ids
    )
    return str(byte_tokenizer.to_str())


def _save(model: Any, folder: Path, tokenizer_json: str) -> Path:
    model.eval().save_pretrained(folder)
    (folder / "tokenizer.json").write_text(tokenizer_json, encoding="utf-8")
    return folder


def clip(folder: Path) -> Path:
    text = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "vocab_size": VOCAB,
        "max_position_embeddings": 48,
        "eos_token_id": 257,
        "bos_token_id": 256,
    }
    vision = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 32,
        "patch_size": 8,
    }
    torch.manual_seed(3)
    model = transformers.CLIPModel(
        transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=24)
    )
    processor = {
        "size": {"shortest_edge": 32},
        "crop_size": {"height": 32, "width": 32},
        "do_center_crop": True,
        "resample": 3,
        "image_mean": [0.48, 0.46, 0.41],
        "image_std": [0.27, 0.26, 0.28],
    }
    _save(model, folder, tokenizer("<begin>", "<end>"))
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return folder


def siglip(folder: Path) -> Path:
    text = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "vocab_size": VOCAB,
        "max_position_embeddings": 48,
        "projection_size": 32,
        "pad_token_id": 256,
        "eos_token_id": 256,
        "bos_token_id": 257,
    }
    vision = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 32,
        "patch_size": 8,
    }
    torch.manual_seed(4)
    return _save(
        transformers.SiglipModel(transformers.SiglipConfig(text_config=text, vision_config=vision)),
        folder,
        tokenizer(None, "</s>"),
    )


def qwen2(folder: Path) -> Path:
    config = transformers.Qwen2Config(
        vocab_size=VOCAB,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=True,
        max_position_embeddings=2048,
        eos_token_id=257,
        bos_token_id=256,
    )
    torch.manual_seed(5)
    return _save(
        transformers.Qwen2ForCausalLM(config),
        folder,
        tokenizer(None, "<|endoftext|>", ("<|im_start|>", "<|im_end|>")),
    )


def gemma3(folder: Path) -> Path:
    config = transformers.Gemma3TextConfig(
        vocab_size=VOCAB,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=16,
        query_pre_attn_scalar=16,
        sliding_window=32,
        layer_types=["sliding_attention", "full_attention"],
        max_position_embeddings=2048,
    )
    torch.manual_seed(6)
    return _save(
        transformers.Gemma3ForCausalLM(config),
        folder,
        tokenizer(None, "<eos>", ("<start_of_turn>", "<end_of_turn>")),
    )


def gpt2(folder: Path) -> Path:
    config = transformers.GPT2Config(
        vocab_size=VOCAB, n_embd=64, n_layer=2, n_head=4, n_positions=2048, eos_token_id=256, bos_token_id=256
    )
    torch.manual_seed(7)
    return _save(transformers.GPT2LMHeadModel(config), folder, tokenizer(None, "<|endoftext|>"))


def t5(folder: Path) -> Path:
    config = transformers.T5Config(
        vocab_size=VOCAB,
        d_model=64,
        d_kv=16,
        d_ff=96,
        num_layers=2,
        num_decoder_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=0,
        eos_token_id=256,
    )
    torch.manual_seed(8)
    return _save(transformers.T5ForConditionalGeneration(config), folder, tokenizer(None, "</s>"))


TINY: dict[str, Callable[[Path], Path]] = {
    "clip": clip,
    "siglip": siglip,
    "qwen2": qwen2,
    "gemma3": gemma3,
    "gpt2": gpt2,
    "t5": t5,
}
