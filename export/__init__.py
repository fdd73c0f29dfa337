"""Turns checkpoints into bundles and compares every artifact with torch."""
