"""The base class of this room's exceptions, whose messages say what is wrong, where, and what to do."""

from gamer.index.errors import GamerError


class ExportError(GamerError):
    """Unsuitable weights, settings that a target does not support, or parity below its threshold."""
