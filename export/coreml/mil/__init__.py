"""Core ML programs evaluated away from Core ML: `open_session` reads a saved .mlpackage and runs what it says, operation by operation.

`open_delegate` does the same for the Core ML delegates of an ExecuTorch program.
"""

from .delegate import open_delegate as open_delegate
from .session import open_session as open_session
