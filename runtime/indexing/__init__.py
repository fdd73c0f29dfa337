"""Photos into an album: scan, encode, write."""
