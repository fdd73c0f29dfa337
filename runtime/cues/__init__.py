"""Reads time and place cues from a query; the entry point is `parse.parse`."""
