"""Measures the language model alone: prefill, decode, first token, tokens a step, and quantization's loss.

Speed is compared with llama.cpp on the GGUF file that the bundle's weights come from and on the same in Q4_0,
its fastest format: the same tokens and thread count, in the same process. Runs alternate, so that a machine
that slows down slows all. The perplexity of each stands beside it, and the share of the memory's bandwidth
that its steps read. Quality is also compared with the same decoder in fp32, by torch.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray
from gamer.runtime.models.language.decoder import BoundDecoder
from gamer.runtime.models.language.llm import Request
from gamer.runtime.models.models import Models
from gamer.runtime.search.stages import refine

from . import llama_cpp
from .cost import ceilings
from .latency.samples import Timing, timing
from .llm_tasks import steps
from .stats import cross_entropy
from .study.declaration import About, Run, Tell, Work
from .tables import Sheet, sheet

PROMPT, DECODE = 131, 64
QUERIES = (
    "coffee I photographed last spring",
    "photo of my son at the airport last time",
    "Tom repairing the motorcycle",
    "the old temple by the lake",
)
Sources = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Settings:
    peer: Annotated[bool, About("run llama.cpp beside it, if the wheel xllamacpp is installed")] = True
    gguf: Annotated[Path | None, About("run llama.cpp on this file, and not on the bundle's own")] = None
    executorch: Annotated[bool, About("also time the bundle's ExecuTorch decoder")] = False
    quality: Annotated[bool, About("compare with the decoder in fp32; needs the weights")] = True
    weights: Annotated[tuple[str, ...], About("[PART=]SOURCE of weights of this machine's own files")] = ()
    repetitions: Annotated[int, About("counted passes", least=1, quick=2)] = 5


@dataclass(frozen=True)
class Speed:
    """Tokens a second of one engine: prefill of `prompt` tokens of prose, then `decoded` greedy tokens.

    `prefill_tps`, `decode_tps`: medians over the passes. Samples: one a pass; that of the decode comes from
    the pass's median token time, so that a few stalls of a busy machine count little. `megabytes`: of weights
    that a step reads; `bandwidth_share`: their bytes times the steps a second, over what the memory streams.
    `perplexity`: of the fixed text, None for an engine that gives one token's logits a call.
    """

    engine: str
    weights: str
    prompt: int
    decoded: int
    prefill_tps: float
    decode_tps: float
    prefill_samples: tuple[float, ...]
    decode_samples: tuple[float, ...]
    megabytes: float
    bandwidth_share: float
    perplexity: float | None


@dataclass(frozen=True)
class FirstToken:
    """Time to the first token of a refinement, without and with the shipped prefix cache.

    `without`: all prompt tokens are computed; `with_prefix`: only those after the prefix. `ratio`: the median
    with the prefix over the median without. `prompt_tokens`: of the first query's prompt.
    """

    prompt_tokens: int
    prefix_tokens: int
    without: Timing
    with_prefix: Timing
    ratio: float


@dataclass(frozen=True)
class Quality:
    """Next-token predictions at `positions` of a fixed text, compared with the same decoder in fp32.

    `top1`: the share of positions with the same likeliest token. `ratio`: `perplexity` over
    `perplexity_fp32`.
    """

    positions: int
    top1: float
    perplexity: float
    perplexity_fp32: float
    ratio: float


@dataclass(frozen=True)
class LlmReport:
    bundle: str
    n_threads: int
    quant: str
    speeds: tuple[Speed, ...]
    first: FirstToken | None
    refine: Timing
    quality: Quality | None
    stream_gbs: float
    tasks: tuple[steps.TaskSteps, ...]
    turns: tuple[steps.Turn, ...]


class Runner(Protocol):
    """An engine to time. `megabytes`: of weights that a step reads.

    `prefill` empties the cache and computes a prompt; `step` computes one more token. Both return the id of
    the likeliest next token. `scores`: the logits [S, V] after each token of a text, if it can.
    """

    name: str
    weights: str
    megabytes: float

    def prefill(self, ids: Sequence[int]) -> int: ...

    def step(self, token: int) -> int: ...

    def scores(self, ids: Sequence[int]) -> FloatArray | None: ...


class OurRunner:
    """The bundle's decoder, driven by the runtime's code."""

    def __init__(self, models: Models) -> None:
        artifact = models.manifest.artifact("llm_decoder", models.backend)
        self.name, self.weights, self._lm = f"gamer {models.backend}", artifact.quant, models.language_model
        self.megabytes = artifact.bytes / 1e6

    def prefill(self, ids: Sequence[int]) -> int:
        self._lm.decoder.reset()
        return int(np.argmax(self._lm.decoder.forward(self._lm.embed(ids))[0]))

    def step(self, token: int) -> int:
        return int(np.argmax(self._lm.decoder.forward(self._lm.embed([token]))[0]))

    def scores(self, ids: Sequence[int]) -> FloatArray | None:
        decoder = self._lm.decoder
        if not isinstance(decoder, BoundDecoder):
            return None
        decoder.reset()
        return decoder.rows(self._lm.embed(ids), None, len(ids))


def measure(run: Run[Settings]) -> LlmReport:
    """Measures speed, time to first token, refinements and, if asked, quality, on the ONNX backend.

    Raises DatasetError, BundleError, RuntimeFailure, ExportError.
    """
    from gamer.export.settings import parse_sources

    what, progress, threads, models = run.settings, run.tell, run.threads, run.models
    ids = list(models.llm_tokenizer.encode(prose()).ids)
    sources = parse_sources(models.manifest.recipe, None, what.weights)
    progress("memory")
    stream = _stream_gbs(threads)
    with tempfile.TemporaryDirectory() as folder:
        runners: list[Runner] = [OurRunner(models), *_peers(run, sources, Path(folder))]
        speeds = list(_speeds(runners, ids, DECODE, what.repetitions, stream, progress))
    if what.executorch:  # its decoder takes one token a call, in the prompt too: time fewer tokens
        other = Models.open(run.bundle, "executorch", threads)
        speeds += _speeds([OurRunner(other)], ids, 32, 2, stream, progress, 32)
    progress("first token")
    first, refined = _first(models, what.repetitions), _refine(models, what.repetitions)
    by_task = steps.measure(models, QUERIES, ids, what.repetitions, progress)
    progress("dialogue")
    dialogue = steps.turns(models, what.repetitions)
    progress("quality")
    return LlmReport(
        bundle=run.bundle.name,
        n_threads=threads,
        quant=models.manifest.artifact("llm_decoder", "onnx").quant,
        speeds=tuple(speeds),
        first=first,
        refine=refined,
        quality=_quality(models, ids, sources) if what.quality else None,
        stream_gbs=round(stream, 1),
        tasks=by_task,
        turns=dialogue,
    )


def _peers(run: Run[Settings], sources: Sources, folder: Path) -> list[Runner]:
    """llama.cpp on the packaged file and on the same in Q4_0, which is written to `folder`.

    None where it is not wanted, not installed, or has no file; a file that was named must be usable.
    """
    if not run.settings.peer:
        return []
    if not (run.settings.gguf or llama_cpp.is_installed()):
        run.tell("llama.cpp is not beside it: pip install xllamacpp")
        return []
    gguf = run.settings.gguf or _packaged(run.models, sources)
    if gguf is None:
        return []
    packaged = llama_cpp.LlamaRunner(gguf, run.threads)
    fastest = folder / f"{gguf.stem} as Q4_0.gguf"
    run.tell("llama.cpp: Q4_0")
    llama_cpp.write_q4_0(gguf, fastest)
    return [packaged, llama_cpp.LlamaRunner(fastest, run.threads)]


def _packaged(models: Models, sources: Sources) -> Path | None:
    """The .gguf file that the bundle's language model was exported from, if this machine has it."""
    from gamer.export.checkpoints.gguf_weights import GgufWeights
    from gamer.export.components import components
    from gamer.export.parity.verify import trusted_settings

    weights = components.checkpoint(trusted_settings(models.manifest, sources), "llm").weights
    return weights.path if isinstance(weights, GgufWeights) else None


