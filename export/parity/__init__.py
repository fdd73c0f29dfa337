"""Parity: compares every artifact with fp32 torch on real inputs, at export and again in `gamer verify`."""
