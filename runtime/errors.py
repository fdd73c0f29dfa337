"""The runtime's one error: a line that says what is wrong, where, and what to do."""


class RuntimeFailure(Exception):
    """A bundle, backend or query problem that a person can act on. `str(error)` is one line."""


class BundleError(RuntimeFailure):
    """The bundle directory is not what its manifest promises."""
