"""The components of a bundle, each ready to run on one input; `bench latency` times them one by one.

A bundle need not be complete: a component that it lacks (a language model, tokenizers, an image tower) is
left out. Inputs are made from the artifacts' own specs, so that any recipe's towers run; a component with
random weights costs as much as a trained one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gamer.runtime.backends import Array
from gamer.runtime.bundle.manifest import Artifact
from gamer.runtime.models.image import prepare
from gamer.runtime.models.language.reuse import Prefix
from gamer.runtime.models.models import Models
from gamer.runtime.models.router import choose

from .graph import bound, dims_of

TEXT = "coffee I photographed last spring"
TEXT_TOKENS, PROMPT_TOKENS = 8, 128  # assumed for a bundle without tokenizers
ANSWER = 32  # cache slots reserved for decoded tokens
PHOTO = (600, 800, 3)
# A user's action → the roles of the components that are in memory for it.
TASK_ROLES = {
    "query, refined by rules": ("text_tower",),
    "query, refined by the language model": ("text_tower", "llm_embed", "llm_encoder", "llm_decoder"),
    "photo indexed": ("image_tower", "text_tower"),
}


@dataclass(frozen=True, eq=False)
class ComponentRun:
    """A component, or a step of one, with an input.

    `run` executes it once. `tokens`, `past` and `source` (what an encoder read) are the lengths of the input,
    for counting. `role` is "" where there is nothing to count.
    """

    step: str
    on: str
    role: str
    run: Callable[[], object]
    tokens: int = 1
    past: int = 0
    source: int = 0

    def dims(self) -> dict[str, int]:
        """The lengths of this run, by the names of the graph's dimensions."""
        return dims_of(self.tokens, self.past, {"source": self.source} if self.source else {})


def runs_of(models: Models) -> Iterator[ComponentRun]:
    """Every part that the bundle has, with its session opened."""
    have = {a.role for a in models.manifest.artifacts if a.target == models.backend}
    if "image_tower" in have:
        yield from _image(models)
    if "text_tower" in have:
        yield from _text(models)
    if "dpe_router" in have:
        yield from _dpe(models, sorted(role for role in have if role.startswith("dpe_expert_")))
    if "llm_decoder" in have and "llm_embed" in have:
        yield from _language(models)


def feed(artifact: Artifact, tokens: int) -> dict[str, Array]:
    """Inputs of the shapes in the artifact's specs: random floats and bytes (uint8), ones for the rest."""
    rng, dims, out = np.random.default_rng(0), dims_of(tokens, 0, {}), dict[str, Array]()
    for spec in artifact.inputs:
        shape = [d if isinstance(d, int) else bound(d, dims) or 1 for d in spec.shape]
        if np.dtype(spec.dtype).kind == "f":
            out[spec.name] = rng.standard_normal(shape).astype(spec.dtype)
        else:
            out[spec.name] = (
                rng.integers(0, 256, shape).astype(spec.dtype)
                if spec.dtype == "uint8"
                else np.ones(shape, spec.dtype)
            )
    return out


def _runs(models: Models, role: str, inputs: dict[str, Array]) -> Callable[[], object]:
    session = models.session(role)
    return lambda: session.run(inputs)


def _image(models: Models) -> Iterator[ComponentRun]:
    artifact = models.manifest.artifact("image_tower", models.backend)
    pixels = np.random.default_rng(0).integers(0, 256, PHOTO, np.uint8)
    if artifact.inputs[0].dtype == "uint8":  # the tower resizes in its own graph
        yield ComponentRun(
            "image_tower",
            "one photo, resize included",
            "image_tower",
            _runs(models, "image_tower", {artifact.inputs[0].name: pixels}),
        )
        return
    spec = models.manifest.pixels()
    yield ComponentRun(
        "image_resize", f"one photo of {PHOTO[1]} × {PHOTO[0]}", "", lambda: prepare(pixels, spec)
    )
    yield ComponentRun(
        "image_tower",
        "one photo",
        "image_tower",
        _runs(models, "image_tower", {artifact.inputs[0].name: prepare(pixels, spec)}),
    )


