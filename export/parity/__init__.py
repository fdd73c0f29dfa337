"""Parity: every artifact held against fp32 torch on real inputs, at export and again by ."""
