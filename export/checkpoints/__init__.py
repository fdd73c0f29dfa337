"""Checkpoints: configurations, weights by name, and the catalogue of the models that recipes name."""
