"""Predictions for phones: this machine's measurements transferred to profiles of phones."""
