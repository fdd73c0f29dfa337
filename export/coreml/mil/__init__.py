"""An interpreter of Core ML programs: `open_session` reads a saved .mlpackage, and torch runs it operation by
operation, on any platform.
"""

from .session import open_session as open_session
