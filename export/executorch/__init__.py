"""The ExecuTorch target: programs lowered to a backend, and a reader of what was delegated."""