def _stream_gbs(threads: int) -> float:
    """GB/s that this machine reads and writes beyond its caches: the best of several streams."""
    stream = ceilings.stream(threads)
    stream()
    seconds = []
    for _ in range(8):
        begin = time.perf_counter()
        stream()
        seconds.append(time.perf_counter() - begin)
    return ceilings.stream_gbs(min(seconds))


def prose() -> str:
    """The fixed text of all measurements: an account of a journey, written for them, some 770 tokens."""
    return Path(__file__).with_name("llm_prose.txt").read_text(encoding="utf-8")


def _speeds(
    runners: Sequence[Runner],
    text: Sequence[int],
    decoded: int,
    repetitions: int,
    stream_gbs: float,
    progress: Tell,
    prompt: int = PROMPT,
) -> list[Speed]:
    """The speeds of all engines in turn on the first `prompt` tokens of `text`, and their losses on more."""
    ids, read = text[:prompt], text[: llama_cpp.SLOTS - 64]
    samples: list[tuple[list[float], list[float]]] = [([], []) for _ in runners]
    for step in range(repetitions + 1):  # the first pass warms up and is not counted
        for runner, (prefill, decode) in zip(runners, samples, strict=True):
            progress(f"{runner.name}, pass {step}")
            begin = time.perf_counter()
            token = runner.prefill(ids)
            middle = time.perf_counter()
            steps = []
            for _ in range(decoded):
                token_begin = time.perf_counter()
                token = runner.step(token)
                steps.append(time.perf_counter() - token_begin)
            if step:
                prefill.append(len(ids) / (middle - begin))
                decode.append(1.0 / float(np.median(steps)))
    return [
        Speed(
            engine=r.name,
            weights=r.weights,
            prompt=len(ids),
            decoded=decoded,
            prefill_tps=round(float(np.median(p)), 1),
            decode_tps=round(float(np.median(d)), 1),
            prefill_samples=_rounded(p),
            decode_samples=_rounded(d),
            megabytes=round(r.megabytes, 1),
            bandwidth_share=round(r.megabytes * float(np.median(d)) / 1e3 / stream_gbs, 3),
            perplexity=_perplexity(r, read),
        )
        for r, (p, d) in zip(runners, samples, strict=True)
    ]


