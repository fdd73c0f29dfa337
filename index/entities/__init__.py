"""Layer 2: entities out of memories' text, the graph between them, and their vectors."""
