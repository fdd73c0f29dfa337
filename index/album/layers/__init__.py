"""The layers of an open album: space, entities, vectors and words, events."""
