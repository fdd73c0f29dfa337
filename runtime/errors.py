"""The runtime's errors: one line that says what is wrong, where, and what to do."""

from collections.abc import Iterable

from gamer.index.errors import GamerError


class RuntimeFailure(GamerError):
    """A problem with a bundle, backend or query that the user can solve."""


class BundleError(RuntimeFailure):
    """The bundle directory contradicts its manifest."""


class NoBundle(RuntimeFailure):
    """No bundle was named, and none lies near the album."""


def check_choice(what: str, name: str, choices: Iterable[str]) -> None:
    """Raises RuntimeFailure for a name that is none of the choices."""
    if name not in (known := [*choices]):
        raise RuntimeFailure(f"unknown {what} {name!r}; choose one of: {', '.join(known)}")
