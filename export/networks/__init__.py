"""The networks in plain torch, written so that one source lowers to every target: static ranks, no
data-dependent branches.
"""
