"""Fills MobileCLIP's convolutional modules, folding the parallel branches of training into one convolution.

A branch is a convolution or the identity, followed by a batch norm. All are linear, so that their sum is a
single kernel (RepVGG, Ding et al. 2021). Checkpoints that are folded already have "reparam_conv" in place of
the branches, and are used unchanged.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..networks.fastvit import AttentionBlock, ConvMlp, Downsample, FastVit, MixerBlock, Squeeze
from ..networks.mobileclip_text import TokenMixer
from .weights import Weights

EPS = 1e-5  # of a batch norm
Kernel = tuple[Tensor, Tensor]  # weight and bias


def fill_image(tower: FastVit, weights: Weights, root: str) -> None:
    """Fills the image tower from the tensors whose names begin with `root`.

    Raises ExportError for a tensor that is missing or of another shape.
    """
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
    """Fills a convolutional block of the text tower. Raises ExportError as fill_image does."""
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
    # The norm is folded into qkv: its factors scale the columns, its shift becomes a bias.
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
    """Both 1 × 1 convolutions of an MLP as matrices, with the layer scale folded into the second."""
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
    """The folded kernel of a MobileOne block.

    Its branches are a convolution, a 1 × 1 convolution if the kernel is larger than 1, and the identity if
    input and output have the same shape.
    """
    if folded := _folded(weights, root, conv):
        return folded
    kernels = [_normed(weights, f"{root}.conv_kxk.0", conv)]
    if conv.kernel_size[0] > 1:
        kernels.append(_normed(weights, f"{root}.conv_scale", conv, 1))
    if conv.in_channels == conv.out_channels and conv.stride[0] == 1:
        kernels.append(_input(weights, f"{root}.identity", conv))
    return _sum(*kernels)


def _mixed(weights: Weights, root: str, conv: nn.Conv2d) -> Kernel:
    """The folded kernel of a RepMixer, x + scale · (mixer(x) - norm(x)).

    `mixer` is a MobileOne block, `norm` a batch norm.
    """
    if folded := _folded(weights, root, conv):
        return folded
    kernel, bias = _branches(weights, f"{root}.mixer", conv)
    norm_branch = _input(weights, f"{root}.norm.identity", conv)
    scale = weights.get(f"{root}.layer_scale.gamma", conv.out_channels, 1, 1)
    return _identity(conv) + scale[:, None] * (kernel - norm_branch[0]), scale.reshape(-1) * (
        bias - norm_branch[1]
    )


def _large(weights: Weights, root: str, conv: nn.Conv2d) -> Kernel:
    """The folded kernel of a large and a 3 × 3 convolution."""
    return _folded(weights, root, conv) or _sum(
        _normed(weights, f"{root}.large_conv", conv), _normed(weights, f"{root}.small_conv", conv, 3)
    )


def _position(weights: Weights, root: str, conv: nn.Conv2d) -> Kernel:
    """The folded kernel of the position encoding: a convolution plus the identity."""
    if folded := _folded(weights, root, conv):
        return folded
    kernel, bias = _plain(weights, f"{root}.pos_enc", conv)
    return kernel + _identity(conv), bias


def _normed(weights: Weights, root: str, conv: nn.Conv2d, side: int | None = None) -> Kernel:
    """The folded kernel of a convolution and its batch norm, of `conv`'s size.

    `side`: the size of a smaller kernel, which is padded with zeros.
    """
    outputs, inputs, rows, columns = conv.weight.shape
    kernel_rows, kernel_columns = (rows, columns) if side is None else (side, side)
    kernel = weights.get(f"{root}.conv.weight", outputs, inputs, kernel_rows, kernel_columns)
    factor, shift = _norm(weights, f"{root}.bn", outputs)
    pad_columns, pad_rows = (columns - kernel_columns) // 2, (rows - kernel_rows) // 2
    return F.pad(kernel * factor[:, None, None, None], [pad_columns, pad_columns, pad_rows, pad_rows]), shift


def _input(weights: Weights, root: str, conv: nn.Conv2d) -> Kernel:
    """The kernel of a batch norm on the input itself."""
    factor, shift = _norm(weights, root, conv.in_channels)
    return _identity(conv) * factor[:, None, None, None], shift


def _norm(weights: Weights, root: str, width: int) -> Kernel:
    """A batch norm as (factor, shift): x · factor + shift."""
    scale, bias, mean, variance = (
        weights.get(f"{root}.{name}", width) for name in ("weight", "bias", "running_mean", "running_var")
    )
    factor = scale / torch.sqrt(variance + EPS)
    return factor, bias - mean * factor


def _identity(conv: nn.Conv2d) -> Tensor:
    """The kernel of the identity, of `conv`'s shape."""
    kernel = torch.zeros(conv.weight.shape)
    channels = torch.arange(conv.out_channels)
    kernel[channels, channels % kernel.shape[1], kernel.shape[2] // 2, kernel.shape[3] // 2] = 1.0
    return kernel


def _sum(*parts: Kernel) -> Kernel:
    kernels, biases = zip(*parts, strict=True)
    return torch.stack(kernels).sum(0), torch.stack(biases).sum(0)


def _put(part: nn.Conv2d | nn.Linear, kernel: Kernel) -> None:
    part.weight, part.bias = (nn.Parameter(x.contiguous(), requires_grad=False) for x in kernel)
