"""Fills MobileCLIP's modules of convolutions, folding what training spreads over branches.

A branch is a convolution or the input itself, each behind a batch norm; all are linear, and so is their sum:
one kernel (RepVGG, Ding et al. 2021). A checkpoint that was folded before has "reparam_conv" in the place of
the branches, and is taken as it is.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..networks.fastvit import AttentionBlock, ConvMlp, Downsample, FastVit, MixerBlock, Squeeze
from ..networks.mobileclip_text import TokenMixer
from .weights import Weights

EPS = 1e-5  # of a batch norm
Kernel = tuple[Tensor, Tensor]


def fill_image(tower: FastVit, weights: Weights, root: str) -> None:
    """Raises ExportError for a tensor that is missing or of another shape."""
    for n, conv in enumerate(tower.stem):
        _put(conv, _branches(weights, f"{root}.stem.{n}", conv))
    for n, (down, blocks) in enumerate(zip(tower.downs, tower.stages, strict=True)):
        stage = f"{root}.stages.{n}"
        if isinstance(down, Downsample):
            _downsample(down, weights, f"{stage}.downsample.proj")
        for index, block in enumerate(blocks):
            (_mixer_block if isinstance(block, MixerBlock) else _attention_block)(
                block, weights, f"{stage}.blocks.{index}"
            )
    _put(tower.position, _position(weights, f"{root}.stages.{len(tower.stages) - 1}.pos_emb", tower.position))
    _put(tower.final, _branches(weights, f"{root}.final_conv", tower.final))
    _squeeze(tower.squeeze, weights, f"{root}.final_conv.se")
    matrix = weights.get(f"{root}.head.fc.weight", *tower.head.weight.shape[:2])
    _put(tower.head, (matrix[:, :, None, None], weights.get(f"{root}.head.fc.bias", len(matrix))))


def fill_mixer(mixer: TokenMixer, weights: Weights, root: str) -> None:
    """A block of convolutions of the text tower. Raises ExportError as fill_image does."""
    _put(mixer.mix, _mixed(weights, f"{root}.token_mixer", mixer.mix))
    _put(mixer.conv, _normed(weights, f"{root}.mlp.conv", mixer.conv))
    for linear, kernel in zip(
        (mixer.mlp.up, mixer.mlp.down),
        _mlp(weights, root, mixer.mlp.up.out_features, mixer.mlp.up.in_features),
        strict=True,
    ):
        _put(linear, kernel)


def _mixer_block(block: MixerBlock, weights: Weights, root: str) -> None:
    _put(block.mix, _mixed(weights, f"{root}.token_mixer", block.mix))
    _conv_mlp(block.mlp, weights, root, "layer_scale")


def _attention_block(block: AttentionBlock, weights: Weights, root: str) -> None:
    width, mixer = block.width, f"{root}.token_mixer"
    # norm(x) · qkv: the norm's factors go into the columns, what it adds becomes a bias.
    factor, shift = _norm(weights, f"{root}.norm", width)
    qkv = weights.get(f"{mixer}.qkv.weight", 3 * width, width)
    _put(block.qkv, ((qkv * factor)[:, :, None, None], qkv @ shift))
    out = weights.get(f"{mixer}.proj.weight", width, width), weights.get(f"{mixer}.proj.bias", width)
    matrix, bias = _scaled(weights, f"{root}.layer_scale_1", out)
    _put(block.out, (matrix[:, :, None, None], bias))
    _conv_mlp(block.mlp, weights, root, "layer_scale_2")


def _conv_mlp(mlp: ConvMlp, weights: Weights, root: str, scale: str) -> None:
    _put(mlp.conv, _normed(weights, f"{root}.mlp.conv", mlp.conv))
    for conv, (matrix, bias) in zip(
        (mlp.up, mlp.down), _mlp(weights, root, mlp.up.out_channels, mlp.up.in_channels, scale), strict=True
    ):
        _put(conv, (matrix[:, :, None, None], bias))


def _mlp(
    weights: Weights, root: str, inner: int, width: int, scale: str = "layer_scale"
) -> tuple[Kernel, Kernel]:
    """Both 1 × 1 convolutions of an mlp as matrices, the layer scale in the second."""
    up = (
        weights.get(f"{root}.mlp.fc1.weight", inner, width, 1, 1)[:, :, 0, 0],
        weights.get(f"{root}.mlp.fc1.bias", inner),
    )
    down = (
        weights.get(f"{root}.mlp.fc2.weight", width, inner, 1, 1)[:, :, 0, 0],
        weights.get(f"{root}.mlp.fc2.bias", width),
    )
    return up, _scaled(weights, f"{root}.{scale}", down)


def _scaled(weights: Weights, root: str, kernel: Kernel) -> Kernel:
    gamma = weights.get(f"{root}.gamma", len(kernel[1]), 1, 1).reshape(-1)
    return kernel[0] * gamma[:, None], kernel[1] * gamma


def _downsample(down: Downsample, weights: Weights, root: str) -> None:
    _put(down.large, _large(weights, f"{root}.0", down.large))
    if down.squeeze is not None:
        _squeeze(down.squeeze, weights, f"{root}.0.se")
    _put(down.point, _branches(weights, f"{root}.1", down.point))


def _squeeze(squeeze: Squeeze, weights: Weights, root: str) -> None:
    for name, conv in (("fc1", squeeze.down), ("fc2", squeeze.up)):
        _put(conv, _plain(weights, f"{root}.{name}", conv))


def _plain(weights: Weights, root: str, conv: nn.Conv2d) -> Kernel:
    return weights.get(f"{root}.weight", *conv.weight.shape), weights.get(f"{root}.bias", conv.out_channels)


def _folded(weights: Weights, root: str, conv: nn.Conv2d) -> Kernel | None:
    return (
        _plain(weights, f"{root}.reparam_conv", conv) if weights.has(f"{root}.reparam_conv.weight") else None
    )


def _branches(weights: Weights, root: str, conv: nn.Conv2d) -> Kernel:
    """A MobileOne block: the convolution, one of kernel 1 where it is larger, and the input where input and
    output are of one shape.
    """
    if found := _folded(weights, root, conv):
        return found
    parts = [_normed(weights, f"{root}.conv_kxk.0", conv)]
    if conv.kernel_size[0] > 1:
        parts.append(_normed(weights, f"{root}.conv_scale", conv, 1))
    if conv.in_channels == conv.out_channels and conv.stride[0] == 1:
        parts.append(_input(weights, f"{root}.identity", conv))
    return _sum(*parts)


def _mixed(weights: Weights, root: str, conv: nn.Conv2d) -> Kernel:
    """A RepMixer: x + scale · (mixer(x) - norm(x)), the first a MobileOne block, the second a batch norm."""
    if found := _folded(weights, root, conv):
        return found
    kernel, bias = _branches(weights, f"{root}.mixer", conv)
    less = _input(weights, f"{root}.norm.identity", conv)
    scale = weights.get(f"{root}.layer_scale.gamma", conv.out_channels, 1, 1)
    return _identity(conv) + scale[:, None] * (kernel - less[0]), scale.reshape(-1) * (bias - less[1])


def _large(weights: Weights, root: str, conv: nn.Conv2d) -> Kernel:
    """A large kernel beside a small one."""
    return _folded(weights, root, conv) or _sum(
        _normed(weights, f"{root}.large_conv", conv), _normed(weights, f"{root}.small_conv", conv, 3)
    )


def _position(weights: Weights, root: str, conv: nn.Conv2d) -> Kernel:
    """A convolution of the input, and the input."""
    if found := _folded(weights, root, conv):
        return found
    kernel, bias = _plain(weights, f"{root}.pos_enc", conv)
    return kernel + _identity(conv), bias


def _normed(weights: Weights, root: str, conv: nn.Conv2d, side: int | None = None) -> Kernel:
    """A convolution and its batch norm; `side`: of a smaller kernel, in the middle of one of
    `conv`'s size.
    """
    outputs, inputs, rows, columns = conv.weight.shape
    high, wide = (rows, columns) if side is None else (side, side)
    kernel = weights.get(f"{root}.conv.weight", outputs, inputs, high, wide)
    factor, shift = _norm(weights, f"{root}.bn", outputs)
    across, down = (columns - wide) // 2, (rows - high) // 2
    return F.pad(kernel * factor[:, None, None, None], [across, across, down, down]), shift


def _input(weights: Weights, root: str, conv: nn.Conv2d) -> Kernel:
    """The input behind a batch norm."""
    factor, shift = _norm(weights, root, conv.in_channels)
    return _identity(conv) * factor[:, None, None, None], shift


def _norm(weights: Weights, root: str, width: int) -> Kernel:
    """A batch norm as x · factor + shift."""
    scale, bias, mean, variance = (
        weights.get(f"{root}.{name}", width) for name in ("weight", "bias", "running_mean", "running_var")
    )
    factor = scale / torch.sqrt(variance + EPS)
    return factor, bias - mean * factor


def _identity(conv: nn.Conv2d) -> Tensor:
    """The kernel that leaves its input as it is."""
    kernel = torch.zeros(conv.weight.shape)
    channels = torch.arange(conv.out_channels)
    kernel[channels, channels % kernel.shape[1], kernel.shape[2] // 2, kernel.shape[3] // 2] = 1.0
    return kernel


def _sum(*parts: Kernel) -> Kernel:
    kernels, biases = zip(*parts, strict=True)
    return torch.stack(kernels).sum(0), torch.stack(biases).sum(0)


def _put(part: nn.Conv2d | nn.Linear, kernel: Kernel) -> None:
    part.weight, part.bias = (nn.Parameter(x.contiguous(), requires_grad=False) for x in kernel)
