"""A recipe's components as torch modules with example inputs: what every target lowers."""
