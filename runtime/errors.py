"""The runtime's errors: one line that says what is wrong, where, and what to do."""


class RuntimeFailure(Exception):
    """A problem with a bundle, backend or query that the user can solve. `str(error)` is one line."""


class BundleError(RuntimeFailure):
    """The bundle directory contradicts its manifest."""
