"""The cost of a bundle's components: multiply-adds, bytes and intensity of every operator.

From them follow the costs of an image, a token, a query and a photo. The exported ONNX graphs are counted
(graph.py) by the definition in counting.py. Only the router, whose choices decide what the experts cost, and
the image tower that feeds it are run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gamer.index import Album, FloatArray, Photo, load_pixels, scan
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle.manifest import Artifact, Manifest
from gamer.runtime.defaults import PHRASING
from gamer.runtime.errors import BundleError
from gamer.runtime.models.models import Models
from gamer.runtime.models.router import choose

from .. import machine
from ..published import PAPER
from . import counting, flop_formulas, graph
from .beyond import Beyond, beyond
from .component_runs import TEXT_TOKENS, prompt_of
from .counting import Work

RHOS = tuple(n / 10 for n in range(1, 11))
ROUTED = 64  # at most so many photos are routed
DECODED = 12  # decoded tokens of a refinement
MEMORY_WORDS = "Breakfast with Anna on the terrace above the harbour, the day before we flew home"


@dataclass(frozen=True)
class Cost:
    """The cost of one component for one `unit` of work.

    `parameters`: torch's count, from the manifest. `constants`: the count of the graph's own constants that
    are multiplied or added, which include fused constants, block-sum columns and tables of labels. `macs`,
    `arithmetic` and the bytes are divided by the units of the run: for a prompt they are those of one token.
    `operators` are those of the whole run. `beyond`: the part of `macs` that the model itself does not have.
    """

    name: str
    role: str
    quant: str
    unit: str
    parameters: int
    constants: int
    file_bytes: int
    macs: float
    arithmetic: float
    weight_bytes: float
    activation_bytes: float
    intensity: float
    operators: tuple[Work, ...]
    beyond: tuple[Beyond, ...] = ()

    @property
    def bytes(self) -> float:
        return self.weight_bytes + self.activation_bytes


@dataclass(frozen=True)
class Sum:
    """The cost of a user's action, or of a scan of the album. `of`: its summands."""

    unit: str
    of: str
    macs: float
    bytes: float


@dataclass(frozen=True)
class Routed:
    """The expected cost of the DPE at one ρ (the paper's Table 7 sweeps it), averaged over the photos.

    `experts`: how many Eq. 1 chooses. `macs`: of the router and the chosen experts; `share`: relative to the
    router and all experts.
    """

    rho: float
    experts: float
    macs: float
    share: float


@dataclass(frozen=True)
class Flops:
    machine: machine.Machine
    bundle: str
    recipe: str
    quant: str
    definition: str
    queries: tuple[str, ...]
    text_tokens: float
    prompt_tokens: int
    prefix_tokens: int
    components: tuple[Cost, ...]
    sums: tuple[Sum, ...]
    routing: tuple[Routed, ...]
    routed_photos: int
    router_trained: bool
    paper: float
    candidates: tuple[flop_formulas.Candidate, ...]
    fits: tuple[flop_formulas.Fit, ...]


def cost(
    bundle: Path,
    manifest: Manifest,
    role: str,
    name: str,
    unit: str,
    dims: Mapping[str, int],
    past: int = 0,
    per: int = 1,
) -> Cost:
    """The cost of a component's ONNX graph with its dimensions bound to `dims`, divided by `per`.

    Raises BundleError, GraphError.
    """
    artifact, component = manifest.artifact(role, "onnx"), manifest.component(role)
    read = graph.read(mf.check_one(bundle, artifact), dims, past)
    works = counting.count(read)
    macs, arithmetic = sum(w.macs for w in works), sum(w.arithmetic for w in works)
    weights, activations = sum(w.weight_bytes for w in works), sum(w.activation_bytes for w in works)
    intensity = (2 * macs + arithmetic) / max(1, weights + activations)
    constants = sum(w.parameters for w in works)
    numbers = (macs / per, arithmetic / per, weights / per, activations / per, intensity)
    return Cost(
        name,
        role,
        artifact.quant,
        unit,
        component.parameters,
        constants,
        artifact.bytes,
        *numbers,
        works,
        beyond(read, per),
    )