def _perplexity(runner: Runner, ids: Sequence[int]) -> float | None:
    scores = runner.scores(ids)
    if scores is None:
        return None
    return round(float(np.exp(cross_entropy(scores[:-1].astype(np.float64), np.array(ids[1:])).mean())), 3)


def _rounded(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(v, 1) for v in values)


def _first(models: Models, repetitions: int) -> FirstToken | None:
    """None for a bundle without prefix caches."""
    prefix = models.prefix("refine")
    if prefix is None:
        return None
    samples: dict[bool, list[int]] = {False: [], True: []}
    for step in range(repetitions + 1):
        for query in QUERIES:
            for cached in (False, True):
                models.language_model.reuse.forget()  # what the query before has in common with this one
                ids = models.prompt("refine", query)
                generation = models.language_model.generate(Request(ids, 1, plain=not cached))
                samples[cached] += [generation.first_ns] if step else []
    without, with_it = (
        timing("first_token", label, samples[cached_run])
        for label, cached_run in (("prompt computed", False), ("prefix shipped", True))
    )
    return FirstToken(
        len(models.prompt("refine", QUERIES[0])),
        len(prefix.ids),
        without,
        with_it,
        round(with_it.p50_ns / without.p50_ns, 3),
    )


def _refine(models: Models, repetitions: int) -> Timing:
    """Times complete refinements, as a search with `--refine llm` does them: prompt, generation and checks.

    No earlier answer is reused.
    """
    samples = []
    for step in range(repetitions + 1):
        for query in QUERIES:
            begin = time.perf_counter_ns()
            refine.by_llm(models, refine.RefinementRequest(query, refine.fast(query)))
            samples += [time.perf_counter_ns() - begin] if step else []
    return timing("refine", "one refinement by the model", samples)


