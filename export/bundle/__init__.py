"""Writes bundles: worker processes make the artifacts in a partial folder, which is renamed when complete."""
