"""How an album grows, and filtered nearest neighbours beside peers."""
