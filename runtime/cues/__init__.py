"""Time and place out of a query. One door: `parse.parse`."""
