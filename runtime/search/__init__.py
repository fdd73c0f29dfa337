"""Search: the engine, the query refinement, the ranking, and the answer with its trace."""
