"""The state of the machine during a measurement: frequency, temperature, load, stolen time.

Stolen time is what the host took from a virtual machine. What cannot be read is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import machine

CPU = Path("/sys/devices/system/cpu")
ZONES = Path("/sys/class/thermal")


@dataclass(frozen=True)
class State:
    """A reading of the machine's state.

    `throttled`: how often the processor has slowed down for heat since boot. `stolen_ticks`: clock ticks that
    the host has taken from this virtual machine since boot.
    """

    frequency_mhz: float | None
    temperature_c: float | None
    throttled: int | None
    load_1min: float | None
    stolen_ticks: int | None


def read() -> State:
    frequency = _number(CPU / "cpu0/cpufreq/scaling_cur_freq")
    zones = (
        [t for zone in sorted(ZONES.glob("thermal_zone*")) if (t := _number(zone / "temp")) is not None]
        if ZONES.is_dir()
        else []
    )
    throttled = _number(CPU / "cpu0/thermal_throttle/core_throttle_count")
    hottest = max(zones) / 1000 if zones else None
    return State(
        None if frequency is None else frequency / 1000,
        hottest,
        None if throttled is None else int(throttled),
        machine.load(),
        _stolen(),
    )


def thermal(before: State, after: State) -> str | None:
    """ "nominal" or "throttled" between two readings; None where the machine does not report it."""
    if before.throttled is None or after.throttled is None:
        return None
    return "throttled" if after.throttled > before.throttled else "nominal"


def _number(path: Path) -> float | None:
    try:
        return float(path.read_text().strip())
    except (OSError, ValueError):
        return None


def _stolen() -> int | None:
    try:
        return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])
    except (OSError, ValueError, IndexError):
        return None
