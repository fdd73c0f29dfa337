"""What training gives: adapters, generated memories, experts, what searches and rewards teach later."""
