"""Suites that need an exported bundle.

Tokenizers, embeddings of both towers, DPE routing, tokens of the language model, and complete searches. They
are written when needed, since no bundle is committed. Each function makes one suite from its inputs, so that
a replay can ask the reference again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.runtime.cues.quoted import cues_by_llm
from gamer.runtime.models.language.llm import Request
from gamer.runtime.models.models import Models
from gamer.runtime.search.answer import Answer
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import SearchOptions
from gamer.runtime.search.stages import refine
from tools.conformance import gloss_suites, token_suites
from tools.conformance.fixture import Case, Suite, base64_of, floats
from tools.conformance.pixel_suites import picture
from tools.conformance.words import HARD, strings

NOW = "2026-11-21T00:00:00"
TEXTS = (
    "the coffee I photographed last spring",
    "sunset",
    "где моя собака на пляже",
    "IKEA chair, 119 euros",
    "",
    "We walked from the old temple down to the lake, had noodles in a small shop next to the station, and "
    "took the last train back home. " * 5,
)
QUERIES = (
    "coffee I photographed last spring",
    "my cat asleep on the sofa",
    "a rocket launch at night",
    "the temple in China",
    "motorcycle",
    "photos from 2021 but not in May",
    "who stood beside the fountain",
    "flower, not in 2022",
    "the day after the rocket launch",
    "a picture of nothing of this kind",
)
GLOSSED = (
    "meine Katze auf dem Sofa",
    "Kaffeetasse im letzten Frühling",
    "die Rakete in der Nacht, nicht 2022",
    "le temple en Chine",
    "l'eau et la fleur de Lisse",
    "el gato en mi patio",
    "¿la moto de «Tom»?",
    "кофе Анны прошлой весной",
    "храм в Пекине",
    "the temple and the cat",
)
FUSED, PAPER = ("fused", "fast"), ("paper", "off")  # mode, refined_by
ASKED = (
    "show me photos where my dog Rex swims in the lake",
    "the red car that grandpa repaired",
    "birthday cake with candles",
)
QUOTED = ("the harbour when we first met", "my sister near the old lighthouse", "a green door")
TOLERANCE = 2e-3  # int8 kernels and fused operators round differently in another version of ONNX Runtime
LEAST_GAP = 5e-3  # between the scores of adjacent hits; rounding could swap hits that are nearer
MAX_NEW = 16


def everything(bundle: Path, album: Path, stage: Path) -> list[Suite]:
    """`stage`: an empty folder that stays while the suites are replayed."""
    models = Models.open(bundle)
    out = [tokens(bundle, name) for name in ("text_tokenizer.json", "llm_tokenizer.json")]
    out += [
        embed_text(bundle, models, TEXTS),
        embed_image(bundle, models),
        dpe(bundle, models),
        llm(bundle, models),
    ]
    return [*out, search(bundle, album, QUERIES), search_glossed(gloss_suites.staged(bundle, stage), album)]


def tokens(bundle: Path, name: str, texts: Sequence[str] = ()) -> Suite:
    """The token suite of the bundle's tokenizer file `name`; its kind is read from the file."""
    path = bundle / name
    raw = json.loads(path.read_text(encoding="utf-8"))
    kind = (
        "wordpiece"
        if raw["model"]["type"] == "WordPiece"
        else "bpe_clip"
        if raw["model"].get("end_of_word_suffix")
        else "bpe_bytelevel"
    )
    return token_suites.suite(kind, path, str(path), texts or (*HARD, *strings(100, 3)))


def embed_text(bundle: Path, models: Models, texts: Sequence[str]) -> Suite:
    cases = [
        Case(f"{n:02d}", {"text": text}, {"embedding": floats(models.text.encode([text])[0])})
        for n, text in enumerate(texts)
    ]
    cases.append(
        Case("chunks", {"op": "chunks", "text": TEXTS[-1]}, {"chunks": models.text.chunks(TEXTS[-1])})
    )
    return Suite("embed_text", tuple(cases), {"bundle": str(bundle)}, TOLERANCE)


def _pictures() -> list[NDArray[np.uint8]]:
    smooth = np.asarray(np.kron(picture(12, 9, 0), np.ones((25, 25, 1))), np.uint8)
    return [picture(320, 240, 1), smooth, picture(224, 224, 3)]


def _given(pixels: NDArray[np.uint8]) -> dict[str, Any]:
    return {"width": pixels.shape[1], "height": pixels.shape[0], "rgb": base64_of(pixels)}


def embed_image(bundle: Path, models: Models) -> Suite:
    cases = []
    for n, pixels in enumerate(_pictures()):
        code = models.encode_image(pixels)
        cases.append(
            Case(
                f"{n}",
                _given(pixels),
                {
                    "embedding": floats(code.embedding),
                    "labels": [[name, share] for name, share in code.labels],
                },
            )
        )
    return Suite("embed_image", tuple(cases), {"bundle": str(bundle)}, TOLERANCE)


