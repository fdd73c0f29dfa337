"""The rank of a change of a linear map, as a number; knows no torch, so that --help starts fast."""

WHOLE = -1  # in place of a rank: every number of the map changes
