"""What language models of several sizes are worth in the tasks that a search gives them."""
