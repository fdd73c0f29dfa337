"""The writer of albums: rows, derived data, and the file itself."""
