"""The commands of `gamer bench`: parse, call one function, print."""
