"""The base class of this room's exceptions, whose messages say what is wrong, where, and what to do."""


class ExportError(Exception):
    """Missing or unsuitable weights, settings that a target does not support, or parity below its threshold.

    `str(error)` is one line.
    """