def measure(
    bundle: Path,
    album: Path | None,
    queries: Sequence[str],
    photos: int,
    threads: int,
    given: Mapping[str, int],
    progress: Callable[[str], None],
) -> Flops:
    """Counts every component of `bundle` and routes the photos of `album` (default: the sample's photos)."""
    models = Models.open(bundle, "onnx", threads, allow_random=True)
    lengths = _Lengths.of(models, queries)
    costs = tuple(_components(bundle, models.manifest, lengths, given, progress))
    progress("router")
    weights = routes(models, album)
    trained = any(c.role == "dpe_router" and c.trained for c in models.manifest.components)
    return Flops(
        machine=machine.read(),
        bundle=bundle.name,
        recipe=models.manifest.recipe,
        quant=models.manifest.quant,
        definition=counting.__doc__ or "",
        queries=tuple(queries),
        text_tokens=lengths.text,
        prompt_tokens=lengths.prompt,
        prefix_tokens=lengths.prefix,
        components=costs,
        sums=_sums(costs, lengths, photos, models.manifest.dim),
        routing=_sweep(costs, weights),
        routed_photos=len(weights),
        router_trained=trained,
        paper=PAPER.gamer_g,
        candidates=flop_formulas.candidates(),
        fits=flop_formulas.fits(),
    )


@dataclass(frozen=True)
class _Lengths:
    """Lengths in tokens: means over the queries, as the engine encodes them, and those of single texts.

    `text`: a query alone; `phrased`: a query in a sentence; `memory`: a memory; `prompt` and `prefix`: the
    refinement's prompt and its prefix.
    """

    text: float
    phrased: float
    memory: int
    prompt: int
    prefix: int

    @classmethod
    def of(cls, models: Models, queries: Sequence[str]) -> _Lengths:
        alone, phrased, memory = float(TEXT_TOKENS), 2.0 * TEXT_TOKENS, 3 * TEXT_TOKENS
        if models.manifest.has_file("text_tokenizer.json") and any(
            a.role == "text_tower" for a in models.manifest.artifacts
        ):
            ids = models.text.ids
            alone = float(np.mean([len(ids(q)) for q in queries]))
            phrased, memory = (
                float(np.mean([len(ids(PHRASING.format(q))) for q in queries])),
                len(ids(MEMORY_WORDS)),
            )
        prompt, prefix = prompt_of(models, queries[0]) if models.manifest.language else ((), None)
        return cls(
            round(alone, 1), round(phrased, 1), memory, len(prompt), 0 if prefix is None else len(prefix.ids)
        )


def _components(
    bundle: Path,
    manifest: Manifest,
    lengths: _Lengths,
    given: Mapping[str, int],
    progress: Callable[[str], None],
) -> list[Cost]:
    runs = _runs(manifest, lengths)
    out = []
    for role in dict.fromkeys(a.role for a in manifest.artifacts if a.target == "onnx"):
        progress(role)
        artifact = manifest.artifact(role, "onnx")
        for name, unit, tokens, past, per in runs.get(
            role, ((role, manifest.component(role).macs_per, 1, 0, 1),)
        ):
            fixed = _fixed_tokens(artifact) if role == "text_tower" else None
            source = {"source": max(2, lengths.prompt)} if name == "llm_decode" else {}
            dims = graph.dims_of(fixed or tokens, past, source | dict(given))
            out.append(
                cost(
                    bundle,
                    manifest,
                    role,
                    name,
                    f"text of {fixed} tokens, fixed" if fixed else unit,
                    dims,
                    past,
                    per,
                )
            )
    if not out:
        raise BundleError(f"{bundle}: no ONNX artifact to count: export it with --targets onnx")
    return out


def _runs(manifest: Manifest, lengths: _Lengths) -> dict[str, tuple[tuple[str, str, int, int, int], ...]]:
    """Role → its rows: (name, unit, tokens, past, divisor).

    A role that is not in the result gets one row, counted on the unit in the manifest.
    """
    prompt, fresh = max(2, lengths.prompt), max(1, lengths.prompt - lengths.prefix)
    text, sentence = max(1, round(lengths.text)), max(1, round(lengths.phrased))
    prefill = (
        ("llm_prefill", f"prompt token, of {prompt}", prompt, 0, prompt),
        (
            "llm_prefill_after_prefix",
            f"prompt token, of {fresh} after {lengths.prefix} in the prefix",
            fresh,
            lengths.prefix,
            fresh,
        ),
    )
    # The encoder of an encoder-decoder reads the prompt; its decoder begins with the answer.
    encoder_decoder = any(a.role == "llm_encoder" for a in manifest.artifacts)
    decode = (
        "llm_decode",
        f"decoded token, {prompt} read" if encoder_decoder else f"decoded token, at {prompt} in the cache",
        1,
        1 if encoder_decoder else prompt,
        1,
    )
    return {
        "text_tower": (
            ("text_tower", f"text of {text} tokens", text, 0, 1),
            ("text_sentence", f"query in a sentence, {sentence} tokens", sentence, 0, 1),
            ("text_memory", f"memory of {lengths.memory} tokens", lengths.memory, 0, 1),
        ),
        "llm_embed": (("llm_embed", "token", 1, 0, 1),),
        "llm_encoder": (("llm_encoder", f"prompt token, of {prompt}", prompt, 0, prompt),),
        "llm_decoder": (decode,)
        if encoder_decoder
        else (*(prefill if lengths.prefix else prefill[:1]), decode),
    }


