"""The tables of `gamer bench flops`."""

from __future__ import annotations

from collections import defaultdict

from ..tables import Record, Sheet, si
from . import reconcile
from .flops import Cost, Flops


def sheets(flops: Flops, operators: bool) -> list[Sheet]:
    out = [_components(flops), _sums(flops)]
    if flops.routing:
        out.append(_routing(flops))
    out += [_paper(flops), reconciled()]
    return out + ([_operators(cost) for cost in flops.components] if operators else [])


def _components(flops: Flops) -> Sheet:
    columns = (
        "component",
        "quant",
        "per",
        "parameters",
        "MB on disk",
        "multiply-adds",
        "other",
        "weights",
        "activations",
        "FLOPs/byte",
    )
    rows = [
        (
            c.name,
            c.quant,
            c.unit,
            f"{c.parameters:,}",
            f"{c.file_bytes / 1e6:.1f}",
            si(c.macs),
            si(c.arithmetic),
            si(c.weight_bytes, "B"),
            si(c.activation_bytes, "B"),
            f"{c.intensity:.1f}",
        )
        for c in flops.components
    ]
    return Sheet(f"{flops.bundle}: counted on the exported graphs", columns, tuple(rows))


def _sums(flops: Flops) -> Sheet:
    title = f"What a person does ({len(flops.queries)} queries of {flops.text_tokens} tokens on average)"
    return Sheet(
        title,
        ("per", "made of", "multiply-adds", "bytes"),
        tuple((s.unit, s.of, si(s.macs), si(s.bytes, "B")) for s in flops.sums),
    )


def _routing(flops: Flops) -> Sheet:
    router = (
        "its trained router"
        if flops.router_trained
        else "an untrained router: the sweep shows the mechanism, not the paper's Table 7"
    )
    rows = tuple((f"{r.rho:.1f}", f"{r.experts:.2f}", si(r.macs), f"{r.share:.0%}") for r in flops.routing)
    return Sheet(
        f"DPE by ρ over {flops.routed_photos} photos, {router}",
        ("ρ", "experts run", "multiply-adds", "of all experts"),
        rows,
    )


def _paper(flops: Flops) -> Sheet:
    rows = tuple(
        (c.what, f"{c.giga_macs:.2f}", f"{c.giga_flops:.2f}", f"{c.off:.1%}") for c in flops.candidates
    )
    columns = ("what may have been counted", "multiply-adds, G", "FLOPs (two each), G", "nearer one off by")
    return Sheet(f"The paper's Table 1: {flops.paper} G for GAMER with Qwen2-1.5B", columns, rows)


def reconciled() -> Sheet:
    """The parts of the paper's Table 1, each beside what can be counted for it."""
    rows = tuple(
        (
            line.part,
            f"{line.paper_g:.1f}",
            line.candidate.what,
            f"{line.candidate.giga_macs:.2f}",
            f"{line.candidate.giga_flops:.2f}",
            f"{line.candidate.off:.1%}",
        )
        for line in reconcile.lines()
    )
    columns = ("GAMER", "the paper, G", "counted", "multiply-adds, G", "FLOPs, G", "nearer one off by")
    return Sheet("The parts of the paper's Table 1", columns, rows)


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