def dpe(bundle: Path, models: Models) -> Suite:
    """Patches of a picture → experts by Eq. 1 → soft prompts."""
    cases = []
    for n, pixels in enumerate(_pictures()):
        for rho in (0.3, 0.7, 1.0):
            out = models.project(models.encode_image(pixels).patches, rho)
            projected = {
                "experts": list(out.experts),
                "weights": list(out.weights),
                "shape": list(out.prompts.shape),
                "first": floats(out.prompts[0, :8]),
            }
            cases.append(Case(f"{n}-{rho}", {**_given(pixels), "rho": rho}, projected))
    return Suite("dpe", tuple(cases), {"bundle": str(bundle)}, 5 * TOLERANCE)


def llm(bundle: Path, models: Models) -> Suite:
    """Greedy tokens, with the shipped prefix and without it, and the cues that the grammar lets the model
    quote.
    """
    cases: list[Case] = []
    for n, query in enumerate(ASKED):
        notes = refine.fitting(("Rex", "Lena"), query).notes()
        for name, plain in (("prefix", False), ("plain", True)):
            if name == "plain" and n:
                continue
            models.language_model.reuse.forget()  # so that `computed` depends on no other case
            ids = models.prompt("refine", query, notes)
            generation = models.language_model.generate(Request(ids, MAX_NEW, stop=("\n",), plain=plain))
            given = {
                "op": "generate",
                "prompt": "refine",
                "query": query,
                "notes": notes,
                "prefix": not plain and any(p.prompt == "refine" for p in models.manifest.prefixes),
                "max_new": MAX_NEW,
                "stop": ["\n"],
            }
            out = {
                "prompt_ids": list(ids),
                "ids": list(generation.ids),
                "text": generation.text,
                "ended": generation.ended,
                "computed": generation.computed,
            }
            cases.append(Case(f"{name}-{n}", given, out))
    for n, query in enumerate(QUOTED if "cues" in models.manifest.prompts else ()):
        quoted = cues_by_llm(models, query)
        out = None if quoted is None else {"time": quoted.time, "place": quoted.place, "text": quoted.text}  # type: ignore[assignment]
        cases.append(Case(f"cues-{n}", {"op": "cues", "query": query}, out))
    return Suite("llm", tuple(cases), {"bundle": str(bundle)})


def search(bundle: Path, album: Path, queries: Sequence[str]) -> Suite:
    """Complete searches: the top hits and the trace, without times."""
    asked = [
        {"query": query, "mode": mode, "refined_by": refined_by}
        for n, query in enumerate(queries)
        for mode, refined_by in ((FUSED, PAPER) if n < 4 else (FUSED,))
    ]
    return _searches("search", bundle, album, asked)


def search_glossed(bundle: Path, album: Path) -> Suite:
    """Complete searches in other languages than English; one of them without its glosses too."""
    asked: list[dict[str, Any]] = [
        {"query": query, "mode": FUSED[0], "refined_by": FUSED[1]} for query in GLOSSED
    ]
    asked += [{**asked[0], "gloss": False}, {**asked[0], "mode": PAPER[0], "refined_by": PAPER[1]}]
    return _searches("search_glossed", bundle, album, asked)


def _searches(name: str, bundle: Path, album: Path, asked: Sequence[dict[str, Any]]) -> Suite:
    """At most five hits of each; fewer if rounding could change the order."""
    engine = Engine.open(bundle, album)
    cases = []
    for n, given in enumerate(asked):
        k, answer = _steady(partial(_search, engine, given))
        cases.append(Case(f"{n}-{given['mode']}", {**given, "k": k, "now": NOW}, told(answer)))
    engine.close()
    shared = {"bundle": str(bundle), "album": str(album)}
    return Suite(name, tuple(cases), shared, 5 * TOLERANCE)


def _search(engine: Engine, given: dict[str, Any], k: int) -> Answer:
    options = SearchOptions(gloss=given.get("gloss", True))
    now = datetime.fromisoformat(NOW)
    return engine.search(
        given["query"], k, refined_by=given["refined_by"], mode=given["mode"], now=now, options=options
    )


def _steady(search: Callable[[int], Answer]) -> tuple[int, Answer]:
    """How many hits, at most five, have an order that rounding cannot change; these hits."""
    hits = search(6).hits
    gaps = [a.score - b.score for a, b in pairwise(hits)]
    k = next(
        (max(1, n) for n in range(min(5, len(hits)), 0, -1) if all(gap > LEAST_GAP for gap in gaps[:n])), 1
    )
    return k, search(k)


def told(answer: Answer) -> dict[str, Any]:
    """The part of an answer in which a port must agree."""
    t = answer.trace
    hits = [
        {
            "id": h.id,
            "row": h.row,
            "taken_at": h.taken_at,
            "score": h.score,
            "probability": h.probability,
            "parts": h.parts,
            "memory": h.memory,
        }
        | {"matched": sorted(h.matched)}
        for h in answer.hits
    ]
    trace = {
        "cues": list(t.cues),
        "cube_lines": list(t.cube_lines),
        "refined": t.refined,
        "refined_by": t.refined_by,
        "delta": t.delta,
    }
    trace |= {
        "entities": sorted(m.name for m in t.entities),
        "left": t.left,
        "linked": t.linked,
        "widened": t.widened,
        "plan": t.plan,
        "mode": t.mode,
    }
    return {"hits": hits, "trace": trace, "presence": answer.presence}
