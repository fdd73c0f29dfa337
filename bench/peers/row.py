"""A row of an exporter beside another one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PeerRow:
    """One checkpoint by one exporter. `seconds`: of the whole command; GAMER's makes a bundle. `bytes`: of
    the graphs. `graphs_seconds`: of exporting and comparing these alone; of optimum, the same as `seconds`.

    `cosine`: the worst with torch in fp32, over the inputs of parity: of vectors, or of a language model's
    logits.
    """

    model: str
    exporter: str
    seconds: float
    graphs_seconds: float
    bytes: int
    cosine: float
