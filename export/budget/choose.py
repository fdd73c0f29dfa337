"""Chooses the bits of an export's matrices within the user's limits: what is searched, measured and decided.

The result is the settings with the choice as --keep, which the export follows and whose parity it measures.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from torch import nn

from gamer.runtime import free_memory
from gamer.runtime.bundle.manifest import Budget, BudgetPoint

from ..bundle import extras, workers
from ..bundle.limits import Limits
from ..components import components
from ..errors import ExportError
from ..planning import from_graphs, sizes
from ..planning.networks import networks, parameters
from ..quantize.quantization_policy import split
from ..recipe import Threshold
from ..settings import Settings
from . import choices, keeping, search, sensitivity
from .choices import Tensor
from .measuring import Loss

DRAWN = 24  # points of a curve that are kept
_BASE = 0.9e9  # bytes of a worker beside its weights
Tell = Callable[[str], None]
Losses = dict[str, dict[str, float]]  # Searched.name → "MATRIX=QUANT" → loss


@dataclass(frozen=True)
class Searched:
    """A component to choose for. `least`: bytes with the smallest choice everywhere."""

    role: str
    target: str
    network: nn.Module
    tensors: tuple[Tensor, ...]
    least: int
    parity: Threshold | None

    @property
    def name(self) -> str:
        return f"{self.role} for {self.target}"

    def keep(self, choice: Sequence[int]) -> sensitivity.Keep:
        return tuple((t.name, t.quants[n]) for t, n in zip(self.tensors, choice, strict=True))


@dataclass(frozen=True)
class Decided:
    searched: Searched
    options: tuple[tuple[search.Option, ...], ...]
    points: tuple[search.Point, ...]
    choice: tuple[int, ...]


def choose(
    settings: Settings, targets: tuple[str, ...], limits: Limits, jobs: int, tell: Tell
) -> tuple[Settings, tuple[Budget, ...]]:
    """The settings with the bits chosen, and what they were chosen from.

    `tell` gets a line for each step. Raises ExportError for limits that cannot be met, with the nearest that
    can.
    """
    if settings.keep:
        raise ExportError("--keep: --max-size and --min-parity choose all bits: leave it out")
    from_graphs.refuse(settings, "--max-size, --min-parity")
    built = {role: build() for role, build in networks(settings)}
    asked = [_searched(settings, limits, target, built) for target in targets]
    _check_roles(settings, limits, asked)
    if not any(asked):
        raise ExportError(
            "--max-size, --min-parity: no component here has matrices to choose bits for (convolutions, "
            "encoder-decoders, faces and token tables have none): choose --quant"
        )
    fixed = {
        target: _fixed(settings, target, built, part) for target, part in zip(targets, asked, strict=True)
    }
    for target, part in zip(targets, asked, strict=True):
        _check_least(limits, target, part, fixed[target])
    losses = _measure(settings, [s for part in asked for s in part], jobs, tell)
    decided = [
        d
        for target, part in zip(targets, asked, strict=True)
        for d in _decide(settings, limits, part, fixed[target], losses)
    ]
    reached = _reach(settings, decided, limits, jobs, tell)
    keep = tuple(
        pair
        for d, _ in reached
        for pair in keeping.placed(keeping.compact(dict(d.searched.keep(d.choice))), _place(d, targets))
    )
    budgets = tuple(_budget(settings, d, loss) for d, loss in reached)
    bars = dict(_bars(settings, reached)) | dict(settings.bars)
    return replace(settings, keep=keep, bars=tuple(bars.items())), budgets


def _place(decided: Decided, targets: tuple[str, ...]) -> str:
    role = f"{decided.searched.role}/"
    return role if len(targets) == 1 else f"{decided.searched.target}/{role}"


def _searched(
    settings: Settings, limits: Limits, target: str, built: dict[str, nn.Module]
) -> tuple[Searched, ...]:
    every = limits.total is not None or limits.parity is not None
    out = []
    for role in components.roles(settings):
        network = built.get(role)
        wanted = every or role in dict(limits.sizes)
        if network is None or not wanted or not choices.searchable(settings, role, target, network):
            continue
        tensors = choices.tensors(settings, role, target, network)
        smallest = tuple((t.name, t.quants[0]) for t in tensors)
        least = choices.size(settings, role, target, network, smallest)
        parity = dict(settings.bars).get(role, limits.parity)
        out.append(Searched(role, target, network, tensors, least, parity))
    return tuple(out)


def _fixed(
    settings: Settings, target: str, built: dict[str, nn.Module], searched: tuple[Searched, ...]
) -> int:
    """Bytes for `target` that no choice changes: other components, and the files beside them."""
    chosen = {s.role for s in searched}
    rest = (role for role in components.roles(settings) if role not in chosen)
    parts = sum(sizes.predict(settings, r, target, settings.quant_of(r, target), built[r]) for r in rest)
    return parts + extras.predict(settings, (target,))


def _check_roles(settings: Settings, limits: Limits, asked: Sequence[tuple[Searched, ...]]) -> None:
    """Raises ExportError for a size of a component that has no choice, or is not exported at all."""
    searched = {s.role for part in asked for s in part}
    for role, _ in limits.sizes:
        if role not in searched:
            which = "no matrices to choose bits for" if role in components.roles(settings) else "not exported"
            raise ExportError(f"--max-size {role}: {which} here: leave it out")


def _check_least(limits: Limits, target: str, searched: tuple[Searched, ...], fixed: int) -> None:
    for s in searched:
        asked = dict(limits.sizes).get(s.role)
        if asked is not None and asked < s.least:
            raise ExportError(
                f"--max-size {s.role}={_mb(asked)}: {s.name} takes {_mb(s.least)} at the least: ask for that"
            )
    least = fixed + sum(s.least for s in searched)
    if limits.total is not None and limits.total < least:
        parts = ", ".join(f"{s.role} {_mb(s.least)}" for s in searched)
        raise ExportError(
            f"--max-size {_mb(limits.total)}: {target} takes {_mb(least)} at the least ({parts}, the rest "
            f"{_mb(fixed)}): ask for that, or for fewer --parts"
        )


def _mb(size: float) -> str:
    """Rounded up, so that what is named is enough."""
    return f"{-(-size // 1e5) / 10:g}MB"


def _measure(settings: Settings, searched: list[Searched], jobs: int, tell: Tell) -> Losses:
    """The losses of single matrices, from the cache and from workers, which fill it."""
    losses = {s.name: sensitivity.measured(settings, s.role, s.target) for s in searched}
    tasks = [
        t for s in searched for t in sensitivity.tasks(settings, s.role, s.target, s.tensors, losses[s.name])
    ]
    if not tasks:
        return losses
    forms = sum(len(t.quants) for task in tasks for t in task.tensors)
    peak = max(_BASE + 4 * 2.2 * parameters(s.network) for s in searched) * min(jobs, len(tasks))
    free = free_memory.megabytes()
    beside = "" if free is None else f", {free / 1000:.1f} GB are free"
    tell(
        f"the search measures {forms} quantizations of matrices, in about {peak / 1e9:.1f} GB of memory"
        f"{beside}"
    )
    for done, (task, own) in enumerate(workers.run(sensitivity.measure, tasks, jobs, os.devnull), 1):
        losses[f"{task.role} for {task.target}"] |= own
        tell(f"{task.role} for {task.target}: {done} of {len(tasks)} parts measured")
    return losses


def _options(s: Searched, losses: Losses) -> tuple[tuple[search.Option, ...], ...]:
    return tuple(
        tuple(
            search.Option(quant, size - t.bytes[0], losses[s.name][f"{t.name}={quant}"])
            for quant, size in zip(t.quants, t.bytes, strict=True)
        )
        for t in s.tensors
    )


def _decide(
    settings: Settings, limits: Limits, searched: tuple[Searched, ...], fixed: int, losses: Losses
) -> list[Decided]:
    """The choice under the sizes; without one, the curve's end, from which the parity decides (_reach)."""
    options = {s.role: _options(s, losses) for s in searched}
    curves = {s.role: tuple(search.curve(options[s.role])) for s in searched}
    chosen = {s.role: curves[s.role][-1].choice for s in searched}
    for s in searched:
        if (asked := dict(limits.sizes).get(s.role)) is not None:
            chosen |= within(settings, (s,), options, asked)
    if limits.total is not None:
        free = tuple(s for s in searched if s.role not in dict(limits.sizes))
        bound = (s for s in searched if s.role in dict(limits.sizes))
        taken = sum(
            choices.size(settings, s.role, s.target, s.network, s.keep(chosen[s.role])) for s in bound
        )
        chosen |= within(settings, free, options, limits.total - fixed - taken)
    return [Decided(s, options[s.role], curves[s.role], chosen[s.role]) for s in searched]


