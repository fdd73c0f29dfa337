"""The two networks that read text, around PaddleOCR's graphs: pixels in, probabilities or characters out."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .from_onnx import OnnxNetwork


class _OnPixels(nn.Module):
    """RGB [B, H, W, 3] in 0..255 → what the graph makes of BGR [B, 3, H, W] in -1..1."""

    def __init__(self, network: OnnxNetwork) -> None:
        super().__init__()
        network.reverse_channels()
        self.network = network
        self.eval()

    def made(self, pixels: Tensor) -> Tensor:
        return torch.as_tensor(self.network(pixels.permute(0, 3, 1, 2) / 127.5 - 1.0))


class TextDetector(_OnPixels):
    """RGB [1, H, W, 3] in 0..255, H and W multiples of 32 → how likely a pixel is of a line: [1, H · W].

    In one row, because parity compares rows, and of an empty one there is nothing to compare.
    """

    def forward(self, pixels: Tensor) -> Tensor:
        return self.made(pixels).flatten(1)


class TextRecogniser(_OnPixels):
    """RGB [B, 48, W, 3] in 0..255 → the likeliest character at each step and its probability: [B, W / 8].

    Characters are whole numbers in float32, which every target has: 0 for none.
    """

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        likely = self.made(pixels)
        return likely.argmax(2).to(torch.float32), likely.amax(2)
