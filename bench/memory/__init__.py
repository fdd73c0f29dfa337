"""Measures the memory of the person: evidence retrieved, changes of mind, and growth."""
