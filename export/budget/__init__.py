"""Bits under a budget: each matrix gets the quantization that its loss and its bytes are worth.

The limits that a user asks for stand with the bundle (bundle/limits.py). `choices` is what a target has for
each matrix, `simulation` a quantized matrix in torch, `measuring` and `sensitivity` what one of them alone
costs, `search` the choice, `keeping` the choice as --keep, `choose` all of it for an export.
"""
