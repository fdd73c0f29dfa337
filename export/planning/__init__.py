"""Predicts an export's files and memory without reading weights, and whether a phone can run the result."""
