"""Layer 2: entities extracted from memories' text, the graph between them, and their vectors."""
