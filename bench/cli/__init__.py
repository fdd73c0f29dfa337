"""The commands of `gamer bench`. Each parses its options, calls one function of this room, and prints."""