def _fixed_tokens(artifact: Artifact) -> int | None:
    length = artifact.inputs[0].shape[-1]
    return length if isinstance(length, int) else None


def _sums(costs: Sequence[Cost], lengths: _Lengths, photos: int, dim: int) -> tuple[Sum, ...]:
    """The costs of a query and of an indexed photo.

    The index itself costs one int8 product of `dim` per photo and channel: a full scan, the most expensive
    plan.
    """
    by_name = {c.name: c for c in costs}
    text, sentence = by_name.get("text_tower"), by_name.get("text_sentence")
    memory, image = by_name.get("text_memory"), by_name.get("image_tower")
    out = [
        Sum(
            "scan of the album",
            f"{photos} photos × {dim} int8 × 2 channels",
            2 * photos * dim,
            2 * photos * dim,
        )
    ]
    if text and sentence:
        encoded = [(text, 1.0), (sentence, 1.0)]  # the engine blends both vectors
        out.append(_add("query, refined by rules", "text_tower, text_sentence, scan", encoded, out[0]))
        prefill = (
            by_name.get("llm_prefill_after_prefix")
            or by_name.get("llm_prefill")
            or by_name.get("llm_encoder")
        )
        if "llm_decode" in by_name and prefill:
            fresh = max(1, lengths.prompt - lengths.prefix)
            parts = [*encoded, (prefill, float(fresh)), (by_name["llm_decode"], float(DECODED))]
            out.append(
                _add(
                    "query, refined by the language model",
                    f"the same, {fresh} prompt tokens, {DECODED} decoded",
                    parts,
                    out[0],
                )
            )
    if image and memory:
        out.append(_add("photo indexed", "image_tower, one memory", [(image, 1.0), (memory, 1.0)], None))
    return tuple(out)


def _add(unit: str, of: str, parts: Sequence[tuple[Cost, float]], scan: Sum | None) -> Sum:
    macs, size = (scan.macs, scan.bytes) if scan else (0.0, 0.0)
    return Sum(unit, of, macs + sum(c.macs * n for c, n in parts), size + sum(c.bytes * n for c, n in parts))


def routes(models: Models, album: Path | None) -> list[FloatArray]:
    """The router's weights for each photo of an album, or of the sample; none without a router."""
    if not any(a.role == "dpe_router" and a.target == "onnx" for a in models.manifest.artifacts):
        return []
    out, router = [], models.session("dpe_router")
    for path in _pictures(album)[:ROUTED]:
        patches = models.encode_image(load_pixels(path)).patches
        out.append(router.run({"patches": patches[None]})["weights"][0].astype(np.float32))
    return out


def _pictures(album: Path | None) -> list[Path]:
    if album is not None:
        opened = Album.open(album)
        paths = [opened.photo(row).path for row in range(len(opened))]
        opened.close()
    else:
        from .. import sample

        with tempfile.TemporaryDirectory() as folder:
            sample.write(Path(folder) / "sample.jsonl")
            paths = [item.path for item in scan(Path(folder) / "sample.jsonl") if isinstance(item, Photo)]
    return [Path(p) for p in paths if p is not None and Path(p).is_file()]


def _sweep(costs: Sequence[Cost], weights: Sequence[FloatArray]) -> tuple[Routed, ...]:
    macs = {c.role: c.macs for c in costs}
    if not weights:
        return ()
    dpe_total = sum(m for role, m in macs.items() if role.startswith("dpe_"))
    out = []
    for rho in RHOS:
        chosen = [choose(w, rho)[0] for w in weights]
        mean = macs["dpe_router"] + float(
            np.mean([sum(macs[f"dpe_expert_{e}"] for e in experts) for experts in chosen])
        )
        out.append(Routed(rho, round(float(np.mean([len(c) for c in chosen])), 3), mean, mean / dpe_total))
    return tuple(out)
