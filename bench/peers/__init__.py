"""Other programs that do the same work, driven beside this project's own."""
