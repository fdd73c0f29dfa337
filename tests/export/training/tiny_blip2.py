"""A tiny Blip2ForImageTextRetrieval with random numbers, as transformers saves it."""

from __future__ import annotations

import json
from pathlib import Path

import torch
import transformers

SIDE = 28
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "green", "blue", "grey", "photo", "of", "a")


def write(out: Path) -> Path:
    """Writes it into the directory `out`, with a tokenizer that knows WORDS."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    torch.manual_seed(4)
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.Blip2Config(
        vision_config=small | {"image_size": SIDE, "patch_size": 7},
        qformer_config=small
        | {"vocab_size": len(WORDS), "encoder_hidden_size": 32, "use_qformer_text_input": True},
        text_config={"model_type": "opt", "hidden_size": 16, "num_hidden_layers": 1},
        num_query_tokens=4,
        image_text_hidden_size=16,
    )
    model = transformers.Blip2ForImageTextRetrieval(config)
    for parameter in model.parameters():  # as it is made, all texts are almost alike
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(out)
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(out / "tokenizer.json"))
    size = {"height": SIDE, "width": SIDE}
    (out / "preprocessor_config.json").write_text(json.dumps({"size": size, "resample": 3}))
    return out
