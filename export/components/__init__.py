"""A recipe's components as torch modules with example inputs, ready to be lowered."""
