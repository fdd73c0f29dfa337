"""Reinforcement learning of the query's refinement (paper Eq. 5-6) from searches whose photo is known.

The policy is the language model that writes Q̂ for Q, with the prompt of the runtime. Its reward is
α · r1 + (1 - α) · r2: r1 says how well Q̂ fits the photo, by the experts that were fine-tuned on the person's
own photos and memories (where the paper has a fine-tuned BLIP-2), r2 is the recall of a real search for Q̂
through the engine. A refinement that the runtime would reject earns nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from gamer.index import OpenedLog, load_pixels
from gamer.runtime.bundle.manifest import MANIFEST_NAME, digest
from gamer.runtime.models.image import prepare
from gamer.runtime.search import refine
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import SearchOptions

from ..components import components, fixtures, states
from ..components.language import Language
from ..errors import ExportError
from ..networks import lora
from ..settings import Settings
from . import sft
from .loading import Loaded, fingerprint, load
from .options import Options
from .ppo import Ppo, Round, Rules
from .run_folder import RunFolder

K = 5
_MAX_LINE = 10_000


@dataclass(frozen=True)
class Search:
    """A query, and the ids of the photos that it meant."""

    query: str
    photos: tuple[str, ...]


@dataclass(frozen=True)
class Reinforced:
    """`before`, `after`: mean reward of the likeliest refinement of the last quarter of the searches."""

    path: Path
    learned: int
    before: float
    after: float
    installed: bool
    rounds: tuple[Round, ...]

    def text(self, recipe: str) -> str:
        """For people: the reward before and after, and what to do next."""
        line = f"reward of later searches: before {self.before:.3f}, after {self.after:.3f}"
        if not self.installed:
            return line
        return f"{line}\n{self.path}: next: gamer export {recipe} --weights dpe={self.path}"


class Reward:
    """α · r1 + (1 - α) · r2 of refinements. Raises ExportError for an album without the photos' pixels."""

    def __init__(
        self, settings: Settings, engine: Engine, loaded: Loaded, encode: states.Encode, alpha: float
    ) -> None:
        """`encode`: the query encoder as the checkpoint has it; the policy goes on from there."""
        self._settings, self._engine, self._loaded, self._alpha = settings, engine, loaded, alpha
        self._encode, self._now = encode, datetime.now()  # one time for all, or "last week" would move
        self._asked: dict[str, refine.Asked] = {}
        self._rows: dict[str, int] = {
            photo.id: row for row, photo in enumerate(engine.album.photos(range(len(engine.album))))
        }
        self._seen: dict[int, torch.Tensor] = {}
        self._tower = components.build(settings, "image_tower", "fp32").module

    def knows(self, photo: str) -> bool:
        """Whether the photo is in the album, with its pixels here."""
        row = self._rows.get(photo)
        path = None if row is None else self._engine.album.photo(row).path
        return path is not None and Path(path).is_file()

    def of(self, asked: Search, refined: Sequence[str]) -> list[float]:
        """The reward of each refinement of a search, judged as the runtime judges it."""
        judge = self.asked(asked)
        return [
            0.0
            if reason
            else self._alpha * self._fit(asked, text) + (1 - self._alpha) * self.recall(asked, text)
            for text, reason in (refine.judged(answer, judge) for answer in refined)
        ]

    def asked(self, asked: Search) -> refine.Asked:
        """What the runtime would refine the query with; kept, because it does not change."""
        if asked.query not in self._asked:
            self._asked[asked.query] = self._engine.asked(asked.query, self._now)
        return self._asked[asked.query]

    def recall(self, asked: Search, text: str) -> float:
        """r2: the share of the photos meant among the first K, by the query's cues and `text`, its Q̂."""
        options = SearchOptions(refined=text, timed=False)
        hits = self._engine.search(asked.query, K, refined_by="llm", now=self._now, options=options).hits
        return len({hit.id for hit in hits} & set(asked.photos)) / min(K, len(asked.photos))

    def _fit(self, asked: Search, text: str) -> float:
        """r1 in 0..1: (1 + the cosine of v_I and v_Q) / 2, of the photo that fits best."""
        with torch.no_grad():
            told = torch.from_numpy(self._encode([text]))
            queries = F.normalize(self._loaded.model.query(told), dim=-1)
            photos = torch.stack([self._photo(self._rows[photo]) for photo in asked.photos])
        return (1 + float((queries @ photos.T).max())) / 2

    def _photo(self, row: int) -> torch.Tensor:
        if row not in self._seen:
            pixels = load_pixels(Path(str(self._engine.album.photo(row).path)))
            image = torch.from_numpy(prepare(pixels, fixtures.image_spec(self._settings)))
            self._seen[row] = F.normalize(self._loaded.model(self._tower(image)[1])[0], dim=-1)[0]
        return self._seen[row]


