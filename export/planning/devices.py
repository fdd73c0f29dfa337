"""Reads and checks profiles of phones (devices.json): theoretical peaks, bandwidth, memory, year, sources.

`cpu_*_gmacs`: peak multiply-adds per second of the performance cores, from data sheets (cores × GHz ×
multiply-adds per cycle). `gpu_fp16_gmacs`, `npu_int8_gmacs`: null where no vendor publishes a figure.
`app_memory_gb`: what a foreground app can use; assumed to be half of the memory. `cpu_watts`: sustained power
of all performance cores; assumed, and right to a factor of two, so that energy is given as a class only.
`codes`: what else a phone of this profile calls itself: its maker's model code ("SM-S911B"; "SM-S911*" for
all that begin so), Android's name of the device ("shiba"), Apple's identifier ("iPhone16,1"). Where a model
has different chips by country, only the codes of those with this chip.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from gamer.index.json_checked import Between, Items, JsonError, Text, read, read_as
from gamer.runtime.errors import RuntimeFailure

PROFILES = Path(__file__).parent / "devices.json"
_Number = Annotated[int | float, Between(0, 1e7, "()")]
_Name = Annotated[str, Text(least=1)]
MAKERS = ("google", "samsung", "apple")  # Android puts the maker before the model


@dataclass(frozen=True)
class Profile:
    name: _Name
    year: int
    soc: _Name
    os: _Name
    cpu_cores: _Name
    cpu_ghz: _Number
    cpu_fp32_gmacs: _Number
    cpu_int8_gmacs: _Number
    gpu_fp16_gmacs: _Number | None
    npu_int8_gmacs: _Number | None
    bandwidth_gbs: _Number
    cache_mb: _Number
    memory_gb: _Number
    app_memory_gb: _Number
    cpu_watts: _Number
    sources: Annotated[tuple[_Name, ...], Items(least=1)]
    codes: tuple[_Name, ...] = ()

    def is_called(self, name: str) -> bool:
        """Whether a phone of this name, model code or maker and model is one of this profile; in any case."""
        plain = _plain(name)
        return any(fnmatchcase(plain, _plain(own)) for own in (self.name, *self.codes))


_Profiles = Annotated[tuple[Profile, ...], Items(least=1)]


def load(path: Path = PROFILES) -> tuple[Profile, ...]:
    """The profiles of a file. Raises RuntimeFailure naming the profile and the invalid field."""
    try:
        profiles: tuple[Profile, ...] = read_as(_Profiles, read(path), str(path))
    except JsonError as error:
        raise RuntimeFailure(f"{error}; export/planning/devices.json is an example") from None
    if len({p.name for p in profiles}) < len(profiles):
        raise RuntimeFailure(f"{path}: two profiles have one name: name each device once")
    return profiles


def _plain(name: str) -> str:
    words = name.lower().split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in MAKERS else words)


def match(known: Sequence[Profile], names: Iterable[str]) -> Profile | None:
    """The profile of a phone that calls itself by these names; None if it has none."""
    given = [name for name in names if name]
    return next((p for p in known if any(map(p.is_called, given))), None)


def nearest(known: Sequence[Profile], name: str) -> str:
    """The profile's name that is most like this one."""
    by_plain = {_plain(p.name): p.name for p in known}
    return by_plain[get_close_matches(_plain(name), by_plain, 1, 0.0)[0]]


def choose(known: Sequence[Profile], names: Sequence[str]) -> tuple[Profile, ...]:
    """The profiles with these names or codes, ignoring case; all profiles if `names` is empty.

    Raises RuntimeFailure, with the nearest and all choices, for an unknown name.
    """
    chosen = [match(known, [name]) for name in names]
    for name, profile in zip(names, chosen, strict=True):
        if profile is None:
            raise RuntimeFailure(
                f"unknown device {name!r}, most like {nearest(known, name)!r}; "
                f"choose from: {', '.join(p.name for p in known)}"
            )
    return tuple(p for p in chosen if p is not None) or tuple(known)
