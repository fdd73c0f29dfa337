"""GAMER on the device: index ← runtime ← export ← bench, and `gamer.main`, the command line above them."""
