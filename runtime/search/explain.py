"""Cues as remarks, and cubes as lines of text, for the trace."""

from __future__ import annotations

from ..cues.parse import Cues
from ..wall_time import day
from .remarks import Remark


def cue_remarks(cues: Cues) -> tuple[Remark, ...]:
    return (
        *(Remark("time", cue.text) for cue in cues.times),
        *(Remark("place", cue.text, cue.name) for cue in cues.places),
        *(Remark("often", cue.text) for cue in cues.recurring),
        *(Remark("event", anchor.text) for anchor in cues.anchors),
        *(Remark("not", cue.text) for cue in cues.negated),
    )


def cube_lines(cues: Cues) -> tuple[str, ...]:
    lines = []
    for cube in cues.cubes[:4]:
        when = f"{day(cube.start)} to {day(cube.end)}" if cube.has_time else "any time"
        where = (
            f"{cube.south:.2f}…{cube.north:.2f} N, {cube.west:.2f}…{cube.east:.2f} E"
            if cube.has_place
            else "anywhere"
        )
        lines.append(f"{when}, {where}")
    return tuple(lines + ([f"and {len(cues.cubes) - 4} more"] if len(cues.cubes) > 4 else []))
