"""Events: segments an album's photos into events, describes each, and stores them."""
