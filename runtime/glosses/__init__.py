"""Queries in other languages than English, understood word by word with the bundle's tables of glosses."""