def within(
    settings: Settings,
    searched: tuple[Searched, ...],
    options: dict[str, tuple[tuple[search.Option, ...], ...]],
    size: int,
) -> dict[str, tuple[int, ...]]:
    """The best choice for these components together in `size` bytes.

    With blocks of one size only, too: matrices that differ in it share less of what a graph has once for all
    of a size. And with the same bits for all, which a search by steps may pass by.
    """
    together = [matrix for s in searched for matrix in options[s.role]]
    smallest = search.curve(together)[0]
    every = dict.fromkeys(option.quant for matrix in together for option in matrix)
    alike = ([q for q in every if "/" not in q or q.endswith(blocks)] for blocks in choices.BLOCKS)
    alone = ([quant] for quant in every)
    tried = [_among(settings, searched, together, quants, size) for quants in (every, *alike, *alone)]
    best = min((p for p in tried if p is not None), key=lambda p: p.loss, default=smallest)
    return _divided(best.choice, searched)


def _among(
    settings: Settings,
    searched: tuple[Searched, ...],
    options: list[tuple[search.Option, ...]],
    quants: Collection[str],
    size: int,
) -> search.Point | None:
    """The best choice of these quantizations; None if a matrix has none of them, or none fits into `size`."""
    numbers = [[n for n, option in enumerate(matrix) if option.quant in quants] for matrix in options]
    if not all(numbers):
        return None
    some = [[matrix[n] for n in own] for matrix, own in zip(options, numbers, strict=True)]
    points = search.curve(some)
    room = size - _whole(settings, searched, _back(points[0], numbers)) + points[0].bytes
    for _ in range(8):  # what matrices share, such as ONNX's sums of blocks, counts only in the whole
        point = search.under(some, points, room)
        if point is None:
            return None
        excess = _whole(settings, searched, _back(point, numbers)) - size
        if excess <= 0:
            return replace(point, choice=_back(point, numbers))
        room -= excess
    return None


