"""Measures how well photos are segmented into events."""
