"""Multiply-adds, bytes and intensity counted on exported graphs, and the roofline of the machine at hand."""
