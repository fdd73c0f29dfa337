"""What its owner might call a photo, by a language model that learned it from what was searched and opened.

The other way round from the refinement of a query (doc2query, Nogueira et al. 2019, arXiv 1904.08375): a
pair ⟨query, memory⟩ of the GAMER paper teaches to write the query for the memory. The titles' vectors are a
channel of the album, so that a search pays one more cosine and no generation.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from gamer.index.json_checked import parse, read_as

from ..components.language import Language
from ..errors import ExportError
from .run_folder import RunFolder, Told

EPOCHS, RATE, BATCH = 2, 2e-4, 16
MEMORY, MOST = 220, 24  # tokens of a photo's memories that are read, and of a title
DRAWN, TEMPERATURE = 4, 0.7  # titles beside the likeliest one
ASK = "\n\nTitle:"
WARMUP = 10  # steps
TAUGHT = 2  # photos of a search
Stage = Callable[[str, int, int], None]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Pair:
    """What a person called a photo, and its memories."""

    title: str
    memory: str


def pairs_of(searches: Iterable[tuple[str, Sequence[str]]], memories: Mapping[str, str]) -> list[Pair]:
    """`searches`: each with the ids of its photos, of which the first TAUGHT teach if they have a memory."""
    return [
        Pair(query, memories[photo])
        for query, photos in searches
        for photo in photos[:TAUGHT]
        if photo in memories
    ]


def folder_of(
    pairs: Sequence[Pair], memories: Mapping[str, str], out: Path, told: Told, seed: int
) -> RunFolder:
    """Where a killed run goes on, after its last epoch or its last photo; `told`: what it is of.

    Raises ExportError for a folder of something else.
    """
    texts = repr((sorted(memories.items()), list(pairs)))
    run = RunFolder(out, told | {"titles": hashlib.sha256(texts.encode()).hexdigest(), "seed": seed})
    run.check()
    return run


def write(
    language: Language,
    pairs: Sequence[Pair],
    memories: Mapping[str, str],
    run: RunFolder,
    seed: int,
    stage: Stage,
    say: Say,
) -> dict[str, tuple[str, ...]]:
    """Learns from `pairs`, then writes titles for `memories` by id of photo; none is written twice.

    Raises ExportError for a folder in use, a full disk, and a loss that is no number.
    """
    with run.held():
        run.begin()
        _learn(language, pairs, run, seed, stage, say)
        return _written(language, memories, run, seed, stage)


def _learn(
    language: Language, pairs: Sequence[Pair], run: RunFolder, seed: int, stage: Stage, say: Say
) -> None:
    assert language.adapter is not None
    optimiser = torch.optim.AdamW(language.adapter.parameters(), lr=RATE, weight_decay=0.0)
    tokens = [(_prompt(language, pair.memory), _answer(language, pair.title)) for pair in pairs]
    batches = math.ceil(len(pairs) / BATCH)
    for epoch in range(run.resume(language.adapter, optimiser), EPOCHS):
        order, losses = np.random.default_rng((seed, epoch)).permutation(len(tokens)), []
        for at in range(batches):
            for group in optimiser.param_groups:
                group["lr"] = _rate(epoch * batches + at, EPOCHS * batches)
            prompts, answers = zip(*(tokens[n] for n in order[at * BATCH : (at + 1) * BATCH]), strict=True)
            loss = language.nll(prompts, answers).sum() / sum(map(len, answers))
            if not bool(torch.isfinite(loss)):
                raise ExportError("the loss is not a number: no title was written; give another --seed")
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(language.adapter.parameters(), 1.0)
            optimiser.step()
            losses.append(float(loss.detach()))
            stage(f"titles, epoch {epoch + 1} of {EPOCHS}", at + 1, batches)
        run.keep(language.adapter, optimiser, epoch + 1)
        say(f"titles, epoch {epoch + 1} of {EPOCHS}: {np.mean(losses):.3f} nats a token")


def _rate(step: int, steps: int) -> float:
    """Rises over WARMUP steps, then falls as a cosine."""
    return RATE * min(1.0, (step + 1) / WARMUP) * (0.5 + 0.5 * math.cos(math.pi * step / steps))


def _prompt(language: Language, memory: str) -> list[int]:
    told, asked = language.ids([memory, ASK])
    return [*told[:-1][:MEMORY], *asked[:-1]]


def _answer(language: Language, title: str) -> list[int]:
    ids = language.ids([f" {title}"])[0]
    return [*ids[: min(len(ids) - 1, MOST - 1)], ids[-1]]


def _written(
    language: Language, memories: Mapping[str, str], run: RunFolder, seed: int, stage: Stage
) -> dict[str, tuple[str, ...]]:
    path = run.inner / "titles.jsonl"
    out = {photo: titles for photo, titles in _kept(path) if photo in memories}
    waiting = [photo for photo in memories if photo not in out]
    with path.open("a", encoding="utf-8") as file:
        for photo in waiting:
            out[photo] = _titles(language, memories[photo], seed)
            file.write(json.dumps({"photo": photo, "titles": out[photo]}, ensure_ascii=False) + "\n")
            file.flush()
            stage("titles of photos", len(out), len(memories))
    return out


@dataclass(frozen=True)
class _Line:
    photo: str
    titles: tuple[str, ...]


def _kept(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What an interrupted run had written; its last line may be torn, and is taken off."""
    if not path.exists():
        return
    whole = path.read_bytes()
    whole = whole[: whole.rfind(b"\n") + 1]
    path.write_bytes(whole)
    for line in whole.decode().split("\n")[:-1]:  # a title may hold what splitlines() takes for an end
        entry = read_as(_Line, parse(line), str(path))
        yield entry.photo, entry.titles


def _titles(language: Language, memory: str, seed: int) -> tuple[str, ...]:
    """The likeliest title and DRAWN others, each once; what is drawn depends on the memory and the seed."""
    prompt = _prompt(language, memory)
    digest = hashlib.sha256(f"{seed} {memory}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    answers = [
        *language.sample(prompt, 1, MOST, 0.0, generator),
        *language.sample(prompt, DRAWN, MOST, TEMPERATURE, generator),
    ]
    return tuple(dict.fromkeys(text for text in map(language.text, answers) if text))
