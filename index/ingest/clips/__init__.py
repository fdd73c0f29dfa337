"""Reads videos: their headers, frames, and the motion of Live Photos."""
