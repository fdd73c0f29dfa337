"""The runtime: opens a bundle, indexes photos into an album, and searches it.

Importing any part of it turns off the telemetry of native libraries.
"""

from .telemetry import opt_out

opt_out()
