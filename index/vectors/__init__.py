"""Layer 3: vectors as signed bytes, and their nearest neighbours by scan or by graph."""
