"""`python -m gamer`: the same as the command `gamer`."""

from gamer.main import run

run()
