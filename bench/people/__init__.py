"""Measures how well faces are found and grouped by person."""
