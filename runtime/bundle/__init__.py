"""The bundle on disk: its manifest, and the gazetteer inside it."""
