"""Supervised fine-tuning of the experts on an album's ⟨photo, memory⟩ pairs (paper section 3.4).

The loss is Eq. 3-4 over v_I and v_Q, plus Eq. 2: the entropy of the router's distribution, so that few
experts are used, and where it is asked for the likelihood of the memory after the soft prompts. The image
tower stays as it is; the language model takes low-rank changes (`lora`) or none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch

from ..checkpoints import pocket
from ..components import components, states
from ..components.experts import QuerySide
from ..components.language import Language
from ..errors import ExportError
from ..settings import Settings
from . import features, need, pairs, start
from .loop import Epoch, Loop, NotFinite
from .measure import Recall, recall
from .options import Options
from .pairs import Pairs
from .projection import Projection
from .run_folder import RunFolder

LABELS = "a photo of a {}"


@dataclass(frozen=True)
class Trained:
    """What a training did. `resumed`: epochs that an earlier run had finished.

    `withheld`: how the memories that `until` withheld are found, among the photos from that time on; None if
    nothing was withheld.
    """

    path: Path
    photos: int
    memories: int
    missing: int
    parameters: int
    resumed: int
    epochs: tuple[Epoch, ...]
    withheld: Recall | None = None

    def text(self, recipe: str) -> str:
        """For people: what came out, and what to do next."""
        found, measured = self.withheld, ""
        if found is not None:
            asked = f"{found.queries} withheld memories among {found.photos} photos"
            measured = f"recall@5 of {asked}: {found.at_5:.3f}\n"
        return (
            f"{measured}{self.path}: {self.parameters / 1e6:.2f} M parameters from {self.memories} "
            f"memories of {self.photos} photos ({self.missing} without pixels); next: gamer export {recipe} "
            f"--weights dpe={self.path}"
        )


Stage = Callable[[str, int, int], None]  # what is done, done, total
Report = Callable[[Epoch], None]
Say = Callable[[str], None]


def train(
    settings: Settings,
    album: Path,
    out: Path,
    options: Options,
    stage: Stage,
    say: Say,
    report: Report,
    queries: Path | None = None,
) -> Trained:
    """Trains the experts of a recipe on an album; the checkpoint is the directory `out`.

    `queries`: a JSONL of {"query", "photos"} for Eq. 2; None for what was searched and opened. What it
    needs is said before it starts. A killed training goes on after its last epoch. Raises AlbumError for
    the album, ExportError for a recipe without experts, an album without pairs, a folder in use or with
    another training, a full disk, and a loss that is not a number, after which the last state is kept.
    """
    if options.lora and options.query == "text" and options.likelihood <= 0:
        raise ExportError(
            "--lora and --whole train a language model that nothing here uses: give --query llm or "
            "--likelihood"
        )
    asked = pairs.searches_of(album, queries) if options.likelihood > 0 else []
    sizes = replace(components.dpe_sizes(settings), pooled=options.pooled)
    layers = start.pretrained(settings) if options.start == "layers" else None
    if layers is not None:
        sizes = replace(sizes, bert=True, blocks=len(layers.blocks), width=layers.width, heads=layers.heads)
    data = pairs.read(album, options.until, asked)
    key = data.digest()
    told = {"recipe": settings.recipe, "sources": dict(settings.sources), "data": key, **asdict(options)}
    if any(data.searched):
        told["queries"] = hashlib.sha256(repr(data.queries).encode()).hexdigest()
    run = RunFolder(out, told)
    with run.held():
        run.check()
        side = _side(settings, options)
        torch.manual_seed(options.seed)
        language = language_of(settings, options)
        model = Projection(sizes, side, settings.chosen.rho, None if language is None else language.adapter)
        ids = language.ids(data.texts) if language is not None else []
        tokens = float(np.mean([len(row) for row in ids])) if ids else 0.0
        model.to(device())
        count = sizes.prompts(components.features(settings)[0])
        say(need.of(model, language, count, tokens, len(data.texts), options).text())
        say(features.cost(settings, run.inner, key, len(data.paths)))
        seen = features.encode(settings, data.paths, run.inner, key, lambda a, b: stage("photos", a, b))
        known = _known(settings, data, options, seen, stage)
        try:
            done, epochs = fit(model, seen, known, options, run, report, language, layers)
        except NotFinite as error:
            raise ExportError(f"{error}: {_rescued(run, model)}") from None
        run.publish(model)
        found = _withheld(settings, data, options, model, seen, language, stage)
    count = sum(p.numel() for p in model.parameters())
    return Trained(out, len(data.paths), len(data.texts), data.missing, count, done, epochs, found)


def _rescued(run: RunFolder, model: Projection) -> str:
    """Publishes what the last whole epoch left, and says where it is."""
    with_numbers = "go on with a smaller --rate and another -o"
    done = run.resume(model)
    if not done:
        return f"no epoch was finished; {with_numbers}"
    run.publish(model, epochs=done)
    return f"{run.out} is the checkpoint after epoch {done}; {with_numbers}"


def language_of(settings: Settings, options: Options) -> Language | None:
    """The language model, where it or the experts are trained through it."""
    return Language.of(settings, options.lora) if options.lora or options.likelihood > 0 else None


def fit(
    model: Projection,
    seen: features.Features,
    known: start.StartData,
    options: Options,
    run: RunFolder,
    report: Report,
    language: Language | None = None,
    layers: start.Layers | None = None,
) -> tuple[int, tuple[Epoch, ...]]:
    """Trains `model` in place, and keeps each epoch; the caller holds the folder, and publishes.

    `layers`: what the experts' blocks begin as, where they are not closed or random.

    Returns how many epochs an earlier run had finished, and what those of this one were. Raises ExportError.
    """
    if language is not None:
        language.to(device())
    optimiser = torch.optim.AdamW(
        model.to(device()).parameters(), lr=options.rate, weight_decay=options.decay, foreach=False
    )
    run.begin()
    done = run.resume(model, optimiser)
    if not done and options.start != "random":
        start.initialise(model.cpu(), seen, known, layers)
        model.to(device())
    loop, epochs = Loop(model, optimiser, seen, known, options, language), list[Epoch]()
    for epoch in range(done, loop.epochs):
        epochs.append(loop.epoch(epoch, done))
        run.keep(model, optimiser, epoch + 1)
        run.log({name: value for name, value in asdict(epochs[-1]).items() if name != "of"})
        report(epochs[-1])
    return done, tuple(epochs)


def _side(settings: Settings, options: Options) -> QuerySide:
    """The query side that is trained: a head over the encoder's states, with a slot for each label."""
    width: int | str = components.dpe_sizes(settings).hidden
    if options.query == "text":
        width = components.build(settings, "text_tower", "fp32").outputs[0].shape[1]
    return QuerySide(options.query, int(width), features.classes(settings))


