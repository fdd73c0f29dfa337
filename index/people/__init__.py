"""The people in an album: faces, grouped by likeness and named by the album's owner alone."""
