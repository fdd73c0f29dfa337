"""The language model alone: prefill, decode, time to first token with and without the shipped prefix, and
what quantization cost in quality.

The peer is llama.cpp on the GGUF file that the bundle's weights come from: the same weights, tokens, thread
count and process. Runs alternate, so that a machine that slows down slows both. Quality is held against the
same decoder in fp32, written anew from the source's weights.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray
from gamer.runtime.models.decoder import BoundDecoder
from gamer.runtime.models.llm import Request
from gamer.runtime.models.models import Models
from gamer.runtime.search import refine

from . import machine
from .latency.samples import Timing, timing
from .retrieval.datasets import DatasetError

PROMPT, DECODE = 128, 64
QUERIES = (
    "coffee I photographed last spring",
    "photo of my son at the airport last time",
    "Tom repairing the motorcycle",
    "the old temple by the lake",
)
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Speed:
    """Tokens a second on `prompt` tokens of prose and `decoded` greedy ones after them: the median prompt,
    the median token.

    Samples: tokens a second of each pass's prompt, and of each pass's median token, so that a busy machine's
    few stalls weigh little.
    """

    engine: str
    weights: str
    prompt: int
    decoded: int
    prefill_tps: float
    decode_tps: float
    prefill_samples: tuple[float, ...]
    decode_samples: tuple[float, ...]


@dataclass(frozen=True)
class First:
    """Time to the first token of a refinement: all prompt tokens computed, or only those after the shipped
    prefix.
    """

    prompt_tokens: int
    prefix_tokens: int
    without: Timing
    with_prefix: Timing
    ratio: float


@dataclass(frozen=True)
class Quality:
    """Next-token predictions on `positions` of fixed prose, against the same decoder in fp32."""

    positions: int
    top1: float
    perplexity: float
    perplexity_fp32: float
    ratio: float


@dataclass(frozen=True)
class LlmReport:
    machine: machine.Machine
    bundle: str
    n_threads: int
    quant: str
    speeds: tuple[Speed, ...]
    first: First | None
    refine: Timing
    quality: Quality | None
    when: str


class Runner(Protocol):
    """What is timed: `prefill` starts anew, `step` takes a token and returns the likeliest next one."""

    name: str
    weights: str

    def prefill(self, ids: Sequence[int]) -> int: ...

    def step(self, token: int) -> int: ...


class OurRunner:
    """The bundle's decoder through the runtime's own driver."""

    def __init__(self, models: Models) -> None:
        artifact = models.manifest.artifact("llm_decoder", models.backend)
        self.name, self.weights, self._lm = f"gamer {models.backend}", artifact.quant, models.language_model

    def prefill(self, ids: Sequence[int]) -> int:
        self._lm.decoder.reset()
        return int(np.argmax(self._lm.decoder.forward(self._lm.embed(ids))[0]))

    def step(self, token: int) -> int:
        return int(np.argmax(self._lm.decoder.forward(self._lm.embed([token]))[0]))


class LlamaRunner:
    """llama.cpp through llama-cpp-python, greedy by the same numpy."""

    name = "llama.cpp"

    def __init__(self, gguf: Path, threads: int, slots: int) -> None:
        try:
            import llama_cpp
        except ImportError:
            raise DatasetError(
                "--gguf measures llama.cpp beside: pip install llama-cpp-python (it builds from source)"
            ) from None
        if not gguf.is_file():
            raise DatasetError(f"{gguf}: no such file")
        self._llm: Any = llama_cpp.Llama(
            str(gguf),
            n_ctx=slots,
            n_batch=slots,
            n_threads=threads,
            n_threads_batch=threads,
            n_gpu_layers=0,
            verbose=False,
        )
        self.weights, self._vocab = gguf.name, int(self._llm.n_vocab())

    def _best(self) -> int:
        return int(np.argmax(np.ctypeslib.as_array(self._llm._ctx.get_logits_ith(-1), shape=(self._vocab,))))

    def prefill(self, ids: Sequence[int]) -> int:
        self._llm.reset()
        self._llm.eval(list(ids))
        return self._best()

    def step(self, token: int) -> int:
        self._llm.eval([token])
        return self._best()


def measure(
    bundle: Path,
    gguf: Path | None,
    executorch: bool,
    quality: bool,
    threads: int,
    repetitions: int,
    progress: Progress,
) -> LlmReport:
    """Everything, on the ONNX backend; ExecuTorch's speed beside it where asked. Raises DatasetError,
    BundleError, RuntimeFailure.
    """
    progress("opening")
    models = Models.open(bundle, "onnx", threads)
    ids = list(models.llm_tokenizer.encode(prose()).ids)
    runners: list[Runner] = [OurRunner(models)]
    if gguf is not None:
        runners.append(LlamaRunner(gguf, threads, models.manifest.decoder().max_seq))
    speeds = list(_speeds(runners, ids[:PROMPT], DECODE, repetitions, progress))
    if executorch:  # one token a call, prompt included: fewer of them
        speeds += _speeds([OurRunner(Models.open(bundle, "executorch", threads))], ids[:32], 32, 2, progress)
    progress("first token")
    first, refined = _first(models, repetitions), _refine(models, repetitions)
    progress("quality")
    found = _quality(models, ids) if quality else None
    quant = models.manifest.artifact("llm_decoder", "onnx").quant
    when = datetime.now().astimezone().isoformat(timespec="seconds")
    return LlmReport(
        machine=machine.read(),
        bundle=bundle.name,
        n_threads=threads,
        quant=quant,
        speeds=tuple(speeds),
        first=first,
        refine=refined,
        quality=found,
        when=when,
    )


def prose() -> str:
    """The fixed text, written for this: an account of a journey, some 770 tokens."""
    return Path(__file__).with_name("llm_prose.txt").read_text(encoding="utf-8")


def _speeds(
    runners: Sequence[Runner], ids: Sequence[int], decoded: int, repetitions: int, progress: Progress
) -> list[Speed]:
    taken: list[tuple[list[float], list[float]]] = [([], []) for _ in runners]
    for step in range(repetitions + 1):  # the first pass warms up and is not counted
        for runner, (prefill, decode) in zip(runners, taken, strict=True):
            progress(f"{runner.name}, pass {step}")
            begin = time.perf_counter()
            token = runner.prefill(ids)
            middle = time.perf_counter()
            steps = []
            for _ in range(decoded):
                at = time.perf_counter()
                token = runner.step(token)
                steps.append(time.perf_counter() - at)
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
        )
        for r, (p, d) in zip(runners, taken, strict=True)
    ]


def _rounded(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(v, 1) for v in values)


def _first(models: Models, repetitions: int) -> First | None:
    """None for a bundle without prefix caches."""
    prompts = [models.prompt("refine", query) for query in QUERIES]
    prefix = prompts[0][1]
    if prefix is None:
        return None
    samples: dict[bool, list[int]] = {False: [], True: []}
    for step in range(repetitions + 1):
        for ids, kept in prompts:
            for cached in (False, True):
                found = models.language_model.generate(Request(ids, 1, prefix=kept if cached else None))
                samples[cached] += [found.first_ns] if step else []
    without, with_it = (
        timing("first_token", what, samples[c])
        for what, c in (("prompt computed", False), ("prefix shipped", True))
    )
    return First(
        len(prompts[0][0]), len(prefix.ids), without, with_it, round(with_it.p50_ns / without.p50_ns, 3)
    )


def _refine(models: Models, repetitions: int) -> Timing:
    """A whole refinement, as a search with `--refine llm` does it: prompt, tokens, checks; nothing kept from
    before.
    """
    samples = []
    for step in range(repetitions + 1):
        for query in QUERIES:
            begin = time.perf_counter_ns()
            refine.by_llm(models, query, refine.fast(query))
            samples += [time.perf_counter_ns() - begin] if step else []
    return timing("refine", "one refinement by the model", samples)


def _quality(models: Models, ids: Sequence[int]) -> Quality:
    """The bundle's decoder against one in fp32, window by window; both see the same embeddings, from the
    source's own table.
    """
    from gamer.export.components import components
    from gamer.export.onnx import decoder_graph
    from gamer.export.settings import from_strings
    from gamer.runtime.backends import open_session
    from gamer.runtime.bundle.manifest import Artifact, Parity

    settings, language = (
        from_strings(models.manifest.settings or {"recipe": models.manifest.recipe}),
        models.manifest.decoder(),
    )
    step = components.build(settings, "llm_decoder", "fp32").module
    table = components.build(settings, "llm_embed", "fp32").module.get_buffer("rows").numpy()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fp32.onnx"
        decoder_graph.write(step, language, "fp32", path)
        draft = Artifact(
            "llm_decoder",
            "onnx",
            "fp32",
            "",
            0,
            "",
            *decoder_graph.specs(step, language.max_seq),
            Parity("", "", 0.0),
            0.0,
        )
        reference = BoundDecoder(open_session("onnx", path, draft, models.threads), language)
        ours = models.language_model.decoder
        assert isinstance(ours, BoundDecoder)
        window = language.max_seq - 64
        parts = [np.array(ids[at : at + window]) for at in range(0, len(ids), window)]
        rows = [_compare(ours, reference, np.asarray(table[part]), part) for part in parts if len(part) > 1]
    same, lost, lost_fp32 = (np.concatenate(column) for column in zip(*rows, strict=True))
    got, want = float(np.exp(lost.mean())), float(np.exp(lost_fp32.mean()))
    return Quality(
        len(same), round(float(same.mean()), 4), round(got, 3), round(want, 3), round(got / want, 4)
    )


def _compare(
    ours: BoundDecoder, reference: BoundDecoder, embeds: FloatArray, ids: NDArray[np.int64]
) -> tuple[Any, Any, Any]:
    """Per position: whether the likeliest next token is the same, and both losses of the true one."""
    scores = []
    for decoder in (ours, reference):
        decoder.reset()
        scores.append(decoder.score(embeds)[:-1].astype(np.float64))
    return (scores[0].argmax(1) == scores[1].argmax(1), *(_loss(s, ids[1:]) for s in scores))


def _loss(scores: NDArray[np.float64], next_ids: NDArray[np.int64]) -> NDArray[np.float64]:
    top = scores.max(axis=1)
    return np.asarray(
        np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - scores[np.arange(len(scores)), next_ids],
        np.float64,
    )
