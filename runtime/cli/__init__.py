"""The commands that need models: parse, call one function, print."""
