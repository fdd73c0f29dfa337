"""Layer 1: the K-D tree over latitude, longitude and time, and cubes as boxes of it."""