def _back(point: search.Point, numbers: list[list[int]]) -> tuple[int, ...]:
    return tuple(own[n] for own, n in zip(numbers, point.choice, strict=True))


def _whole(settings: Settings, searched: tuple[Searched, ...], choice: tuple[int, ...]) -> int:
    parts = _divided(choice, searched)
    return sum(choices.size(settings, s.role, s.target, s.network, s.keep(parts[s.role])) for s in searched)


def _divided(choice: tuple[int, ...], searched: tuple[Searched, ...]) -> dict[str, tuple[int, ...]]:
    out, at = dict[str, tuple[int, ...]](), 0
    for s in searched:
        out[s.role], at = choice[at : at + len(s.tensors)], at + len(s.tensors)
    return out


def _reach(
    settings: Settings, decided: list[Decided], limits: Limits, jobs: int, tell: Tell
) -> list[tuple[Decided, Loss]]:
    """Each choice with its loss, simulated as a whole; without a size, the smallest that has its parity."""
    trials = [_trial(settings, d, limits) for d in decided]
    results = dict(workers.run(sensitivity.attempt, trials, jobs, os.devnull))
    out = []
    for d, trial in zip(decided, trials, strict=True):
        number, loss = results[trial]
        choice = tuple(t.quants.index(dict(trial.keeps[number])[t.name]) for t in d.searched.tensors)
        _check_parity(settings, d, loss, limits)
        out.append((replace(d, choice=choice), loss))
        tell(f"{d.searched.name}: {_describe(loss)} simulated")
    return out