def _known(
    settings: Settings, data: Pairs, options: Options, seen: features.Features, stage: Stage
) -> start.StartData:
    """The states of the memories, and of the labels' names where the tower has labels.

    Memories of photos that cannot be read are left out.
    """
    kept = [n for n, owner in enumerate(data.owners) if seen.readable[owner]]
    texts = [data.texts[n] for n in kept]
    if len({data.owners[n] for n in kept}) < 2:
        raise ExportError("fewer than two photos with a memory can be read: nothing to contrast")
    told = states.of_queries(settings, options.query, texts, lambda a, b: stage("memories", a, b))
    names = None
    if seen.labels is not None:
        named = [LABELS.format(name.split(",")[0].strip()) for name in pocket.class_names()]
        names = states.of_queries(settings, options.query, named, lambda a, b: stage("labels", a, b))
    asked = data.queries
    return start.StartData(
        told, [data.owners[n] for n in kept], names, tuple(texts), tuple(asked[n] for n in kept)
    )


def _withheld(
    settings: Settings,
    data: Pairs,
    options: Options,
    model: Projection,
    seen: features.Features,
    language: Language | None,
    stage: Stage,
) -> Recall | None:
    asked = [(text, photo) for text, photo in pairs.told(data.withheld) if seen.readable[photo]]
    if not asked:
        return None
    texts, owners = zip(*asked, strict=True)
    encode = query_encoder(settings, options, language)
    found = states.in_batches(encode, texts, lambda a, b: stage("withheld memories", a, b))
    return recall(model, seen, found, owners, np.unique(owners))


def query_encoder(settings: Settings, options: Options, language: Language | None) -> states.Encode:
    """What v_Q is made of, by models that are built once; a language model as it is trained by then."""
    if options.query == "llm" and language is not None and language.adapter is not None:
        return states.of_language(language)
    return states.encoder(settings, options.query)


def device() -> torch.device:
    """CUDA or Apple's GPU where there is one, else the processor."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
