"""`gamer serve`: one album behind a local HTTP API, and the web page that uses it.

A request passes settings → guard (who may ask, how much, how often) → app (routes) → Engine; the routes also
use pictures, overview and memories.
"""
