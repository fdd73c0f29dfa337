"""Reinforcement learning of the query's refinement (paper Eq. 5-6) from searches whose photo is known.

The policy is the language model that writes Q̂ for Q, with the prompt of the runtime; in Eq. 6 as printed the
photo's soft prompts stand before it, π(Q̂ | I, Q), which a search has not. Its reward is
α · r1 + (1 - α) · r2: r1 says how well Q̂ fits the photo, by a model that was fine-tuned on the person's own
photos and memories (the experts, or a BLIP-2 that is given, as in the paper), r2 is the recall of a real
search for Q̂ through the engine. A refinement that the runtime would reject earns nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, astuple, dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np
import torch

from gamer.runtime.bundle.manifest import MANIFEST_NAME, digest
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import SearchOptions
from gamer.runtime.search.stages import refine

from ...components import components, states
from ...components.language import Language
from ...errors import ExportError
from ...networks import lora
from ...settings import Settings
from .. import blip2, pairs, sft
from ..loading import fingerprint, load
from ..options import Options, Reinforcement
from ..pairs import Search, searches_of
from ..run_folder import RunFolder
from .fit import ExpertsFit, Fit, SeenPhotos
from .policy import Policy, Prompt, Round, Rules

K = 5


@dataclass(frozen=True)
class Earned:
    """Means over searches, of each one's likeliest refinement.

    `found`: recall@5 of the search as the runtime does it, without the refinement where that is rejected;
    `plain`: without any. `accepted`: the share that is not rejected.
    """

    reward: float
    found: float
    plain: float
    accepted: float

    def text(self, when: str) -> str:
        """One line for people."""
        return (
            f"{when}: reward {self.reward:.3f}, recall@{K} {self.found:.3f} ({self.plain:.3f} without "
            f"refinement), {self.accepted:.0%} of the refinements accepted"
        )


@dataclass(frozen=True)
class Reinforced:
    """`before`, `after`: on the last quarter of the searches, `measured` of them.

    `installed`: whether the checkpoint was written.
    """

    path: Path
    learned: int
    measured: int
    before: Earned
    after: Earned
    installed: bool
    rounds: tuple[Round, ...]

    def text(self, recipe: str) -> str:
        """For people: the reward before and after, and what to do next."""
        lines = [self.before.text("before"), self.after.text("after")]
        if self.installed:
            lines.append(f"{self.path}: next: gamer export {recipe} --weights dpe={self.path}")
        return "\n".join(lines)


class Reward:
    """α · r1 + (1 - α) · r2 of refinements. Raises ExportError for an album without the photos' pixels."""

    def __init__(self, engine: Engine, fit: Fit, alpha: float) -> None:
        """`fit`: r1."""
        self._engine, self._fit, self._alpha = engine, fit, alpha
        self._now = datetime.now()  # one time for all, or "last week" would move
        self._asked: dict[str, refine.RefinementRequest] = {}
        self._recalls: dict[tuple[str, str | None], float] = {}
        photos = engine.album.photos(range(len(engine.album)))
        self._paths = {photo.id: Path(photo.path) for photo in photos if photo.path is not None}

    def knows(self, photo: str) -> bool:
        """Whether the photo is in the album, with its pixels here."""
        return photo in self._paths and self._paths[photo].is_file()

    def path(self, asked: Search) -> Path:
        """The file of the first photo that a search meant."""
        return self._paths[asked.photos[0]]

    def of(self, asked: Search, refined: Sequence[str]) -> list[float]:
        """The reward of each refinement of a search, judged as the runtime judges it."""
        return [self.earned(asked, answer).reward for answer in refined]

    def earned(self, asked: Search, answer: str) -> Earned:
        """What one refinement earns, and what the search finds with it."""
        text, reason = refine.judged(answer, self.asked(asked))
        plain = self.recall(asked, None)
        if reason:
            return Earned(0.0, plain, plain, 0.0)
        found = self.recall(asked, text)
        fits = max(self._fit(text, self._paths[photo]) for photo in asked.photos)
        return Earned(self._alpha * fits + (1 - self._alpha) * found, found, plain, 1.0)

    def asked(self, asked: Search) -> refine.RefinementRequest:
        """What the runtime would refine the query with; kept, because it does not change."""
        if asked.query not in self._asked:
            self._asked[asked.query] = self._engine.refinement_request(asked.query, self._now)
        return self._asked[asked.query]

    def recall(self, asked: Search, text: str | None) -> float:
        """r2: the share of the photos meant among the first K, by the query's cues and `text`, its Q̂.

        None: as the runtime searches without a language model.
        """
        if (asked.query, text) not in self._recalls:
            options = SearchOptions(refined=text, earlier=False, timed=False)
            by = "fast" if text is None else "llm"
            hits = self._engine.search(asked.query, K, refined_by=by, now=self._now, options=options).hits
            share = len({hit.id for hit in hits} & set(asked.photos)) / min(K, len(asked.photos))
            self._recalls[asked.query, text] = share
        return self._recalls[asked.query, text]


