"""The mind of a recorded task: makes its calls again over the live tools, and gives its answer.

It needs no model of its own; a search still uses the bundle's text tower. A result that is not what was
recorded is told and does not stop the task, since the acts are known.
"""

from __future__ import annotations

from ..errors import RuntimeFailure
from .calls import ToolError, name_of
from .loop import Act, Answer, End, Observation, Turns
from .recording import MAX_FOUND, Trace, TraceError, Turn, fingerprint, named
from .results import one_line
from .toolbox import Toolbox

MAX_ENDED = 1_000  # characters


class Replay:
    """`differences`: of the results since `solve`, a line each.

    Raises TraceError if the trace is of another album, or of other tools: those that tell what may not leave.
    """

    def __init__(self, toolbox: Toolbox, trace: Trace) -> None:
        if toolbox.leaving != trace.leaving:
            told = "only what may leave the device" if trace.leaving else "everything"
            raise TraceError(f"{trace.task}: recorded with tools that tell {told}: replay it with these")
        if fingerprint(toolbox.album) != trace.album:
            raise TraceError(f"{trace.task}: recorded over another album, or before photos were added to it")
        self.trace, self.differences = trace, list[str]()
        self._toolbox, self._ids = toolbox, toolbox.album.ids()

    @property
    def name(self) -> str:
        return self.trace.mind

    def solve(self, question: str, end: End) -> Turns:
        if (question, end) != (self.trace.question, self.trace.end):
            recorded = f"“{one_line(self.trace.question, 80)}” as a {self.trace.end}"
            raise TraceError(f"{self.trace.task}: the trace answers another question: {recorded}")
        self.differences.clear()
        return self._turns()

    def _turns(self) -> Turns:
        for number, turn in enumerate(self.trace.turns, 1):
            observation = yield Act(turn.thought, turn.call)
            if turn.call is not None:
                self._compare(f"turn {number}, {name_of(turn.call)}", turn, observation)
        if self.trace.ended != "answer":
            # The loop then ends the task in the same way, with what was found last.
            raise RuntimeFailure(one_line(self.trace.ended, MAX_ENDED))
        return Answer(tuple(map(self._row, self.trace.photos)), self.trace.sentence, self.trace.found)

    def _compare(self, where: str, turn: Turn, seen: Observation) -> None:
        rows = seen.result.rows
        if seen.error != turn.error:
            self.differences.append(f"{where}: {seen.error or 'no error'}; recorded: {turn.error or 'none'}")
        elif len(rows) != turn.found:
            self.differences.append(f"{where}: {len(rows)} photos; recorded: {turn.found}")
        elif (other := named(self._ids, rows[:MAX_FOUND])) != turn.photos:
            same = "the same photos in another order" if set(other) == set(turn.photos) else "other photos"
            self.differences.append(f"{where}: {same}")

    def _row(self, photo: str) -> int:
        try:
            return self._toolbox.row_of(photo)
        except ToolError:
            raise TraceError(f"{self.trace.task}: the answer names {photo}, which the album lacks") from None
