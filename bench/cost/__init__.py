"""Multiply-adds, bytes and intensity counted on exported graphs, and the roofline of this machine."""
