"""Tables of glosses for queries in other languages than English, made of dictionaries that are installed."""
