"""Studies: measurements of interest to this project itself, declared as data and run by one driver."""
