"""The things of an album's owner: read from memories, kept with their attributes, counted by recurrence."""