def _quality(models: Models, ids: Sequence[int], sources: Sources) -> Quality:
    """Compares the bundle's decoder with an fp32 one, in windows of at most max_seq - 64 tokens.

    Both get the same embeddings, from the source's table. `sources`: (part, source) pairs of weights that are
    no package's; what the bundle says of them is not trusted. Raises ExportError.
    """
    from gamer.export.budget.measuring import states_and_logits
    from gamer.export.components import components
    from gamer.export.parity.verify import trusted_settings

    settings, ours = trusted_settings(models.manifest, sources), models.language_model.decoder
    step: Any = components.build(settings, "llm_decoder", "fp32").module
    table = components.build(settings, "llm_embed", "fp32").module.get_buffer("rows").numpy()
    length, compared = models.manifest.decoder().max_seq - 64, []
    for at in range(0, len(ids) - 1, length):
        window = np.array(ids[at : at + length])
        embeds = np.asarray(table[window])
        ours.reset()
        compared.append(
            _compare(ours.rows(embeds, None, len(embeds)), states_and_logits(step, embeds)[1], window)
        )
    agree, loss, loss_fp32 = (np.concatenate(column) for column in zip(*compared, strict=True))
    perplexity, perplexity_fp32 = float(np.exp(loss.mean())), float(np.exp(loss_fp32.mean()))
    return Quality(
        len(agree),
        round(float(agree.mean()), 4),
        round(perplexity, 3),
        round(perplexity_fp32, 3),
        round(perplexity / perplexity_fp32, 4),
    )


def _compare(ours: FloatArray, fp32: FloatArray, ids: NDArray[np.int64]) -> tuple[Any, Any, Any]:
    """For each predicted position: whether both logits [S, V] have the same likeliest next token, and the
    loss of each: the cross-entropy of the true next token, in nats.
    """
    scores = [logits[:-1].astype(np.float64) for logits in (ours, fp32)]
    return (scores[0].argmax(1) == scores[1].argmax(1), *(cross_entropy(s, ids[1:]) for s in scores))


def tables(result: LlmReport) -> list[Sheet | str]:
    columns: dict[str, Callable[[Speed], str]] = {
        "engine": lambda speed: speed.engine,
        "weights": lambda speed: speed.weights,
        "prefill tokens/s": lambda speed: f"{speed.prefill_tps:.0f} ({speed.prompt})",
        "decode tokens/s": lambda speed: f"{speed.decode_tps:.1f} ({speed.decoded})",
        "of the bandwidth": lambda speed: f"{speed.bandwidth_share:.0%}",
        "perplexity": lambda speed: "–" if speed.perplexity is None else f"{speed.perplexity:.2f}",
    }
    out: list[Sheet | str] = [sheet(f"{result.bundle}, {result.n_threads} threads", result.speeds, columns)]
    if (first := result.first) is not None:
        out.append(
            f"first token: {first.with_prefix.p50_ns / 1e6:.1f} ms with the prefix of {first.prefix_tokens} "
            f"tokens, {first.without.p50_ns / 1e6:.1f} ms without ({first.ratio:.2f} of it)"
        )
    out.append(f"refinement: {result.refine.p50_ns / 1e6:.0f} ms, p95 {result.refine.p95_ns / 1e6:.0f} ms")
    if (loss := result.quality) is not None:
        out.append(
            f"against fp32 on {loss.positions} positions: likeliest token equal {loss.top1:.1%}, perplexity "
            f"{loss.perplexity} / {loss.perplexity_fp32}"
        )
    return [*out, *steps.tables(result.tasks, result.turns)]


WORK = Work(Settings, measure, tables)
