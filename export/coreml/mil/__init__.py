"""Core ML programs evaluated away from Core ML: `open_session` reads a saved .mlpackage and runs what it
says, operation by operation.
"""

from .session import open_session as open_session
