"""The tables of `gamer bench flops`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from ..tables import Record, Sheet, sheet, si
from . import reconcile
from .costs import Cost, Flops, Routed, Sum
from .flop_formulas import Candidate


def sheets(flops: Flops, operators: bool) -> list[Sheet]:
    out = [_components(flops), _sums(flops)]
    if flops.routing:
        out.append(_routing(flops))
    out += [_beyond(flops), _paper(flops), reconciled()]
    return out + ([_operators(cost) for cost in flops.components] if operators else [])


def _components(flops: Flops) -> Sheet:
    columns: dict[str, Callable[[Cost], str]] = {
        "component": lambda cost: cost.name,
        "quant": lambda cost: cost.quant,
        "per": lambda cost: cost.unit,
        "parameters": lambda cost: f"{cost.parameters:,}",
        "MB on disk": lambda cost: f"{cost.file_bytes / 1e6:.1f}",
        "multiply-adds": lambda cost: si(cost.macs),
        "other": lambda cost: si(cost.arithmetic),
        "weights": lambda cost: si(cost.weight_bytes, "B"),
        "activations": lambda cost: si(cost.activation_bytes, "B"),
        "FLOPs/byte": lambda cost: f"{cost.intensity:.1f}",
    }
    return sheet(f"{flops.bundle}: counted on the exported graphs", flops.components, columns)


def _beyond(flops: Flops) -> Sheet:
    """A row for each reason; the last column is of the model's own multiply-adds."""
    rows = [
        (
            cost.name,
            one.why,
            si(one.macs),
            f"+{one.macs / (cost.macs - sum(b.macs for b in cost.beyond)):.1%}",
        )
        for cost in flops.components
        for one in cost.beyond
    ]
    title = "Where the exported graphs do more than their models"
    return Sheet(title, ("component", "why", "multiply-adds", "of the model's"), tuple(rows))


def _sums(flops: Flops) -> Sheet:
    columns: dict[str, Callable[[Sum], str]] = {
        "per": lambda total: total.unit,
        "made of": lambda total: total.of,
        "multiply-adds": lambda total: si(total.macs),
        "bytes": lambda total: si(total.bytes, "B"),
    }
    title = f"What a person does ({len(flops.queries)} queries of {flops.text_tokens} tokens on average)"
    return sheet(title, flops.sums, columns)


def _routing(flops: Flops) -> Sheet:
    router = (
        "its trained router"
        if flops.router_trained
        else "an untrained router: the sweep shows the mechanism, not the paper's Table 7"
    )
    columns: dict[str, Callable[[Routed], str]] = {
        "ρ": lambda row: f"{row.rho:.1f}",
        "experts run": lambda row: f"{row.experts:.2f}",
        "multiply-adds": lambda row: si(row.macs),
        "of all experts": lambda row: f"{row.share:.0%}",
    }
    return sheet(f"DPE by ρ over {flops.routed_photos} photos, {router}", flops.routing, columns)


def _paper(flops: Flops) -> Sheet:
    columns: dict[str, Callable[[Candidate], str]] = {
        "what may have been counted": lambda one: one.what,
        "multiply-adds, G": lambda one: f"{one.giga_macs:.2f}",
        "FLOPs (two each), G": lambda one: f"{one.giga_flops:.2f}",
        "nearer one off by": lambda one: f"{one.off:.1%}",
    }
    title = f"The paper's Table 1: {flops.paper} G for GAMER with Qwen2-1.5B"
    return sheet(title, flops.candidates, columns)


def reconciled() -> Sheet:
    """The parts of the paper's Table 1, each beside what can be counted for it."""
    columns: dict[str, Callable[[reconcile.Line], str]] = {
        "GAMER": lambda line: line.part,
        "the paper, G": lambda line: f"{line.paper_g:.1f}",
        "counted": lambda line: line.candidate.what,
        "multiply-adds, G": lambda line: f"{line.candidate.giga_macs:.2f}",
        "FLOPs, G": lambda line: f"{line.candidate.giga_flops:.2f}",
        "nearer one off by": lambda line: f"{line.candidate.off:.1%}",
    }
    return sheet("The parts of the paper's Table 1", reconcile.lines(), columns)


def notes(flops: Flops) -> list[str]:
    fits = "; ".join(f"{f.giga} G in {f.counted} at {f.tokens} tokens" for f in flops.fits)
    parts = (
        "CLIP-ViT-L/14 on one image (81 G multiply-adds) and 2.2 experts (61 G at an assumed width of "
        "1024) each exceed it"
    )
    paper = (
        f"A query alone through Qwen2-1.5B can be made to fit ({fits}), but the paper states no length and "
        f"no convention, and {parts}: "
    )
    paper += f"no counting of all that its system runs gives {flops.paper} G."
    return [flops.definition.split("\n\n", 1)[-1].strip(), paper, reconcile.notes()]


def _operators(cost: Cost) -> Sheet:
    kinds: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for work in cost.operators:
        for at, value in enumerate((1, work.macs, work.arithmetic, work.weight_bytes, work.activation_bytes)):
            kinds[work.op][at] += value
    ordered = sorted(kinds.items(), key=lambda item: (-item[1][1], -item[1][3] - item[1][4]))
    rows = [
        (op, n, si(macs), si(other), si(w, "B"), si(a, "B"), f"{(2 * macs + other) / max(1, w + a):.1f}")
        for op, (n, macs, other, w, a) in ordered
    ]
    return Sheet(
        f"{cost.name}, {cost.unit}",
        ("operator", "times", "multiply-adds", "other", "weights", "activations", "FLOPs/byte"),
        tuple(rows),
    )


def record(flops: Flops, cost: Cost) -> Record:
    """One component as a machine-readable row."""
    return {
        "build_commit": flops.machine.build_commit,
        "bundle": flops.bundle,
        "component": cost.name,
        "role": cost.role,
        "quantization": cost.quant,
        "per": cost.unit,
        "model_n_params": cost.parameters,
        "model_size": cost.file_bytes,
        "macs": cost.macs,
        "arithmetic": cost.arithmetic,
        "weight_bytes": cost.weight_bytes,
        "activation_bytes": cost.activation_bytes,
        "flops_per_byte": cost.intensity,
    }
