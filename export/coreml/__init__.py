"""The Core ML target, and an interpreter of its programs (mil/) that proves them on any platform."""
