"""Ablations beyond the search options of ablation.py.

They are: ρ of the router on photographs (Table 7), the prefix cache (Table 4), refinement by the language
model, albums of growing size (Figure 3), and several bundles of different quantization.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gamer.index import Encoded, FloatArray
from gamer.runtime.models.language.llm import Request
from gamer.runtime.models.models import Models
from gamer.runtime.models.router import choose
from gamer.runtime.search.stages import refine

from ..cost.costs import routes
from . import ablation, compose, datasets, metrics, quality
from .albums import album_of
from .baselines import Baseline
from .methods import METHODS
from .user import User

REFINEMENTS = ("off", "fast", "llm")
RHOS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Routed:
    """The router at one ρ, over photographs.

    `experts`: the mean number of experts that ran, out of `of`. `macs_share`: their share of the
    multiply-adds of all experts.
    """

    rho: float
    experts: float
    of: int
    macs_share: float
    photos: int
    trained: bool


@dataclass(frozen=True)
class PrefixEffect:
    """Refinements with and without the shipped prefix cache.

    Times: medians to the first token, in milliseconds. `same_text`: the share of queries with the same text.
    """

    queries: int
    with_ms: float
    without_ms: float
    same_text: float


@dataclass(frozen=True)
class Size:
    """The same queries on an album of `photos` photos.

    Scores are means over the queries; `p50_ms` is the median time of a search.
    """

    photos: int
    queries: int
    recall5: float
    map5: float
    paper_recall5: float
    p50_ms: float


@dataclass(frozen=True)
class BundleQuality:
    """One bundle on the same queries. `megabytes`: of its ONNX artifacts; `recall5`: macro, by method."""

    bundle: str
    quant: str
    text_encoder: str
    megabytes: float
    text_tower_mb: float
    recall5: dict[str, float]


@dataclass(frozen=True)
class Refined:
    """Refinement by the language model, beside refinement by rules and none, on the same sample of queries.

    `taken`: the share of queries whose refinement by the model was accepted. Recall: macro. `llm_ms`: the
    median time of the refinement layer.
    """

    queries: int
    taken: float
    llm_recall5: float
    fast_recall5: float
    off_recall5: float
    llm_ms: float


def rho(models: Models) -> tuple[Routed, ...]:
    """The router at each of RHOS on the sample's photographs; empty for a bundle without a DPE."""
    weights = routes(models, None)
    if not weights:
        return ()
    experts = {
        int(c.role.rsplit("_", 1)[1]): c
        for c in models.manifest.components
        if c.role.startswith("dpe_expert")
    }
    total, trained = sum(c.macs for c in experts.values()), all(c.trained for c in experts.values())
    out = []
    for value in RHOS:
        ran = [choose(patch_weights, value)[0] for patch_weights in weights]
        share = float(np.mean([sum(experts[e].macs for e in chosen) for chosen in ran])) / total
        mean = float(np.mean([len(chosen) for chosen in ran]))
        out.append(Routed(value, round(mean, 3), len(experts), round(share, 4), len(weights), trained))
    return tuple(out)


def prefix(models: Models, queries: Sequence[str]) -> PrefixEffect | None:
    """Refines each query with the prefix cache, then without. None for a bundle without prefix caches."""
    if models.prefix("refine") is None:
        return None
    model, times, same = models.language_model, [], 0
    for query in queries:
        model.reuse.forget()  # what the query before has in common with this one
        ids = models.prompt("refine", refine.clean(query, 300))
        cached, without = (
            model.generate(Request(ids, refine.MAX_NEW, stop=("\n",), plain=plain)) for plain in (False, True)
        )
        times.append((cached.first_ns, without.first_ns))
        same += cached.text == without.text
    first, second = np.median(np.array(times), axis=0) / 1e6
    return PrefixEffect(len(times), round(float(first), 1), round(float(second), 1), same / len(times))


