"""The tables of an album: how they are declared, what their checksums cover, and the checks of a file."""
