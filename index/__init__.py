"""The index room."""