def _text(models: Models) -> Iterator[ComponentRun]:
    tokens = TEXT_TOKENS
    if models.manifest.has_file("text_tokenizer.json"):
        tokens = len(models.text.ids(TEXT))
        yield ComponentRun("tokenise", "one query", "", lambda: models.text.ids(TEXT))
    artifact = models.manifest.artifact("text_tower", models.backend)
    fixed = artifact.inputs[0].shape[-1]
    tokens = fixed if isinstance(fixed, int) else tokens
    yield ComponentRun(
        "text_tower",
        f"one query of {tokens} tokens",
        "text_tower",
        _runs(models, "text_tower", feed(artifact, tokens)),
        tokens,
    )


def _dpe(models: Models, experts: list[str]) -> Iterator[ComponentRun]:
    inputs = feed(models.manifest.artifact("dpe_router", models.backend), 1)
    router = models.session("dpe_router")
    yield ComponentRun("dpe_router", "one photo", "dpe_router", lambda: router.run(inputs))
    for role in experts:
        yield ComponentRun(role, "one photo", role, _runs(models, role, inputs))
    patches = next(iter(inputs.values()))[0].astype(np.float32)
    weights = next(iter(router.run(inputs).values()))[0].astype(np.float32)
    chosen, _ = choose(weights, models.manifest.thresholds.rho)
    yield ComponentRun(
        "dpe",
        f"router and the experts it chose ({len(chosen)} of {len(experts)})",
        "",
        lambda: models.project(patches),
    )


def _language(models: Models) -> Iterator[ComponentRun]:
    ids, prefix = prompt_of(models, TEXT)
    lm, slots = models.language_model, models.manifest.decoder().max_seq
    yield ComponentRun("llm_embed", "one token", "llm_embed", lambda: lm.embed(ids[:1]))
    embeds, encode_prompt = lm.embed(ids), getattr(lm.decoder, "read", None)
    if encode_prompt is not None:  # an encoder-decoder reads the prompt with its encoder
        yield ComponentRun(
            "llm_encoder", f"{len(ids)} tokens", "llm_encoder", lambda: encode_prompt(embeds), len(ids)
        )
    else:

        def prefill() -> None:
            lm.decoder.reset()
            lm.decoder.forward(embeds)

        yield ComponentRun("llm_prefill", f"{len(ids)} tokens", "llm_decoder", prefill, len(ids))
    if prefix is not None and encode_prompt is None:
        known_prefix, rest = prefix, lm.embed(ids[len(prefix.ids) :])

        def after() -> None:
            lm.decoder.restore(known_prefix.cache)
            lm.decoder.forward(rest)

        yield ComponentRun(
            "llm_prefill_after_prefix",
            f"{len(rest)} tokens, {len(known_prefix.ids)} kept",
            "llm_decoder",
            after,
            len(rest),
            len(known_prefix.ids),
        )

    def decode() -> None:
        if lm.decoder.past + 1 >= slots or not lm.decoder.past:
            lm.decoder.reset()
            lm.decoder.forward(embeds[: 1 if encode_prompt is not None else len(ids)])
        lm.decoder.forward(embeds[:1])

    past, source = (len(ids), 0) if encode_prompt is None else (1, len(ids))
    yield ComponentRun(
        step="llm_decode", on="one token", role="llm_decoder", run=decode, tokens=1, past=past, source=source
    )


def prompt_of(models: Models, query: str) -> tuple[tuple[int, ...], Prefix | None]:
    """A refinement's prompt and the prefix that the bundle ships.

    Arbitrary ids for a bundle without a tokenizer or without the prompt; a prompt that does not fit the cache
    is cut. In both cases the prefix is None.
    """
    slots = models.manifest.decoder().max_seq
    if not models.manifest.has_file("llm_tokenizer.json") or "refine" not in models.manifest.prompts:
        return tuple(range(1, 1 + min(PROMPT_TOKENS, slots // 2))), None
    ids, prefix = models.prompt("refine", query), models.prefix("refine")
    return (ids, prefix) if len(ids) + ANSWER <= slots else (ids[: max(1, slots - ANSWER)], None)
