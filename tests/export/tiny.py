"""Very small checkpoints, saved by Hugging Face's classes: config.json, safetensors, tokenizer.json.

The weights are random; the files and the tensors' names are those of real checkpoints. One layer is enough
where a target lowers each operation, which takes seconds of processor time a layer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

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


def clip(folder: Path, layers: int = 2) -> Path:
    text = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
        "vocab_size": VOCAB,
        "max_position_embeddings": 48,
        "eos_token_id": 257,
        "bos_token_id": 256,
    }
    vision = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": layers,
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


def qwen2(folder: Path, layers: int = 2) -> Path:
    config = transformers.Qwen2Config(
        vocab_size=VOCAB,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=layers,
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


# The template of SmolVLM-256M-Instruct, which has lists of parts as contents.
SMOLVLM_TEMPLATE = (
    "<|im_start|>{% for message in messages %}{{message['role'] | capitalize}}"
    "{% if message['content'][0]['type'] == 'image' %}{{':'}}{% else %}{{': '}}{% endif %}"
    "{% for line in message['content'] %}{% if line['type'] == 'text' %}"
    "{{line['text']}}{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}"
    "<end_of_utterance>\n{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)
SMOLVLM_MARKS = ("<|im_start|>", "<end_of_utterance>", "<fake_token_around_image>", "<image>", "<global-img>")


def smolvlm(folder: Path, kind: str = "SmolVLM", side: int = 36, patch: int = 6, layers: int = 2) -> Path:
    """SmolVLM or Idefics3, in the layout of SmolVLM-256M-Instruct; all its parameters are random."""
    letters = {letter: n for n, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    bytewise = Tokenizer(models.BPE(letters | {"ĠW": len(letters)}, [("Ġ", "W")]))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    bytewise.add_special_tokens(list(SMOLVLM_MARKS))
    vision = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
        "image_size": side,
        "patch_size": patch,
    }
    text = {
        "model_type": "llama",
        "vocab_size": VOCAB,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "rope_theta": 5e4,
        "rms_norm_eps": 1e-5,
        "max_position_embeddings": 512,
    }
    config = getattr(transformers, f"{kind}Config")(
        vision_config=vision, text_config=text, scale_factor=2, image_token_id=bytewise.token_to_id("<image>")
    )
    torch.manual_seed(9)
    model = getattr(transformers, f"{kind}ForConditionalGeneration")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * (0.3 if parameter.dim() < 2 else 0.1))
    model.generation_config.eos_token_id = bytewise.token_to_id("<end_of_utterance>")
    _save(model, folder, str(bytewise.to_str()))
    processor = {
        "do_convert_rgb": True,
        "do_image_splitting": True,
        "do_normalize": True,
        "do_pad": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_processor_type": f"{kind}ImageProcessor",
        "image_std": [0.5, 0.5, 0.5],
        "max_image_size": {"longest_edge": side},
        "resample": 1,
        "rescale_factor": 1 / 255,
        "size": {"longest_edge": 4 * side},
    }
    tokens = {
        "bos_token": SMOLVLM_MARKS[0],
        "eos_token": SMOLVLM_MARKS[1],
        "tokenizer_class": "GPT2Tokenizer",
    }
    for name, content in (
        ("preprocessor_config.json", processor),
        ("tokenizer_config.json", tokens),
        ("chat_template.json", {"chat_template": SMOLVLM_TEMPLATE}),
    ):
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


TINY: dict[str, Callable[..., Path]] = {
    "clip": clip,
    "siglip": siglip,
    "qwen2": qwen2,
    "gemma3": gemma3,
    "gpt2": gpt2,
    "t5": t5,
    "smolvlm": smolvlm,
}