def _is_sized(limits: Limits, role: str) -> bool:
    return limits.total is not None or role in dict(limits.sizes)


def _trial(settings: Settings, d: Decided, limits: Limits) -> sensitivity.Trial:
    s = d.searched
    if _is_sized(limits, s.role):
        return sensitivity.Trial(settings, s.role, s.target, (s.keep(d.choice),))
    keeps = tuple(s.keep(point.choice) for point in d.points)
    return sensitivity.Trial(settings, s.role, s.target, keeps, s.parity)


def _check_parity(settings: Settings, d: Decided, loss: Loss, limits: Limits) -> None:
    """Raises ExportError for a choice below its parity, with what would have it."""
    s = d.searched
    if s.parity is None or sensitivity.is_enough(loss, s.parity):
        return
    if not _is_sized(limits, s.role):
        raise ExportError(
            f"--min-parity: {s.name} reaches at most {_describe(loss)} with all its bits: ask for that"
        )
    keeps = tuple(s.keep(point.choice) for point in d.points)
    number, best = sensitivity.attempt(sensitivity.Trial(settings, s.role, s.target, keeps, s.parity))
    size = choices.size(settings, s.role, s.target, s.network, keeps[number])
    raise ExportError(
        f"--min-parity: {s.name} reaches {_describe(loss)} within --max-size; {_describe(best)} takes "
        f"{_mb(size)}: allow {s.role}={_mb(size)}, or ask for less"
    )


def _describe(loss: Loss) -> str:
    return f"cosine {loss.worst:.5f}" + ("" if loss.top1 is None else f", top-1 {loss.top1:.3f}")


def _bars(settings: Settings, reached: list[tuple[Decided, Loss]]) -> list[tuple[str, Threshold]]:
    """What the artifacts must reach: the parity that was asked for, else that of the coarsest bits chosen."""
    out = list[tuple[str, Threshold]]()
    for d, _ in sorted(reached, key=lambda pair: -_bar(settings, pair[0]).cosine):
        out.append((d.searched.role, _bar(settings, d)))  # of several targets, the lowest is last
    return out


def _bar(settings: Settings, d: Decided) -> Threshold:
    s = d.searched
    quants = {split(quant, settings.group_size)[0] for _, quant in s.keep(d.choice)}
    return s.parity or min((settings.threshold(q, s.role) for q in quants), key=lambda bar: bar.cosine)


def _budget(settings: Settings, d: Decided, loss: Loss) -> Budget:
    s = d.searched
    curve = (_point(settings, s, p.choice, p.loss) for p in search.thinned(d.points, DRAWN))
    uniform = []
    for quant in choices.OF_TARGET[s.target]:
        every = tuple(_number(t, quant) for t in s.tensors)
        if sum(t.quants[n] == quant for t, n in zip(s.tensors, every, strict=True)) > len(every) / 2:
            loss_of = sum(o[n].loss for o, n in zip(d.options, every, strict=True))
            uniform.append(_point(settings, s, every, loss_of, quant))
    return Budget(s.role, s.target, tuple(curve), tuple(uniform), _point(settings, s, d.choice, loss.cost))


def _number(tensor: Tensor, quant: str) -> int:
    """A tensor's choice where all are in `quant`: a few do not have it, and get int8, or what is least."""
    names = (quant, "int8", tensor.quants[0])
    return next(tensor.quants.index(name) for name in names if name in tensor.quants)


def _point(
    settings: Settings, s: Searched, choice: tuple[int, ...], loss: float, quant: str = ""
) -> BudgetPoint:
    size = choices.size(settings, s.role, s.target, s.network, s.keep(choice))
    return BudgetPoint(size, float(f"{loss:.4g}"), quant)
