"""Core ML programs evaluated away from Core ML: `open_session` reads a saved .mlpackage and runs what it says, operation by operation.

`open_native` runs the same package in Core ML itself, where there is one.
"""

from .native import open_native as open_native
from .session import open_session as open_session
