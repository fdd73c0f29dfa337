"""Measures agents: the sets and sentences that they answer, what they cost, and when they say no."""
