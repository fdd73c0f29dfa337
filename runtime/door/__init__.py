"""What the project offers, in one place: an album and a bundle, as the package `gamer` hands them out.

The command, the server and MCP open albums and bundles here. Nothing in the other folders imports this one.
"""
