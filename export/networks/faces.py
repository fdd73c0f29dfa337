"""dlib's two face networks in plain torch: a detector that slides over a picture, and an encoder of a face.

The detector is of max-margin object detection (King 2015), the encoder a ResNet of 29 layers trained by
metric learning. In both a convolution is followed by a scale and an offset per channel, which is folded into
it. They do not know the file that their weights come from (checkpoints/dlib_file.py).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gamer.runtime.models.faces import MARGIN

MEANS = (122.782, 117.001, 104.298)  # of red, green and blue
WIDTH = 128  # of a face's vector
# (filters, halved) of the encoder's blocks.
BLOCKS = (
    *((32, False),) * 3,
    *((64, True), (64, False), (64, False), (64, False)),
    *((128, True), (128, False), (128, False)),
    *((256, True), (256, False), (256, False)),
    (256, True),
)


class _Normalised(nn.Module):
    """Takes RGB [B, H, W, 3] in 0..255 → [B, 3, H, W] around 0."""

    means: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("means", torch.tensor(MEANS).view(1, 3, 1, 1), persistent=False)

    def forward(self, pixels: Tensor) -> Tensor:
        return (pixels.permute(0, 3, 1, 2) - self.means) / 256.0


class FaceDetector(nn.Module):
    """RGB [1, H, W, 3] in 0..255 → scores [1, h, w]; a window with a score above 0 shows a face."""

    def __init__(self) -> None:
        super().__init__()
        self.normalised = _Normalised()
        shrink = [nn.Conv2d(a, b, 5, stride=2) for a, b in ((3, 16), (16, 32), (32, 32))]
        look = [nn.Conv2d(a, 45, 5, padding=2) for a in (32, 45, 45)]
        self.convolutions = nn.ModuleList([*shrink, *look, nn.Conv2d(45, 1, 9, padding=4)])

    def forward(self, pixels: Tensor) -> Tensor:
        x = F.pad(self.normalised(pixels), (MARGIN,) * 4)
        for convolution in self.convolutions[:-1]:
            x = F.relu(convolution(x))
        return torch.as_tensor(self.convolutions[-1](x)[:, 0])


class Block(nn.Module):
    """Two convolutions, added to what went in; halved, the input is averaged over 2 × 2.

    Where shapes differ (the first convolution of a halving block has no padding, and filters become more),
    the smaller one is continued with zeros.
    """

    def __init__(self, inputs: int, filters: int, halved: bool) -> None:
        super().__init__()
        self.halved, self.more = halved, filters - inputs
        self.first = nn.Conv2d(inputs, filters, 3, stride=2 if halved else 1, padding=0 if halved else 1)
        self.second = nn.Conv2d(filters, filters, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.second(F.relu(self.first(x)))
        if self.halved:
            x = F.pad(F.avg_pool2d(x, 2), (0, 0, 0, 0, 0, self.more))
            missing = int(x.shape[-1]) - int(y.shape[-1])  # pictures are square
            y = F.pad(y, (0, missing, 0, missing)) if missing else y
        return F.relu(x + y)


class FaceEncoder(nn.Module):
    """RGB [B, 150, 150, 3] in 0..255 of aligned faces → vectors [B, 128], of any length.

    Two pictures of a person are less than 0.6 apart, as a rule.
    """

    def __init__(self) -> None:
        super().__init__()
        self.normalised = _Normalised()
        self.stem = nn.Conv2d(3, BLOCKS[0][0], 7, stride=2)
        inputs = (BLOCKS[0][0], *(filters for filters, _ in BLOCKS))
        self.blocks = nn.ModuleList(Block(a, *block) for a, block in zip(inputs, BLOCKS, strict=False))
        self.project = nn.Linear(BLOCKS[-1][0], WIDTH, bias=False)

    def forward(self, pixels: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.stem(self.normalised(pixels))), 3, stride=2)
        for block in self.blocks:
            x = block(x)
        return torch.as_tensor(self.project(x.mean((2, 3))))
