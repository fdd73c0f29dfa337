"""Where an artifact's operations ran here, and what engines that cannot run here would take of them."""
