"""Reads what stands beside the pixels: EXIF, XMP, IPTC, sidecars, names of files."""
