"""`gamer serve`: one album behind a local HTTP API, and the web page that uses it.

settings → guard (who may ask, how much, how often) → app (routes) → Engine; pictures and overview stand
beside the engine.
"""
