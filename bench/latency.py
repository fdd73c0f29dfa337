"""Latency per retrieval layer and per component, quality of parity beside it. Measures; draws nothing.

The layers are the paper's Table 3 (Flickr): cube 0.744 s, K-D tree 0.002 s, reformulation 1.149 s, graph 0.470 s, vectors 0.352 s, 2.717 s in
all, on the authors' server with GTE-large and Qwen2-1.5B; ours are this machine's with the bundle's models. They share names, not hardware.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from gamer.runtime.answer import LAYERS
from gamer.runtime.engine import Engine
from gamer.runtime.models import Models

from . import machine

PAPER_SECONDS = {"cube": 0.744, "kdtree": 0.002, "refine": 1.149, "graph": 0.470, "vectors": 0.352}


@dataclass(frozen=True)
class Timing:
    """One row. `samples_ns` are the raw measurements; percentiles are of them. Names follow llama-bench where it has one."""

    name: str
    what: str
    samples_ns: tuple[int, ...]
    avg_ns: float
    stddev_ns: float
    p50_ns: float
    p90_ns: float
    p95_ns: float
    p99_ns: float
    macs: int | None = None
    parity: str | None = None


@dataclass(frozen=True)
class Latency:
    """A whole run: the layers of a search, then the components on one input each."""

    machine: machine.Machine
    bundle: str
    album: str
    photos: int
    backend: str
    n_threads: int
    quant: str
    refined_by: str
    queries: tuple[str, ...]
    cold_ms: float
    peak_rss_mb: float
    layers: tuple[Timing, ...]
    components: tuple[Timing, ...]
    when: str


def timing(name: str, what: str, samples: Sequence[int], macs: int | None = None, parity: str | None = None) -> Timing:
    """Statistics of nanosecond samples (at least one)."""
    values = np.asarray(samples, np.float64)
    p50, p90, p95, p99 = (float(x) for x in np.percentile(values, (50, 90, 95, 99)))
    return Timing(name, what, tuple(int(s) for s in samples), float(values.mean()), float(values.std()), p50, p90, p95, p99, macs, parity)


def repeat(run: Callable[[], object], warmup: int, repetitions: int) -> list[int]:
    """Nanoseconds of `repetitions` calls after `warmup` uncounted ones."""
    for _ in range(warmup):
        run()
    out = []
    for _ in range(repetitions):
        begin = time.perf_counter_ns()
        run()
        out.append(time.perf_counter_ns() - begin)
    return out


def measure(
    bundle: Path,
    album: Path,
    queries: Sequence[str],
    backend: str,
    threads: int,
    warmup: int,
    repetitions: int,
    refined_by: str,
    now: datetime | None,
    progress: Callable[[str], None],
) -> Latency:
    """Measures a cold search, then every layer over `queries` × `repetitions`, then every component of the bundle on one input."""
    begin = time.perf_counter_ns()
    engine = Engine.open(bundle, album, backend, threads)
    engine.search(queries[0], refined_by="fast", now=now)
    cold = (time.perf_counter_ns() - begin) / 1e6
    samples: dict[str, list[int]] = {layer: [] for layer in (*LAYERS, "all")}
    for step in range(warmup + repetitions):
        for query in queries:
            milliseconds = engine.search(query, refined_by=refined_by, now=now).trace.milliseconds
            if step >= warmup:
                for layer, value in milliseconds.items():
                    samples[layer].append(int(value * 1e6))
                samples["all"].append(int(sum(milliseconds.values()) * 1e6))
            progress(query)
    layers = tuple(timing(layer, "search layer", values) for layer, values in samples.items())
    components = tuple(_components(engine.models, warmup, repetitions, progress))
    manifest = engine.models.manifest
    found = Latency(
        machine.read(), bundle.name, album.name, len(engine.album), backend, threads, manifest.quant, refined_by, tuple(queries), round(cold, 1),
        machine.peak_rss_mb(), layers, components, datetime.now().astimezone().isoformat(timespec="seconds"),
    )  # fmt: skip
    engine.close()
    return found


def _components(models: Models, warmup: int, repetitions: int, progress: Callable[[str], None]) -> list[Timing]:
    """Each component on one input: an image, a sentence, patch features, a prompt, a token."""
    pixels = np.random.default_rng(0).integers(0, 256, (300, 400, 3), np.uint8)
    code = models.see(pixels)
    lm = models.language_model
    prompt, _ = models.prompt("refine", "coffee in spring")
    embeds = lm.embed(prompt)

    def prefill() -> None:
        lm.decoder.reset()
        lm.decoder.forward(embeds)

    def decode() -> None:
        if lm.decoder.past + 1 >= models.manifest.language.max_seq:
            prefill()
        lm.decoder.forward(embeds[:1])

    router, patches = models.session("dpe_router"), code.patches[None]
    runs: list[tuple[str, str, Callable[[], object], str]] = [
        ("image_tower", "one photo, resize included", lambda: models.see(pixels), "image_tower"),
        ("text_tower", "one query", lambda: models.text.encode(["coffee I photographed last spring"]), "text_tower"),
        ("dpe_router", "one photo", lambda: router.run({"patches": patches}), "dpe_router"),
        (
            "dpe",
            f"router and the experts it chose ({len(models.project(code.patches).experts)} of 3)",
            lambda: models.project(code.patches),
            "dpe_expert_0",
        ),
        ("llm_prefill", f"{len(prompt)} tokens", prefill, "llm_decoder"),
        ("llm_decode", "one token", decode, "llm_decoder"),
    ]
    out = []
    for name, what, run, role in runs:
        progress(name)
        component = models.manifest.component(role)
        artifact = models.manifest.artifact(role, models.backend)
        proof = artifact.parity.status if artifact.parity.minimum is None else f"cosine ≥ {artifact.parity.minimum:.4f}"
        count = len(prompt) if name == "llm_prefill" else 1
        macs = None if name == "dpe" else component.macs * count
        # Beyond the tower's cut, a query costs its own tokens, not the example's; no figure is better than a wrong one.
        out.append(timing(name, what, repeat(run, warmup, repetitions), None if name == "text_tower" else macs, proof))
    return out
