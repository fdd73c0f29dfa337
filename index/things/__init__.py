"""The things of an album's owner: seen in memories by rules, kept with their attributes, counted by recurrence."""
