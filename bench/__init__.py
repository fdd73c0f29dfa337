"""Benchmarks of the other three rooms: cost, latency, retrieval quality, album growth; and their reports."""
