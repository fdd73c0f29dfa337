"""Reads and checks profiles of phones (devices.json): theoretical peaks, bandwidth, memory, year, sources.

`cpu_*_gmacs`: peak multiply-adds per second of the performance cores, from data sheets (cores × GHz ×
multiply-adds per cycle). `gpu_fp16_gmacs`, `npu_int8_gmacs`: null where no vendor publishes a figure.
`app_memory_gb`: what a foreground app can use; assumed to be half of the memory. `cpu_watts`: sustained power
of all performance cores; assumed, and right to a factor of two, so that energy is given as a class only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from gamer.runtime.errors import RuntimeFailure

PROFILES = Path(__file__).parent / "devices.json"
_NUMBERS = (
    "cpu_ghz",
    "cpu_fp32_gmacs",
    "cpu_int8_gmacs",
    "bandwidth_gbs",
    "cache_mb",
    "memory_gb",
    "app_memory_gb",
    "cpu_watts",
)


@dataclass(frozen=True)
class Profile:
    name: str
    year: int
    soc: str
    os: str
    cpu_cores: str
    cpu_ghz: float
    cpu_fp32_gmacs: float
    cpu_int8_gmacs: float
    gpu_fp16_gmacs: float | None
    npu_int8_gmacs: float | None
    bandwidth_gbs: float
    cache_mb: float
    memory_gb: float
    app_memory_gb: float
    cpu_watts: float
    sources: tuple[str, ...]


def load(path: Path = PROFILES) -> tuple[Profile, ...]:
    """The profiles of a file. Raises RuntimeFailure naming the profile and the invalid field."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RuntimeFailure(
            f"{path}: no profiles ({str(error)[:80]}): a JSON list of them is wanted, see "
            "export/planning/devices.json"
        ) from None
    if not isinstance(raw, list) or not raw:
        raise RuntimeFailure(f"{path}: a JSON list of profiles is wanted, see export/planning/devices.json")
    profiles = tuple(_profile(item, f"{path}: profile {at}") for at, item in enumerate(raw))
    if len({p.name for p in profiles}) < len(profiles):
        raise RuntimeFailure(f"{path}: two profiles have one name: name each device once")
    return profiles


def _profile(raw: object, where: str) -> Profile:
    names = [f.name for f in fields(Profile)]
    if not isinstance(raw, dict) or set(raw) != set(names):
        unexpected = sorted(set(raw) ^ set(names)) if isinstance(raw, dict) else ["everything"]
        raise RuntimeFailure(f"{where}: missing or unknown: {', '.join(map(str, unexpected))}")
    for name in (*_NUMBERS, *(n for n in ("gpu_fp16_gmacs", "npu_int8_gmacs") if raw[n] is not None)):
        if type(raw[name]) not in (int, float) or not 0 < raw[name] < 1e7:
            raise RuntimeFailure(f"{where}: {name} is no positive number")
    if type(raw["year"]) is not int or any(
        not isinstance(raw[n], str) or not raw[n] for n in ("name", "soc", "os", "cpu_cores")
    ):
        raise RuntimeFailure(f"{where}: year is a number, name, soc, os and cpu_cores are text")
    sources = raw["sources"]
    if not isinstance(sources, list) or not sources or not all(isinstance(s, str) and s for s in sources):
        raise RuntimeFailure(f"{where}: sources: name the publications that the numbers are from")
    return Profile(**{**raw, "sources": tuple(sources)})


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
