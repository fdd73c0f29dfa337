"""The pocket recipes' image network, filled from its checkpoint; ImageNet's class names; tokenizer helpers.

EfficientNet's package contains a pickled checkpoint only: it is opened with `weights_only=True`, which runs
no pickled code.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ExportError
from ..networks.efficientnet_lite import LABELS, EfficientNetLite0
from . import catalogue, decoder_config
from .catalogue import package_dir
from .checkpoint import random_seed

EFFICIENTNET = catalogue.MODELS["efficientnet-lite0"]


def image_network(source: str | None = None) -> EfficientNetLite0:
    """EfficientNet-Lite0 in eval mode, with batch norms folded.

    The checkpoint's tensors have the module's order, so they are matched by position and shape, not by name.
    `source`: None for the package's checkpoint, or "random" or "random:SEED" for torch's initial weights.
    Raises ExportError for another source, and for a missing or unsuitable checkpoint.
    """
    if source is not None:
        if not catalogue.is_random(source):
            raise ExportError(
                f"{source}: the {EFFICIENTNET.source} network has one checkpoint: leave its source out, or "
                "give random"
            )
        # Every process that asks for a seed gets the same weights: an export's workers, and verify later.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(random_seed(source))
            return folded(EfficientNetLite0().eval())
    model = EfficientNetLite0()
    path = next((package_dir(EFFICIENTNET) / "models").glob("*.pth"), None)
    if path is None:
        raise ExportError(f"weights package {EFFICIENTNET.source} holds no .pth file: reinstall it")
    tensors = list(torch.load(path, map_location="cpu", weights_only=True).values())
    _load(model, dict(zip(model.state_dict(), tensors, strict=False)), EFFICIENTNET.source)
    return folded(model.eval())


def folded(model: EfficientNetLite0) -> EfficientNetLite0:
    """Folds each batch norm into its convolution, in place, and returns the model.

    The function computed is the same; there are fewer nodes to lower, and quantizers need not match a
    convolution with its norm.
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


def end_ids(config: catalogue.Config, tokenizer: Any) -> tuple[int, ...]:
    """The ids that end an answer, ascending: the configuration's, and the tokenizer's end-of-turn tokens.

    Chat models end an answer with an end-of-turn token that the configuration may not list.
    """
    ids = set(decoder_config.listed_ends(config))
    if tokenizer is not None:
        turns = map(tokenizer.token_to_id, ("<|im_end|>", "<|endoftext|>", "<end_of_turn>", "</s>"))
        ids |= {number for number in turns if number is not None}
    return tuple(sorted(ids))


def byte_tokenizer(longest: int | None, ends: int | None) -> str:
    """The text of tokenizer.json for a byte-level tokenizer, for models with random weights.

    Its ids fit the vocabulary of any model. `longest`: tokens to truncate to, or None. `ends`: the id of an
    end token to append, or None.
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
    expected = model.state_dict()
    for name, tensor in expected.items():
        if name not in weights:
            raise ExportError(f"{source}: no tensor for {name}: the checkpoint is of another architecture")
        if weights[name].shape != tensor.shape:
            raise ExportError(
                f"{source}: {name} has shape {list(weights[name].shape)}, the architecture wants "
                f"{list(tensor.shape)}"
            )
    if extra := sorted(set(weights) - set(expected)):
        raise ExportError(f"{source}: {len(extra)} tensors are not of this architecture, first {extra[0]}")
    model.load_state_dict(weights)
