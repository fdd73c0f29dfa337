"""EfficientNet-Lite0 (Tan & Le 2019; the Lite variant: no squeeze-excite, ReLU6), and a ConSE head on it.

The head maps a photo into the space of a text encoder.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# (expansion, kernel, stride, channels, repeats) of Lite0, whose width and depth multipliers are 1.
STAGES = (
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)
FEATURES = 1280
LABELS = 1000
TOP_LABELS = 10  # T of ConSE


def _conv(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs, eps=1e-3),
    )


class InvertedResidual(nn.Module):
    """Expand (1×1), depthwise (k×k), project (1×1); the input is added where shapes allow."""

    def __init__(self, inputs: int, outputs: int, expansion: int, kernel: int, stride: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.expand = _conv(inputs, hidden, 1) if expansion != 1 else None
        self.depthwise = _conv(hidden, hidden, kernel, stride, groups=hidden)
        self.project = _conv(hidden, outputs, 1)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y = x if self.expand is None else F.relu6(self.expand(x))
        y = self.project(F.relu6(self.depthwise(y)))
        return x + y if self.residual else y


class EfficientNetLite0(nn.Module):
    """[B, 3, 224, 224] float32 in [-1, 1] → (logits [B, 1000], features [B, 1280, 7, 7])."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = _conv(3, 32, 3, 2)
        blocks: list[nn.Module] = []
        channels = 32
        for expansion, kernel, stride, outputs, repeats in STAGES:
            for index in range(repeats):
                blocks.append(
                    InvertedResidual(channels, outputs, expansion, kernel, stride if index == 0 else 1)
                )
                channels = outputs
        self.blocks = nn.ModuleList(blocks)
        self.head = _conv(channels, FEATURES, 1)
        self.classifier = nn.Linear(FEATURES, LABELS)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = F.relu6(self.stem(x))
        for block in self.blocks:
            x = block(x)
        x = F.relu6(self.head(x))
        return self.classifier(F.adaptive_avg_pool2d(x, 1).flatten(1)), x


class ConseTower(nn.Module):
    """Raw pixels → text space, by convex combination of label embeddings.

    ConSE: Norouzi et al. 2013, arXiv 1312.5650, Eq. 2.

    `label_vectors`: float32 [1000, D], the text encoder's L2-normalised vectors of the class names. Forward:
    pixels float32 [B, 224, 224, 3] in 0..255 → embedding [B, D] (unit length), patches [B, 49, 1280],
    label_probs [B, 1000].
    """

    def __init__(self, network: EfficientNetLite0, label_vectors: Tensor, mean: float, std: float) -> None:
        super().__init__()
        self.network, self.mean, self.std = network, mean, std
        self.register_buffer("label_vectors", label_vectors)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = (pixels.permute(0, 3, 1, 2) - self.mean) / self.std
        logits, features = self.network(x)
        probs = torch.softmax(logits, dim=-1)
        # A mask selects the T likeliest labels, because not every target has a scatter operator.
        cutoff = torch.topk(probs, TOP_LABELS, dim=-1).values[:, -1:]
        chosen = probs * (probs >= cutoff).to(probs.dtype)
        embedding = F.normalize(chosen @ self.get_buffer("label_vectors"), dim=-1)
        return embedding, features.flatten(2).transpose(1, 2), probs
