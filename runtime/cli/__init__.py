"""The commands that need models. Each parses its arguments, calls one function and prints the result."""
