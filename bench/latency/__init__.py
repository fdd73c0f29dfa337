"""How long a search and its steps take, sample by sample, and whether two runs differ."""
