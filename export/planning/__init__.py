"""What an export would write and need, before a weight is read, and whether a phone can run it."""
