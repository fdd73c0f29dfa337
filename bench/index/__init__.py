"""Measures how albums grow, and compares filtered nearest-neighbour search with other libraries."""
