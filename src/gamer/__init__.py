"""GAMER on the device: index ← runtime ← export ← bench, and `gamer.main`, the one command above them."""
