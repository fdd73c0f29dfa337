"""The ExecuTorch target: lowering programs to a backend, reading them, and running Core ML delegates."""
