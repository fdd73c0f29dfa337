"""Quantization of tensors: which scheme each gets, blocks and palettes, and fp16 arithmetic emulated."""
