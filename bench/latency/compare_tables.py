"""The table of `gamer bench compare`."""

from __future__ import annotations

from ..tables import Sheet
from .compare import Change, Comparison


def sheet(found: Comparison) -> Sheet:
    rows = tuple(_row(c) for c in found.changes)
    return Sheet(
        f"{found.a} → {found.b}, bound {found.bound:.0%}",
        ("row", "A ms", "B ms", "change", "95 %", "p", "verdict"),
        rows,
    )


def notes(found: Comparison) -> list[str]:
    out = [*found.notes]
    out += [
        f"Only in {name}: {', '.join(only)}"
        for name, only in (("A", found.only_a), ("B", found.only_b))
        if only
    ]
    count = len(found.regressions)
    return [
        *out,
        f"{count} of {len(found.changes)} rows slower by more than {found.bound:.0%}."
        if count
        else "No regression beyond the bound.",
    ]


def _row(c: Change) -> tuple[str, ...]:
    verdict = c.verdict + (", beyond the bound" if c.regression else "")
    changed = f"{c.ratio - 1:+.1%}", f"{c.low - 1:+.1%} … {c.high - 1:+.1%}", f"{c.p:.3f}"
    return f"{c.layer}: {c.step}" if c.step else c.layer, f"{c.a_ms:.3f}", f"{c.b_ms:.3f}", *changed, verdict
