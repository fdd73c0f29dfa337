"""The export room's one error: a line that says what, where and what to do."""


class ExportError(Exception):
    """Weights that are missing or do not fit, a target that refuses, a parity below its threshold.

    `str(error)` is one line.
    """
