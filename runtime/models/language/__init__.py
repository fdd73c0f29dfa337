"""The language model: its decoder, caches, drafts, grammar and sampling; chat on top of it."""