def reinforce(
    settings: Settings,
    album: Path,
    out: Path,
    options: Options,
    what: Reinforcement,
    stage: sft.Stage,
    say: sft.Say,
    rules: Rules | None = None,
) -> Reinforced:
    """Trains the refinement of the checkpoint `what.base` into `out`; one that earns less is not written.

    Of `options`, `epochs` passes at `rate` are used, and `lora` where the checkpoint has no changes. Raises
    ExportError.
    """
    loaded, rounds = load(settings, what.base, options.lora), options.epochs
    rules = replace(rules or Rules(), beta=what.beta, form=what.form)
    given = None if what.judge is None else blip2.Blip2Fit(what.judge)
    with closing(Engine.open(what.bundle, album)) as engine:
        trained = replace(settings, sources=(*settings.sources, ("dpe", str(what.base))))
        photos = SeenPhotos(settings, loaded)
        fit = given or ExpertsFit(photos, loaded, states.encoder(trained, loaded.options.query))
        reward = Reward(engine, fit, what.alpha)
        searches = [s for s in searches_of(album, what.queries) if all(reward.knows(p) for p in s.photos)]
        first = int(len(searches) * 0.75)
        if first < 1 or first == len(searches):
            raise ExportError(
                f"{what.queries or album}: {len(searches)} searches with photos here: 4 are needed"
            )
        if loaded.language is None:
            raise ExportError(f"{what.base}: no language model is trained in it: give --lora or --whole")
        _same_language_model(settings, engine, what.bundle)
        prompts = [Prompt(refine.prompt(engine.models, s.query, reward.asked(s).context)) for s in searches]
        told = loaded.told | asdict(
            replace(loaded.options, epochs=rounds, rate=options.rate, lora=lora_rank(loaded.language))
        )
        told |= {
            "base": fingerprint(what.base),
            "bundle": digest(what.bundle / MANIFEST_NAME)[1],
            "album": str(album.resolve()),
            "searches": hashlib.sha256(repr(searches).encode()).hexdigest(),
            "alpha": what.alpha,
            "judge": None if given is None else given.source,
            **asdict(rules),
        }
        run = RunFolder(out, told)
        with run.held():
            run.begin()
            if given is not None:
                blip2.fine_tune(given, pairs.read(album, loaded.options.until), run.inner, stage, say)
            policy, done = Policy(loaded.language, options.rate, rules, loaded.options.seed), list[Round]()
            later = range(first, len(searches))
            before = _likeliest(policy, prompts, searches, reward, later)
            say(f"{first} searches to learn from, {len(later)} to measure with")
            say(before.text("before"))
            policy.rounds = run.resume(loaded.model, policy.optimiser)
            taught = prompts[:first]
            if what.form == "printed":
                paths = [reward.path(search) for search in searches[:first]]
                taught = [Prompt(p.ids, photos.prompts(at)) for p, at in zip(taught, paths, strict=True)]
            for n in range(policy.rounds, rounds):
                done.append(policy.round(taught, lambda i, texts: reward.of(searches[i], texts)))
                run.keep(loaded.model, policy.optimiser, n + 1)
                run.log({"round": n + 1, **asdict(done[-1])})
                say(
                    f"round {n + 1} of {rounds}: reward {done[-1].reward:.3f}, divergence "
                    f"{done[-1].divergence:.3f} nats a token, {done[-1].distinct:.1f} distinct refinements, "
                    f"{done[-1].taught:.0%} of the queries taught something"
                )
            after = _likeliest(policy, prompts, searches, reward, later)
            if installed := after.reward >= before.reward:
                run.publish(loaded.model)
    return Reinforced(out, first, len(later), before, after, installed, tuple(done))


def lora_rank(language: Language) -> int:
    """The rank of the changes that are trained, or WHOLE; 0 for none."""
    return 0 if language.adapter is None else lora.rank_of(language.adapter)


def _same_language_model(settings: Settings, engine: Engine, bundle: Path) -> None:
    """Raises ExportError if the bundle refines with another language model than the recipe's."""
    manifest, wanted = engine.models.manifest, components.language(settings)
    tokenizer = hashlib.sha256(components.llm_tokenizer(settings)[0].encode()).hexdigest()
    have = manifest.decoder()
    alike = wanted is not None and (have.layers, have.hidden, have.head_dim) == (
        wanted.layers,
        wanted.hidden,
        wanted.head_dim,
    )
    if not alike or manifest.file("llm_tokenizer.json").sha256 != tokenizer:
        raise ExportError(
            f"{bundle}: its language model is {manifest.component('llm_decoder').source}, not that of recipe "
            f"{settings.recipe}: give a bundle of that recipe"
        )


def _likeliest(
    policy: Policy, prompts: Sequence[Prompt], searches: Sequence[Search], reward: Reward, rows: range
) -> Earned:
    language, found = policy.language, []
    for n in rows:
        answer = language.sample(prompts[n].ids, 1, policy.rules.most, 0.0, torch.Generator())[0]
        found.append(astuple(reward.earned(searches[n], language.text(answer))))
    return Earned(*(float(mean) for mean in np.mean(found, axis=0)))