def reinforce(
    settings: Settings,
    album: Path,
    bundle: Path,
    base: Path,
    out: Path,
    options: Options,
    alpha: float,
    rules: Rules,
    queries: Path | None,
    say: sft.Say,
) -> Reinforced:
    """Trains the refinement of the checkpoint `base` into `out`; one that earns less is not written.

    Of `options`, `epochs` passes at `rate` are used, and `lora` where the checkpoint has no changes.
    `queries`: a JSONL of {"query", "photos"}; None for what was searched and opened. Raises ExportError.
    """
    loaded, rounds = load(settings, base, options.lora), options.epochs
    with closing(Engine.open(bundle, album)) as engine:
        trained = replace(settings, sources=(*settings.sources, ("dpe", str(base))))
        reward = Reward(settings, engine, loaded, states.encoder(trained, loaded.options.query), alpha)
        searches = [s for s in _searches(album, queries) if all(reward.knows(p) for p in s.photos)]
        first = int(len(searches) * 0.75)
        if first < 1 or first == len(searches):
            raise ExportError(f"{queries or album}: {len(searches)} searches with photos here: 4 are needed")
        if loaded.language is None:
            raise ExportError(f"{base}: no language model is trained in it: give --lora or --whole")
        _same_language_model(settings, engine, bundle)
        prompts = [refine.prompt(engine.models, s.query, reward.asked(s).context)[0] for s in searches]
        told = loaded.told | asdict(
            replace(loaded.options, epochs=rounds, rate=options.rate, lora=lora_rank(loaded.language))
        )
        told |= {
            "base": fingerprint(base),
            "bundle": digest(bundle / MANIFEST_NAME)[1],
            "album": str(album.resolve()),
            "searches": hashlib.sha256(repr(searches).encode()).hexdigest(),
            "alpha": alpha,
            **asdict(rules),
        }
        run = RunFolder(out, told)
        with run.held():
            run.begin()
            policy, done = Ppo(loaded.language, options.rate, rules, loaded.options.seed), list[Round]()
            later = range(first, len(searches))
            before = _likeliest(policy, prompts, searches, reward, later)
            say(f"{first} searches to learn from, {len(later)} to measure with; reward before: {before:.3f}")
            policy.rounds = run.resume(loaded.model, policy.optimiser)
            for n in range(policy.rounds, rounds):
                done.append(policy.round(prompts[:first], lambda i, texts: reward.of(searches[i], texts)))
                run.keep(loaded.model, policy.optimiser, n + 1)
                run.log({"round": n + 1, **asdict(done[-1])})
                say(
                    f"round {n + 1} of {rounds}: reward {done[-1].reward:.3f}, divergence "
                    f"{done[-1].divergence:.3f} nats a token, {done[-1].distinct:.1f} distinct refinements"
                )
            after = _likeliest(policy, prompts, searches, reward, later)
            if after >= before:
                run.publish(loaded.model)
    return Reinforced(out, first, before, after, after >= before, tuple(done))


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
    policy: Ppo, prompts: Sequence[Sequence[int]], searches: Sequence[Search], reward: Reward, rows: range
) -> float:
    language, found = policy.language, []
    for n in rows:
        answer = language.sample(prompts[n], 1, policy.rules.most, 0.0, torch.Generator())[0]
        found.append(reward.of(searches[n], [language.text(answer)])[0])
    return float(np.mean(found))


def _searches(album: Path, queries: Path | None) -> list[Search]:
    if queries is None:
        return [Search(entry.query, (entry.photo,)) for entry in OpenedLog(album).read()]
    try:
        with queries.open(encoding="utf-8") as file:
            return [_search(line) for line in iter(lambda: file.readline(_MAX_LINE), "") if line.strip()]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ExportError(
            f'{queries}: not lines of {{"query": …, "photos": [id, …]}} ({str(error)[:60]})'
        ) from None


def _search(line: str) -> Search:
    told = json.loads(line)
    query, photos = told["query"], told["photos"]
    if not isinstance(query, str) or not isinstance(photos, list) or not photos:
        raise ValueError(f"{line[:40]!r} has no query or no photos")
    return Search(query, tuple(map(str, photos)))
