"""The runtime room: a bundle and an album in, answers out.

Importing any part of it turns the telemetry of native libraries off.
"""

from .telemetry import opt_out

opt_out()
