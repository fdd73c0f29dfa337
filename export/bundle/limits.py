"""The limits of a search for bits: bytes in all or of a component, and the parity that is to be reached."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gamer.runtime.bundle.manifest import Manifest

from ..errors import ExportError
from ..recipe import ROLES, Threshold

_UNITS = {"KB": 1e3, "MB": 1e6, "GB": 1e9}


@dataclass(frozen=True)
class Limits:
    """`total`: bytes of all that one target needs. `sizes`: (role, bytes) pairs, of one file each.

    `parity`: what each component that is searched must reach, where the settings' bars say nothing of it.
    """

    total: int | None = None
    sizes: tuple[tuple[str, int], ...] = ()
    parity: Threshold | None = None

    @property
    def given(self) -> bool:
        """Whether bits are to be chosen."""
        return self.total is not None or bool(self.sizes) or self.parity is not None


UNLIMITED = Limits()


def check(limits: Limits, manifest: Manifest, targets: tuple[str, ...]) -> None:
    """Raises ExportError for a file, or for all that a target needs, that became larger than its limit."""
    for artifact in manifest.artifacts:
        most = dict(limits.sizes).get(artifact.role)
        if most is not None and artifact.target in targets and artifact.bytes > most:
            raise ExportError(
                f"{artifact.role} for {artifact.target} became {artifact.bytes / 1e6:.2f} MB, not written: "
                f"{_again(f'{artifact.role}=', most, artifact.bytes)}"
            )
    aside = sum(file.bytes for file in manifest.files)
    for target in targets if limits.total is not None else ():
        size = aside + sum(artifact.bytes for artifact in manifest.artifacts if artifact.target == target)
        size += sum(prefix.bytes for prefix in manifest.prefixes if prefix.target == target)
        if limits.total is not None and size > limits.total:
            raise ExportError(
                f"{target} takes {size / 1e6:.2f} MB, not written: {_again('', limits.total, size)}"
            )


def _again(place: str, most: int, size: int) -> str:
    """What to ask for where `size` bytes came out of `most`: less by the excess, if that is a size."""
    less = 2 * most - size
    if less < most / 2:
        return f"allow --max-size {place}{-(-size // 10_000) / 100:g}MB"
    return f"ask for --max-size {place}{less / 1e6:.2f}MB, to stay within {most / 1e6:g} MB"


def parse_sizes(items: tuple[str, ...]) -> tuple[int | None, tuple[tuple[str, int], ...]]:
    """("300MB", "llm_decoder=90MB") → (300000000, (("llm_decoder", 90000000),)). Raises ExportError."""
    total, sizes = None, dict[str, int]()
    for item in items:
        role, equals, text = item.rpartition("=")
        matched = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMG]B)", text.strip(), re.IGNORECASE)
        if matched is None or (equals and role not in ROLES):
            raise ExportError(
                f"--max-size {item}: must be a size, or a component and its size, as in 300MB or "
                "llm_decoder=90MB"
            )
        size = int(float(matched[1]) * _UNITS[matched[2].upper()])
        if equals:
            sizes[role] = size
        else:
            total = size
    return total, tuple(sizes.items())
