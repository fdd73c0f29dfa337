"""What the album knows about its owner: turns of conversations, and memories drawn from them."""
