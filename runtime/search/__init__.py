"""A search: the engine, the ranking, the refinement, and the answer that explains itself."""
