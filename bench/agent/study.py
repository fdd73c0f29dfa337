"""The study of agents: its settings, and its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from gamer.runtime.errors import RuntimeFailure

from ..study.declaration import Run, Work
from ..tables import Cell, Sheet, sheet
from .ablation import Ablation
from .measure import AgentQuality, Settings, measure
from .mistakes import CLASSES
from .question_types import TYPES
from .runs import Quality, Runs
from .sets import GROUPS, AlbumRow
from .short_answers import SentenceRow
from .usage import Usage
from .whole_prompt import Unfit

_DIFFERENCES = 20  # lines


def study(run: Run[Settings]) -> AgentQuality:
    """`run.data`: the folder of the data sets; with `made`, `run.album` may take its place.

    Raises DatasetError, TraceError and RuntimeFailure.
    """
    what = run.settings
    if (run.album is None) == (not run.data) or (run.album is not None and not what.made):
        raise RuntimeFailure("give the data sets' folder, or an album and --set made=COUNT")
    if what.made and what.ablate:
        raise RuntimeFailure("--set ablate is of the albums' own queries: leave out made")
    if what.replay is not None and (what.record is not None or what.ablate):
        raise RuntimeFailure("--set replay plays what was recorded: leave out record and ablate")
    if what.endpoint is not None and what.model is None:
        raise RuntimeFailure("--set endpoint needs the name of a model: give --set model=NAME")
    if (what.model is not None) != ("openai" in what.mind):
        raise RuntimeFailure("--set mind=openai and model=NAME belong together: give both or none")
    return measure(run)


def tables(result: AgentQuality) -> list[Sheet]:
    """Those that there are figures for."""
    out = []
    for name, rows in result.albums.items():
        out += [_quality(name, rows), _mistakes(name, [row for row in rows if row.usage is not None])]
    used: dict[str, list[AlbumRow | SentenceRow]] = {name: [*rows] for name, rows in result.albums.items()}
    for said in result.sentences:
        used.setdefault(said.dataset, []).append(said)
    for name, methods in used.items():
        minds = [(row.method, row.usage, row.classes) for row in methods if row.usage is not None]
        both = [(method, usage) for method, usage, _ in minds]
        out += [_usage(name, both), _turns(name, both), _types(name, both)]
        out.append(_classes(name, {method: classes for method, _, classes in minds}))
    out += [_runs(name, rows) for name, rows in result.runs.items()]
    out += [_ablations(result.ablations), _unfit(result), _sentences(result), _steps(result)]
    return [sheet for sheet in [*out, _differences(result.differences)] if sheet.rows]


def _quality(name: str, rows: Sequence[AlbumRow]) -> Sheet:
    groups = [group for group in GROUPS if any(group in row.groups for row in rows)]
    figures = [f"{group} {figure}" for group in groups for figure in ("EM", "F1")]
    return Sheet(
        f"{name}: exact sets, F1 of sets, refused",
        ("method", *figures, "absent refused", "ms"),
        tuple((row.method, *_scores(row, groups), "" if row.ms is None else f"{row.ms:.0f}") for row in rows),
    )


def _scores(row: AlbumRow, groups: Sequence[str]) -> list[str]:
    out = []
    for group in groups:
        known = row.groups.get(group)
        out += ["", ""] if known is None else [f"{known.exact:.3f}", f"{known.f1:.3f}"]
    absent = row.groups.get("absent")
    return [*out, "" if absent is None else f"{absent.refused:.0%}"]


def _mistakes(name: str, rows: Sequence[AlbumRow]) -> Sheet:
    """Tasks by mind and group: the kinds that occur at all, the commonest first."""
    counts = {(row.method, group): Counter(found) for row in rows for group, found in row.mistakes.items()}
    kinds = [kind for kind, _ in sum(counts.values(), Counter[str]()).most_common()]
    return Sheet(
        f"{name}: what was wrong, in tasks",
        ("what", *(f"{method} {group}" for method, group in counts)),
        tuple((kind, *(found[kind] for found in counts.values())) for kind in kinds),
    )


def _classes(name: str, minds: Mapping[str, Mapping[str, int]]) -> Sheet:
    found = [kind for kind in CLASSES if any(kind in classes for classes in minds.values())]
    return Sheet(
        f"{name}: how wrong answers came about, in tasks",
        ("class", *minds),
        tuple((kind, *(classes.get(kind, 0) for classes in minds.values())) for kind in found),
    )


def _usage(name: str, rows: Sequence[tuple[str, Usage]]) -> Sheet:
    """Means of a task."""
    columns: dict[str, Callable[[tuple[str, Usage]], Cell]] = {
        "method": lambda row: row[0],
        "turns": lambda row: f"{row[1].turns:.2f}",
        "refused calls": lambda row: row[1].refused,
        "tokens read": lambda row: f"{row[1].read:.0f}",
        "written": lambda row: f"{row[1].written:.0f}",
        "known": lambda row: row[1].tokens,
        "ms calls": lambda row: f"{row[1].call_ms:.1f}",
        "ms thinking": lambda row: f"{row[1].think_ms:.1f}",
    }
    return sheet(f"{name}: what a task uses", rows, columns)


def _turns(name: str, rows: Sequence[tuple[str, Usage]]) -> Sheet:
    lines: list[tuple[Cell, ...]] = []
    tools = _tools(turn for _, usage in rows for turn in usage.by_turn)
    for method, usage in rows:
        for turn, made in enumerate(usage.by_turn, 1):
            running = f"{sum(made.values()) / max(1, usage.tasks):.0%}"
            lines.append((method, turn, running, *(made.get(tool, 0) for tool in tools), made.get("none", 0)))
    return Sheet(
        f"{name}: tasks that still run and calls, by turn",
        ("method", "turn", "still running", *tools, "no call"),
        tuple(lines),
    )


def _types(name: str, rows: Sequence[tuple[str, Usage]]) -> Sheet:
    """Shares of the calls that questions of a type make."""
    tools, lines = (
        _tools(made for _, usage in rows for made in usage.by_type.values()),
        list[tuple[Cell, ...]](),
    )
    for method, usage in rows:
        for kind in (kind for kind in TYPES if kind in usage.by_type):
            made = usage.by_type[kind]
            shares = (f"{made.get(tool, 0) / sum(made.values()):.0%}" for tool in tools)
            lines.append((method, kind, sum(made.values()), *shares))
    return Sheet(f"{name}: calls by type of question", ("method", "type", "calls", *tools), tuple(lines))


def _tools(made: Iterable[Mapping[str, int]]) -> list[str]:
    """The tools that are called, the most called first."""
    counts = sum(map(Counter, made), Counter[str]())
    return [tool for tool, _ in counts.most_common() if tool != "none"]


def _runs(name: str, rows: Sequence[Runs]) -> Sheet:
    columns: dict[str, Callable[[Runs], Cell]] = {
        "method": lambda row: row.method,
        "runs": lambda row: row.runs,
        "same answer in all": lambda row: f"{row.identical} of {row.tasks}",
        "mean EM, F1": lambda row: _both(row.mean),
        "best": lambda row: "equal" if row.equal else _both(row.best),
        "majority": lambda row: "equal" if row.equal else _both(row.majority),
    }
    return sheet(f"{name}: several runs", rows, columns)


def _both(quality: Quality) -> str:
    return f"{quality.exact:.3f}, {quality.f1:.3f}"


def _ablations(rows: Sequence[Ablation]) -> Sheet:
    columns = ("album", "method", "change", "EM", "F1", "F1 less or more", "95 %", "answers changed")
    return Sheet("ablations, over all tasks of an album", columns, tuple(map(_ablation, rows)))


def _ablation(row: Ablation) -> tuple[Cell, ...]:
    if row.interval is None:
        return (row.album, row.method, row.change, "", "", "", "", f"not run: {row.why_not}")
    low, high = row.interval
    figures = (f"{row.exact:.3f}", f"{row.f1:.3f}", f"{row.delta:+.3f}", f"{low:+.3f} to {high:+.3f}")
    return (row.album, row.method, row.change, *figures, f"{row.changed} of {row.tasks}")


def _unfit(result: AgentQuality) -> Sheet:
    columns: dict[str, Callable[[Unfit], Cell]] = {
        "album": lambda row: row.album,
        "method": lambda row: row.method,
        "photos": lambda row: row.photos,
        "tokens needed": lambda row: row.needed,
        "context": lambda row: row.context,
    }
    return sheet("does not fit", result.unfit, columns)


def _sentences(result: AgentQuality) -> Sheet:
    columns: dict[str, Callable[[SentenceRow], Cell]] = {
        "data set": lambda row: row.dataset,
        "method": lambda row: row.method,
        "questions": lambda row: row.questions,
        "evidence in 10": lambda row: f"{row.evidence:.3f}",
        "token F1": lambda row: "" if row.f1 is None else f"{row.f1:.3f}",
        "right": lambda row: "" if row.right is None else f"{row.right:.3f}",
        "refused": lambda row: f"{row.refused:.0%}",
    }
    return sheet("short answers, macro over users", result.sentences, columns)


def _steps(result: AgentQuality) -> Sheet:
    steps = result.steps
    cells = () if steps is None else ((steps.photos, steps.calls, f"{steps.p50:.1f}", f"{steps.p95:.1f}"),)
    return Sheet("a step of `rules`", ("photos", "calls", "p50 ms", "p95 ms"), cells)


def _differences(lines: Sequence[str]) -> Sheet:
    more = [f"and {len(lines) - _DIFFERENCES} more"] if len(lines) > _DIFFERENCES else []
    shown = [*lines[:_DIFFERENCES], *more]
    return Sheet(f"{len(lines)} results are not as recorded", ("where",), tuple((line,) for line in shown))


WORK = Work(Settings, study, tables)
