"""Indexing: scans photos, encodes them and writes them into an album."""
