"""What a bundle's components cost: multiply-adds, bytes and intensity of every operator, and of an image, a
token, a query, a photo.

Counts the exported ONNX graphs (graph.py, counting.py: our definition); runs no network but the router,
whose choices decide what the experts cost.
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
from gamer.runtime.errors import BundleError
from gamer.runtime.models.models import Models
from gamer.runtime.models.router import choose
from gamer.runtime.search.engine import PHRASING

from .. import machine
from . import counting, formulas, graph
from .component_runs import TEXT_TOKENS, prompt_of
from .counting import Work
from .dims import dims_of

RHOS = tuple(n / 10 for n in range(1, 11))
ROUTED = 64  # photos that the router is asked about
DECODED = 12  # tokens of a refinement
MEMORY_WORDS = "Breakfast with Anna on the terrace above the harbour, the day before we flew home"


@dataclass(frozen=True)
class Cost:
    """One component on one unit of work. `parameters`: torch's, from the manifest; `constants`: the graph's
    own count of the numbers that it multiplies and adds (a fused constant, a block-sum column, a table of
    labels are among them). `per` divides: a prompt's cost is its token's."""

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

    @property
    def bytes(self) -> float:
        return self.weight_bytes + self.activation_bytes


@dataclass(frozen=True)
class Sum:
    """What one thing that a person does costs. `of`: how it is put together."""

    unit: str
    of: str
    macs: float
    bytes: float


@dataclass(frozen=True)
class Routed:
    """Expected cost of the DPE at one ρ (the paper's Table 7 sweeps it): router and the experts that Eq. 1
    chooses, over `photos`.
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
    candidates: tuple[formulas.Candidate, ...]
    fits: tuple[formulas.Fit, ...]


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
    """The cost of a component's ONNX graph with `dims` bound, divided by `per`.

    Raises BundleError, GraphError.
    """
    artifact, component = manifest.artifact(role, "onnx"), manifest.component(role)
    found = counting.count(graph.read(mf.check_one(bundle, artifact), dims, past))
    macs, arithmetic = sum(w.macs for w in found), sum(w.arithmetic for w in found)
    weights, activations = sum(w.weight_bytes for w in found), sum(w.activation_bytes for w in found)
    intensity = (2 * macs + arithmetic) / max(1, weights + activations)
    constants = sum(w.parameters for w in found)
    numbers = (macs / per, arithmetic / per, weights / per, activations / per, intensity)
    return Cost(
        name, role, artifact.quant, unit, component.parameters, constants, artifact.bytes, *numbers, found
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
    """Counts every component of `bundle`; asks the router about the photos of `album` (default: the
    sample's).
    """
    models = Models.open(bundle, "onnx", threads, allow_random=True)
    lengths = _Lengths.of(models, queries)
    costs = tuple(_components(bundle, models.manifest, lengths, given, progress))
    progress("router")
    weights = _routes(models, album)
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
        paper=formulas.PAPER_GFLOPS,
        candidates=formulas.candidates(),
        fits=formulas.fits(),
    )


@dataclass(frozen=True)
class _Lengths:
    """Mean tokens of a query as the engine encodes it (alone, and in a sentence), of a memory, of the
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
    bundle: Path, manifest: Manifest, at: _Lengths, given: Mapping[str, int], progress: Callable[[str], None]
) -> list[Cost]:
    runs = _runs(manifest, at)
    out = []
    for role in dict.fromkeys(a.role for a in manifest.artifacts if a.target == "onnx"):
        progress(role)
        artifact = manifest.artifact(role, "onnx")
        for name, unit, tokens, past, per in runs.get(
            role, ((role, manifest.component(role).macs_per, 1, 0, 1),)
        ):
            fixed = _fixed_tokens(artifact) if role == "text_tower" else None
            source = {"source": max(2, at.prompt)} if name == "llm_decode" else {}
            dims = dims_of(fixed or tokens, past, source | dict(given))
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


def _runs(manifest: Manifest, at: _Lengths) -> dict[str, tuple[tuple[str, str, int, int, int], ...]]:
    """Role → its rows: (name, unit, tokens, past, divided by).

    What is not named here has one row, on one of what the manifest says.
    """
    prompt, fresh, text = max(2, at.prompt), max(1, at.prompt - at.prefix), max(1, round(at.text))
    prefill = (
        ("llm_prefill", f"prompt token, of {prompt}", prompt, 0, prompt),
        (
            "llm_prefill_after_prefix",
            f"prompt token, of {fresh} after {at.prefix} in the prefix",
            fresh,
            at.prefix,
            fresh,
        ),
    )
    # An encoder-decoder reads the prompt with its encoder and answers from its first token on.
    reads = any(a.role == "llm_encoder" for a in manifest.artifacts)
    decode = (
        "llm_decode",
        f"decoded token, {prompt} read" if reads else f"decoded token, at {prompt} in the cache",
        1,
        1 if reads else prompt,
        1,
    )
    return {
        "text_tower": (
            ("text_tower", f"text of {text} tokens", text, 0, 1),
            ("text_memory", f"memory of {at.memory} tokens", at.memory, 0, 1),
        ),
        "llm_embed": (("llm_embed", "token", 1, 0, 1),),
        "llm_encoder": (("llm_encoder", f"prompt token, of {prompt}", prompt, 0, prompt),),
        "llm_decoder": (decode,) if reads else (*(prefill if at.prefix else prefill[:1]), decode),
    }


def _fixed_tokens(artifact: Artifact) -> int | None:
    length = artifact.inputs[0].shape[-1]
    return length if isinstance(length, int) else None


def _sums(costs: Sequence[Cost], at: _Lengths, photos: int, dim: int) -> tuple[Sum, ...]:
    """What a query and a photo cost.

    The index's own work is one int8 product of `dim` for each photo and channel: a scan, the dearest plan.
    """
    have = {c.name: c for c in costs}
    text, memory, image = have.get("text_tower"), have.get("text_memory"), have.get("image_tower")
    out = [
        Sum(
            "scan of the album",
            f"{photos} photos × {dim} int8 × 2 channels",
            2 * photos * dim,
            2 * photos * dim,
        )
    ]
    if text:
        out.append(_add("query, refined by rules", "2 × text_tower, scan", [(text, 2.0)], out[0]))
        read = have.get("llm_prefill_after_prefix") or have.get("llm_prefill") or have.get("llm_encoder")
        if "llm_decode" in have and read:
            fresh = max(1, at.prompt - at.prefix)
            parts = [(text, 2.0), (read, float(fresh)), (have["llm_decode"], float(DECODED))]
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


def _routes(models: Models, album: Path | None) -> list[FloatArray]:
    """The router's weights for each photo."""
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
    every = sum(m for role, m in macs.items() if role.startswith("dpe_"))
    out = []
    for rho in RHOS:
        chosen = [choose(w, rho)[0] for w in weights]
        mean = macs["dpe_router"] + float(
            np.mean([sum(macs[f"dpe_expert_{e}"] for e in experts) for experts in chosen])
        )
        out.append(Routed(rho, round(float(np.mean([len(c) for c in chosen])), 3), mean, mean / every))
    return tuple(out)
