"""Reads and checks profiles of phones (devices.json): theoretical peaks, bandwidth, memory, year, sources.

`cpu_*_gmacs`: peak multiply-adds per second of the performance cores, from data sheets (cores × GHz ×
multiply-adds per cycle). `gpu_fp16_gmacs`, `npu_int8_gmacs`: null where no vendor publishes a figure.
`app_memory_gb`: what a foreground app can use; assumed to be half of the memory. `cpu_watts`: sustained power
of all performance cores; assumed, and right to a factor of two, so that energy is given as a class only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gamer.index.json_checked import Between, Items, JsonError, Text, read, read_as
from gamer.runtime.errors import RuntimeFailure

PROFILES = Path(__file__).parent / "devices.json"
_Number = Annotated[int | float, Between(0, 1e7, "()")]
_Name = Annotated[str, Text(least=1)]


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


def choose(known: Sequence[Profile], names: Sequence[str]) -> tuple[Profile, ...]:
    """The profiles with these names, ignoring case; all profiles if `names` is empty.

    Raises RuntimeFailure, with the choices, for an unknown name.
    """
    by_name = {p.name.lower(): p for p in known}
    if unknown := [n for n in names if n.lower() not in by_name]:
        raise RuntimeFailure(
            f"unknown device {unknown[0]!r}; choose from: {', '.join(p.name for p in known)}"
        )
    return tuple(by_name[n.lower()] for n in names) or tuple(known)