def refined(folder: Path, models: Models, home: Path, most: int, progress: Progress) -> Refined:
    """Refines at most `most` queries a user, because each costs a generation."""
    variants = {mode: ablation.Trial(ablation.Variant(mode, refined_by=mode)) for mode in REFINEMENTS}
    asked, taken = [], 0
    for name in datasets.users(folder):
        progress(f"{folder.name} {name}: refining by the language model")
        queries = datasets.queries(folder, name, most)
        with User(name, album_of(folder, name, models, home, progress), models, home) as user:
            baselines = {mode: Baseline(trial.rank, mode) for mode, trial in variants.items()}
            asked.append(quality.ask(user, queries, baselines))
            taken += sum(
                user.engine.search(q.text, 1, refined_by="llm", now=user.now).trace.refined_by == "llm"
                for q in queries
            )
    recall5 = {mode: ablation.recall_by_k(asked, mode)["5"] for mode in variants}
    count = sum(len(asked_user.queries) for asked_user in asked)
    spent = round(float(np.median([s["refine"] for s in variants["llm"].spent])), 1)
    return Refined(count, round(taken / count, 4), recall5["llm"], recall5["fast"], recall5["off"], spent)


def sizes(
    folder: Path, models: Models, home: Path, counts: Sequence[int], queries: int, progress: Progress
) -> tuple[Size, ...]:
    """Asks the same queries of nested albums, made of all users' photos.

    The relevant photos come first, the others follow in a shuffled order. Each of `counts` is raised to the
    number of relevant photos, and cut at the number of all photos.
    """
    photos: list[Encoded] = []
    names: dict[str, FloatArray] = {}
    asked: list[datasets.Query] = []
    for name in datasets.users(folder):
        path = album_of(folder, name, models, home, progress)
        user_photos, vectors = compose.read_encoded(path, models)
        photos += user_photos
        names |= vectors
        asked += datasets.queries(folder, name, max(1, queries // len(datasets.users(folder))))
    relevant = {photo for query in asked for photo in query.relevant}
    order = np.random.default_rng(0).permutation(len(photos))
    relevant_first = [at for at in order if photos[at].photo.id in relevant]
    nested = relevant_first + [at for at in order if photos[at].photo.id not in relevant]
    out = []
    with tempfile.TemporaryDirectory() as aside:
        for count in sorted({min(max(count, len(relevant_first)), len(photos)) for count in counts}):
            progress(f"{folder.name}: an album of {count} photos")
            album = Path(aside) / f"{count}.gamer"
            compose.write(album, [photos[at] for at in sorted(nested[:count])], names, models, path)
            out.append(_size(album, models, asked, count))
            album.unlink()
    return tuple(out)


def _size(album: Path, models: Models, asked: Sequence[datasets.Query], count: int) -> Size:
    with User(str(count), album, models) as user:
        answers = quality.ask(user, asked, {name: METHODS[name] for name in ("ours", "ours-paper")})
    scores = {
        name: metrics.mean([metrics.from_places(q.places[name], q.relevant) for q in answers.queries])
        for name in answers.milliseconds
    }
    ours = scores["ours"]
    return Size(
        count, len(asked), ours.recall5, ours.map5, scores["ours-paper"].recall5, answers.milliseconds["ours"]
    )


def bundles(
    folder: Path, paths: Sequence[Path], threads: int, home: Path, most: int, progress: Progress
) -> tuple[BundleQuality, ...]:
    """The methods that depend on the encoder, for each bundle on albums built with it."""
    names, out = ("ours", "ours-paper", "dense"), []
    for bundle in paths:
        models = Models.open(bundle, "onnx", threads)
        methods = {name: METHODS[name] for name in names}
        asked = quality.ask_users(folder, models, home, methods, most, progress)
        bytes_by_role = {a.role: a.bytes for a in models.manifest.artifacts if a.target == "onnx"}
        megabytes = (round(sum(bytes_by_role.values()) / 1e6, 1), round(bytes_by_role["text_tower"] / 1e6, 1))
        recalls = {name: ablation.recall_by_k(asked, name)["5"] for name in names}
        out.append(
            BundleQuality(
                bundle.name, models.manifest.quant, models.manifest.text_encoder, *megabytes, recalls
            )
        )
    return tuple(out)
