"""The five stages of a search, in order: cues, cube, refinement, graph and vectors, and what they rank by."""
