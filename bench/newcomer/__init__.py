"""Measures what a newcomer meets: an album drawn by rule from another package's pictures, and its queries."""
