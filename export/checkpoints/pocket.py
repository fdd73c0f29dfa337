"""The pocket recipes' own networks from their checkpoints, ImageNet's class names, and what tokenizers need
beside a file.

One package ships a pickled checkpoint only: it is opened with `weights_only=True`, which runs no pickled
code.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ExportError
from ..networks.bert import BertShape, SentenceEncoder, hf_name
from ..networks.efficientnet_lite import LABELS, EfficientNetLite0
from . import catalogue
from .catalogue import package_dir
from .checkpoint import Checkpoint

EFFICIENTNET = catalogue.MODELS["efficientnet-lite0"]


def sentence_encoder(found: Checkpoint) -> SentenceEncoder:
    """The MiniLM text encoder in eval mode.

    Raises ExportError if the checkpoint does not fit the architecture.
    """
    config = found.config
    shape = BertShape(
        vocab=config["vocab_size"],
        hidden=config["hidden_size"],
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        intermediate=config["intermediate_size"],
        positions=config["max_position_embeddings"],
        eps=config["layer_norm_eps"],
    )
    model = SentenceEncoder(shape)
    model.load_state_dict(
        {name: found.weights.get(hf_name(name), *tensor.shape) for name, tensor in model.state_dict().items()}
    )
    model.eval()
    return model


def image_network(source: str | None = None) -> EfficientNetLite0:
    """EfficientNet-Lite0 in eval mode. The checkpoint's tensors stand in module order, so names are matched
    by place and shape.

    `source`: "random" or "random:SEED" for its true shape without its weights.
    """
    model = EfficientNetLite0()
    if source is not None:
        if source.partition(":")[0] != "random":
            raise ExportError(
                f"{source}: the {EFFICIENTNET.source} network has one checkpoint: leave its source out, or "
                "give random"
            )
        return folded(model.eval())
    path = next((package_dir(EFFICIENTNET) / "models").glob("*.pth"), None)
    if path is None:
        raise ExportError(f"weights package {EFFICIENTNET.source} holds no .pth file: reinstall it")
    tensors = list(torch.load(path, map_location="cpu", weights_only=True).values())
    _load(model, dict(zip(model.state_dict(), tensors, strict=False)), EFFICIENTNET.source)
    return folded(model.eval())


def folded(model: EfficientNetLite0) -> EfficientNetLite0:
    """Each batch norm folded into its convolution: the same function, fewer nodes to lower and nothing for a
    quantizer to match.
    """
    for module in model.modules():
        if isinstance(module, nn.Sequential) and len(module) == 2 and isinstance(module[1], nn.BatchNorm2d):
            module[0] = torch.nn.utils.fusion.fuse_conv_bn_eval(module[0], module[1])
            module[1] = nn.Identity()
    return model


def class_names() -> tuple[str, ...]:
    """The 1,000 ImageNet classes in the network's order, each as its WordNet lemmas ("tabby, tabby cat")."""
    folder = package_dir(catalogue.LABELS) / "data" / "_info"
    lemmas = dict(
        line.split("\t")[:2]
        for line in (folder / "imagenet_synset_to_lemma.txt").read_text().splitlines()
        if "\t" in line
    )
    synsets = (folder / "imagenet_synsets.txt").read_text().split()
    if len(synsets) != LABELS or any(s not in lemmas for s in synsets):
        raise ExportError(
            "timm's ImageNet class lists do not fit together: install the version in requirements-weights.txt"
        )
    return tuple(lemmas[s] for s in synsets)


def ends_of(config: catalogue.Config, tokenizer: Any) -> tuple[int, ...]:
    """The ids that end an answer: what the configuration says, and the ends of turn that chat models say
    instead.
    """
    said = config.get("eos_token_id")
    ids = set(said if isinstance(said, list) else [said])
    if tokenizer is not None:
        ids |= {
            tokenizer.token_to_id(token) for token in ("<|im_end|>", "<|endoftext|>", "<end_of_turn>", "</s>")
        }
    return tuple(sorted(ids - {None}))


def byte_tokenizer(longest: int | None, ends: int | None) -> str:
    """tokenizer.json of UTF-8 bytes, for random weights: there is no vocabulary to be true to, and every id
    is within any model's.
    """
    from tokenizers import Tokenizer, decoders, pre_tokenizers, processors
    from tokenizers.models import BPE

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(
        BPE({letter: n for n, letter in enumerate(letters)} | ({} if ends is None else {"<end>": ends}), [])
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if ends is not None:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="$A <end>", special_tokens=[("<end>", ends)]
        )
    if longest is not None:
        tokenizer.enable_truncation(longest)
    return str(tokenizer.to_str())


def _load(model: nn.Module, weights: dict[str, Tensor], source: str) -> None:
    want = model.state_dict()
    for name, tensor in want.items():
        if name not in weights:
            raise ExportError(f"{source}: no tensor for {name}: the checkpoint is of another architecture")
        if weights[name].shape != tensor.shape:
            raise ExportError(
                f"{source}: {name} has shape {list(weights[name].shape)}, the architecture wants "
                f"{list(tensor.shape)}"
            )
    if extra := sorted(set(weights) - set(want)):
        raise ExportError(f"{source}: {len(extra)} tensors are not of this architecture, first {extra[0]}")
    model.load_state_dict(weights)
