"""What a language model writes that learned it from what was searched and opened, by low-rank changes.

A pair ⟨query, memory⟩ of the GAMER paper teaches one of two. MEMORIES writes the memory for a query, as the
paper's refinement does (Eq. 2 without pixels). TITLES is the other way round (doc2query, Nogueira et al.
2019, arXiv 1904.08375): what its owner might call a photo. The titles' vectors are a channel of the album, so
that a search pays one more cosine and no generation.
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
TEMPERATURE = 0.7
WARMUP = 10  # steps
TAUGHT = 2  # photos of a search
Stage = Callable[[str, int, int], None]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Direction:
    """What is written, after what is read and `ask`.

    `to_memory`: whether a memory is written for a title, or a title for a memory. `read`, `most`: the most
    tokens of both; `drawn`: texts that are drawn beside the likeliest one.
    """

    name: str
    to_memory: bool
    ask: str
    read: int
    most: int
    drawn: int


TITLES = Direction("titles", False, "\n\nTitle:", 220, 24, 4)
MEMORIES = Direction("memories", True, "\n\nMemory:", 64, 32, 0)


@dataclass(frozen=True)
class Pair:
    """What a person called a photo, and its memories."""

    title: str
    memory: str

    def of(self, direction: Direction) -> tuple[str, str]:
        """What is read, and what is written."""
        return (self.title, self.memory) if direction.to_memory else (self.memory, self.title)


def pairs_of(searches: Iterable[tuple[str, Sequence[str]]], memories: Mapping[str, str]) -> list[Pair]:
    """`searches`: each with the ids of its photos, of which the first TAUGHT teach if they have a memory."""
    return [
        Pair(query, memories[photo])
        for query, photos in searches
        for photo in photos[:TAUGHT]
        if photo in memories
    ]


class Writer:
    """A language model that learns a direction from pairs, and writes, in the folder of a run.

    A killed run goes on after its last epoch or its last text. `texts`: what is read, by an id of its own;
    `told`: what the run is of. Raises ExportError for a folder of something else.
    """

    def __init__(
        self,
        direction: Direction,
        pairs: Sequence[Pair],
        texts: Mapping[str, str],
        out: Path,
        told: Told,
        seed: int,
    ) -> None:
        self._what, self._pairs, self._texts, self._seed = direction, pairs, texts, seed
        digest = hashlib.sha256(repr((sorted(texts.items()), list(pairs))).encode()).hexdigest()
        self._run = RunFolder(out, told | {direction.name: digest, "seed": seed})
        self._run.check()

    def write(self, language: Language, stage: Stage, say: Say) -> dict[str, tuple[str, ...]]:
        """Learns, then writes for each text by its id; none is written twice.

        Raises ExportError for a folder in use, a full disk, and a loss that is no number.
        """
        with self._run.held():
            self._run.begin()
            self._learn(language, stage, say)
            return self._written(language, stage)

    def _learn(self, language: Language, stage: Stage, say: Say) -> None:
        assert language.adapter is not None
        name = self._what.name
        optimiser = torch.optim.AdamW(language.adapter.parameters(), lr=RATE, weight_decay=0.0)
        tokens = [self._tokens(language, pair) for pair in self._pairs]
        batches = math.ceil(len(tokens) / BATCH)
        for epoch in range(self._run.resume(language.adapter, optimiser), EPOCHS):
            order, losses = np.random.default_rng((self._seed, epoch)).permutation(len(tokens)), []
            for at in range(batches):
                for group in optimiser.param_groups:
                    group["lr"] = _rate(epoch * batches + at, EPOCHS * batches)
                prompts, answers = zip(
                    *(tokens[n] for n in order[at * BATCH : (at + 1) * BATCH]), strict=True
                )
                loss = language.nll(prompts, answers).sum() / sum(map(len, answers))
                if not bool(torch.isfinite(loss)):
                    raise ExportError(
                        f"the loss is not a number: no {name} were written; give another --seed"
                    )
                optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(language.adapter.parameters(), 1.0)
                optimiser.step()
                losses.append(float(loss.detach()))
                stage(f"{name}, epoch {epoch + 1} of {EPOCHS}", at + 1, batches)
            self._run.keep(language.adapter, optimiser, epoch + 1)
            say(f"{name}, epoch {epoch + 1} of {EPOCHS}: {np.mean(losses):.3f} nats a token")

    def _tokens(self, language: Language, pair: Pair) -> tuple[list[int], list[int]]:
        """The prompt and the answer of a pair."""
        read, written = pair.of(self._what)
        return self._prompt(language, read), self._answer(language, written)

    def _prompt(self, language: Language, read: str) -> list[int]:
        told, asked = language.ids([read, self._what.ask])
        return [*told[:-1][: self._what.read], *asked[:-1]]

    def _answer(self, language: Language, written: str) -> list[int]:
        ids = language.ids([f" {written}"])[0]
        return [*ids[: min(len(ids), self._what.most) - 1], ids[-1]]

    def nats(self, language: Language, pairs: Sequence[Pair]) -> float:
        """Nats a token of what was to be written for other pairs."""
        tokens = [self._tokens(language, pair) for pair in pairs]
        losses = 0.0
        with torch.no_grad():
            for at in range(0, len(tokens), BATCH):
                prompts, answers = zip(*tokens[at : at + BATCH], strict=True)
                losses += float(language.nll(prompts, answers).sum())
        return losses / sum(len(answer) for _, answer in tokens)

    def _written(self, language: Language, stage: Stage) -> dict[str, tuple[str, ...]]:
        path = self._run.inner / "written.jsonl"  # "titles.jsonl" was of other lines
        out = {key: texts for key, texts in _kept(path) if key in self._texts}
        waiting = [key for key in self._texts if key not in out]
        with path.open("a", encoding="utf-8") as file:
            for key in waiting:
                out[key] = self._write(language, self._texts[key])
                file.write(json.dumps({"of": key, "texts": out[key]}, ensure_ascii=False) + "\n")
                file.flush()
                stage(f"{self._what.name} are written", len(out), len(self._texts))
        return out

    def _write(self, language: Language, read: str) -> tuple[str, ...]:
        """The likeliest text and the drawn ones, each once; these depend on what is read and the seed."""
        prompt, most = self._prompt(language, read), self._what.most
        digest = hashlib.sha256(f"{self._seed} {read}".encode()).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
        answers = language.sample(prompt, 1, most, 0.0, generator)
        if self._what.drawn:
            answers += language.sample(prompt, self._what.drawn, most, TEMPERATURE, generator)
        return tuple(dict.fromkeys(text for text in map(language.text, answers) if text))


def _rate(step: int, steps: int) -> float:
    """Rises over WARMUP steps, then falls as a cosine."""
    return RATE * min(1.0, (step + 1) / WARMUP) * (0.5 + 0.5 * math.cos(math.pi * step / steps))


@dataclass(frozen=True)
class _Line:
    of: str
    texts: tuple[str, ...]


def _kept(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What an interrupted run had written; its last line may be torn, and is taken off."""
    if not path.exists():
        return
    whole = path.read_bytes()
    whole = whole[: whole.rfind(b"\n") + 1]
    path.write_bytes(whole)
    for line in whole.decode().split("\n")[:-1]:  # a text may hold what splitlines() takes for an end
        entry = read_as(_Line, parse(line), str(path))
        yield entry.of, entry.texts
