"""Sets measurements beside predictions, and refines with them those of their phones and of phones of their
chip.

A phone's ratio of measured to predicted time is a geometric mean over its components on the processor. The
prediction of a component is refined by the ratio of all others, so that it can be compared with its own
measurement; the interval is that of one more component by Student's t on logarithms, from two others on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean

from gamer.export.planning import devices
from gamer.export.planning.devices import Profile
from gamer.runtime.errors import RuntimeFailure

from ..latency.imported import Imported
from .device import Outlook, next_ratio

Key = tuple[str, str, str]  # device, bundle, component


@dataclass(frozen=True)
class Measured:
    """A measurement with the profile and the name of the bundle that it is of."""

    profile: Profile
    bundle: str
    run: Imported


def matched(
    runs: Sequence[Imported], profiles: Sequence[Profile], digests: Mapping[str, str]
) -> tuple[Measured, ...]:
    """Raises RuntimeFailure for a phone without a profile, or a bundle that is none of `digests` (SHA-256
    of the manifest → name); it names the nearest phone, and the bundles. Also for a component that took no
    time, of which there is no ratio.
    """
    for run in runs:
        for row in run.rows:
            if row.layer == "component" and row.p50_ns <= 0:
                raise RuntimeFailure(f"{run.device}: {row.step} has p50_ns 0, not above it: measure again")
    return tuple(Measured(profile_of(run, profiles), _bundle(run, digests), run) for run in runs)


def profile_of(run: Imported, profiles: Sequence[Profile]) -> Profile:
    if found := devices.match(profiles, run.names):
        return found
    codes = ", ".join(name for name in (run.model, run.codename) if name and name != run.device)
    raise RuntimeFailure(
        f"measured on {run.device}{codes and f' ({codes})'}, which has no profile; the nearest is "
        f"{devices.nearest(profiles, run.device)}. Add a profile (bench/README.md), or name its "
        f"PHONE:COMPONENT=FILE"
    )


def _bundle(run: Imported, digests: Mapping[str, str]) -> str:
    if not run.bundle_sha256 and len(digests) == 1:
        return next(iter(digests.values()))
    if run.bundle_sha256 in digests:
        return digests[run.bundle_sha256]
    ran = f"bundle {run.bundle_sha256[:12]}" if run.bundle_sha256 else "a model that the report does not name"
    ours = ", ".join(f"{name} ({digest[:12]})" for digest, name in digests.items())
    raise RuntimeFailure(f"{run.device} ran {ran}, which is none of {ours}: give the bundle that ran with -b")


def refined(
    outlooks: Sequence[Outlook], measured: Sequence[Measured], profiles: Sequence[Profile]
) -> tuple[Outlook, ...]:
    """The outlooks with medians beside them, and with predictions refined by those of the same chip."""
    chips = {p.name: p.soc for p in profiles}
    out = [_beside(o, measured) for o in outlooks]
    ratios = {
        (o.device, o.bundle, o.component): o.measured_ms / o.cpu_ms
        for o in out
        if o.measured_ms is not None and o.measured_on == ""
    }
    return tuple(_refined(o, ratios, chips) for o in out)


def _beside(o: Outlook, measured: Sequence[Measured]) -> Outlook:
    """The last measurement of an outlook's component; one on the processor before all others."""
    found = [
        (m.run, row)
        for m in measured
        for row in m.run.rows
        if (m.profile.name, m.bundle, row.layer, row.step) == (o.device, o.bundle, "component", o.component)
    ]
    for run, row in sorted(found, key=lambda pair: pair[0].on_processor)[-1:]:
        tokens = re.search(r"(\d+) tokens", o.on)
        scale = int(tokens[1]) / row.tokens if row.tokens and tokens else 1.0
        return replace(
            o, measured_ms=row.p50_ns / 1e6 * scale, measured_on="" if run.on_processor else run.backend
        )
    return o


def _refined(o: Outlook, ratios: Mapping[Key, float], chips: Mapping[str, str]) -> Outlook:
    own = (o.device, o.bundle, o.component)
    others = {
        key: ratio for key, ratio in ratios.items() if key != own and chips.get(key[0]) == chips.get(o.device)
    }
    if not others:
        return o
    factor = geometric_mean(others.values())
    bounds = None
    if len(others) > 1:
        bounds = next_ratio(list(others.values()))
    elif o.cpu_low_ms is not None and o.cpu_high_ms is not None:
        bounds = o.cpu_low_ms / o.cpu_ms * factor, o.cpu_high_ms / o.cpu_ms * factor
    return replace(
        o,
        refined_ms=o.cpu_ms * factor,
        refined_low_ms=bounds and o.cpu_ms * bounds[0],
        refined_high_ms=bounds and o.cpu_ms * bounds[1],
        refined_by=", ".join(dict.fromkeys(device for device, _, _ in others)),
    )


def notes(outlooks: Sequence[Outlook], measured: Sequence[Measured]) -> Iterator[str]:
    """How far off the predictions were for each measured phone, and what its measurement does not say."""
    for m in measured:
        if line := m.run.slowed():
            yield line
        if line := m.run.busy(m.run.device):
            yield line
        predicted = {o.component for o in outlooks if (o.device, o.bundle) == (m.profile.name, m.bundle)}
        steps = [row.step for row in m.run.rows if row.layer == "component"]
        if unpredicted := [step for step in steps if step not in predicted]:
            yield f"{m.profile.name}: measured, and not predicted: {', '.join(unpredicted)}."
    for device in dict.fromkeys(m.profile.name for m in measured):
        yield from _deviations([o for o in outlooks if o.device == device and o.measured_ms is not None])


def _deviations(met: Sequence[Outlook]) -> Iterator[str]:
    if elsewhere := dict.fromkeys(o.measured_on for o in met if o.measured_on):
        yield (
            f"{met[0].device} was measured on {', '.join(elsewhere)}: no prediction is for that, GPU and NPU "
            "have lower bounds alone."
        )
    known = [o for o in met if o.measured_ms is not None and not o.measured_on]
    if outside := [o for o in known if within(o) is False]:
        named = ", ".join(f"{o.component} of {o.bundle}" for o in outside)
        share = f"{len(outside)} of {len(known)} measurements"
        yield f"{met[0].device}: {share} lie outside of their 95 %: {named}."
    if known:
        factor = geometric_mean([(o.measured_ms or 0) / o.cpu_ms for o in known])
        yield (
            f"{met[0].device} took {factor:.2f} times what is predicted, over {len(known)} components "
            "(geometric mean). What was not measured, there and on phones of its chip, is refined by that."
        )


def within(o: Outlook) -> bool | None:
    """Whether a measurement on the processor lies in its prediction's interval; None without one of them."""
    if o.measured_ms is None or o.measured_on or o.cpu_low_ms is None or o.cpu_high_ms is None:
        return None
    return o.cpu_low_ms <= o.measured_ms <= o.cpu_high_ms
