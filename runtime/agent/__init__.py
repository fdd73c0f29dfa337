"""Questions about an album that need several steps: tools, minds that choose among them, and the loop."""
