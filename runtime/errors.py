"""The runtime's errors: one line that says what is wrong, where, and what to do."""

from gamer.index.errors import GamerError


class RuntimeFailure(GamerError):
    """A problem with a bundle, backend or query that the user can solve."""


class BundleError(RuntimeFailure):
    """The bundle directory contradicts its manifest."""


class NoBundle(RuntimeFailure):
    """No bundle was named, and none lies near the album."""
