"""The Core ML target, and an interpreter (mil/) with which parity is measured on any platform."""
