"""Quantization of tensors: policy, calibration, blocks, palettes, and emulated fp16 arithmetic."""
