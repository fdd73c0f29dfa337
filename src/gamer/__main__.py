"""`python -m gamer` is the same as the command `gamer`."""

from gamer.main import run

run()
