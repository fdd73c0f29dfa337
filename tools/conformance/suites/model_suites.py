"""Suites that need an exported bundle.

Tokenizers, embeddings of both towers, DPE routing, tokens of the language model, and complete searches. They
are written when needed, since no bundle is committed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path

import apsw
import numpy as np

from gamer.index import Album, AlbumWriter
from gamer.index.people import reading
from gamer.index.people import writing as people
from gamer.index.people.records import LookedAt, NewFace
from gamer.index.records import COPIES
from gamer.runtime.cues.quoted import cues_by_llm
from gamer.runtime.models.language.llm import Request
from gamer.runtime.models.models import Models
from gamer.runtime.search.answer import Answer
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import SearchOptions
from gamer.runtime.search.stages import refine
from tools.conformance.fixture import Answers, Case, Given, Suite, base64_of, floats
from tools.conformance.suites import asked_suites, face_suites, gloss_suites, printed_suites, token_suites
from tools.conformance.suites.pixel_suites import picture, pixels_of
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
FOUND = (
    "my cat but no sofa",
    "photos without a cat",
    "my favourite photos without a motorcycle",
    "my favourite pictures of the horse",
    "photos without a date",
    "pictures where there is no text",
    "a rocket, but not in 2024",
    "the garden without coffee or a cat",
    "Blume im Garten, aber keine Katze",
    "meine Lieblingsfotos",
    "цветок без кошки",
    "photos in 1990",
    "a temple in Iceland",
    "my cat in Paris in 2019",
    "last summer",
    "our trip to China",
    "how many photos of cats do we have?",
    "how many photos from 2021",
    "how many in Germany",
    "how many from last year",
    "the rokcet launch",
    "screenshots from last summer",
    "photos in portrait format",
    "a garden, taken with flash",
    "photos taken with my Canon EOS",
    "videos",
    "the cat in the week after the rocket launch",
    "photos after the rocket launch",
    "photos of Daisy alone",
    "Daisy and Robin together",
    "Robin by himself last summer",
    "group photos",
    "pictures of three people together",
    "only one person",
    "a group photo of the horse",
    "the tree alone",
    "the last photo",
    "my two oldest pictures of a cat",
    "the second last photo from China",
    "latest photos of the rocket in 2024",
    "how many photos per month",
    "how many pictures of cats per year",
    "how many photos from 2021 each day",
    "in which month did I take the most photos",
    "where did I take the most photos",
    "in which country did I take most photos of the temple",
    "where did I take most photos of the alpaca",
    "a xylophone in the attic",
    "how many photos of giraffes",
    "zwei Giraffen neben dem Xylophon",
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


def of_bundle(bundle: Path, album: Path, stage: Path) -> list[Suite]:
    """The inputs. `stage`: an empty folder that stays while the suites are replayed."""
    models = opened(str(bundle))
    texts = [Case(f"{n:02d}", {"text": text}) for n, text in enumerate(TEXTS)]
    texts.append(Case("chunks", {"op": "chunks", "text": TEXTS[-1]}))
    pictures = [Case(f"{n}", given) for n, given in enumerate(_pictures())]
    routed = [
        Case(f"{case.id}-{rho}", {**case.given, "rho": rho}) for case in pictures for rho in (0.3, 0.7, 1.0)
    ]
    glossed: list[Given] = [{"query": query, "mode": FUSED[0], "refined_by": FUSED[1]} for query in GLOSSED]
    glossed += [{**glossed[0], "gloss": False}, {**glossed[0], "mode": PAPER[0], "refined_by": PAPER[1]}]
    asked = [
        {"query": query, "mode": mode, "refined_by": refined_by}
        for n, query in enumerate(QUERIES)
        for mode, refined_by in ((FUSED, PAPER) if n < 4 else (FUSED,))
    ]
    found: list[Given] = [glossed[0] | {"query": query, "wishes": True} for query in FOUND]
    shared = {"bundle": str(bundle)}
    foreign = gloss_suites.staged(bundle, stage)
    return [
        *(_tokens(bundle, name) for name in ("text_tokenizer.json", "llm_tokenizer.json")),
        Suite("embed_text", tuple(texts), shared, TOLERANCE),
        Suite("embed_image", tuple(pictures), shared, TOLERANCE),
        Suite("dpe", tuple(routed), shared, 5 * TOLERANCE),
        Suite("llm", tuple(_written(models)), shared),
        printed_suites.of_networks(stage),
        face_suites.suite(stage),
        _searches("search", bundle, album, asked),
        _searches("search_glossed", foreign, album, glossed),
        _searches("search_found", foreign, _marked(album, stage / "marked.gamer"), found),
        asked_suites.suite(foreign, album, stage),
    ]


def _tokens(bundle: Path, name: str) -> Suite:
    """The token suite of the bundle's tokenizer file `name`; its kind is read from the file."""
    raw = json.loads((bundle / name).read_text(encoding="utf-8"))
    kind = (
        "wordpiece"
        if raw["model"]["type"] == "WordPiece"
        else "bpe_clip"
        if raw["model"].get("end_of_word_suffix")
        else "bpe_bytelevel"
    )
    return token_suites.asked(kind, bundle / name, (*HARD, *strings(100, 3)))


def _pictures() -> list[Given]:
    smooth = np.asarray(np.kron(picture(12, 9, 0), np.ones((25, 25, 1))), np.uint8)
    shown = [picture(320, 240, 1), smooth, picture(224, 224, 3)]
    return [
        {"width": pixels.shape[1], "height": pixels.shape[0], "rgb": base64_of(pixels)} for pixels in shown
    ]


def _written(models: Models) -> Iterator[Case]:
    """What the language model is asked, with the shipped prefix and without it."""
    shipped = any(p.prompt == "refine" for p in models.manifest.prefixes)
    for n, query in enumerate(ASKED):
        notes = refine.fitting(("Rex", "Lena"), query).notes()
        given = {"op": "generate", "prompt": "refine", "query": query, "notes": notes}
        for name, has_prefix in (("prefix", shipped), ("plain", False))[: 1 if n else 2]:
            more = {"prefix": has_prefix, "max_new": MAX_NEW, "stop": ["\n"]}
            yield Case(f"{name}-{n}", given | more)
    for n, query in enumerate(QUOTED if "cues" in models.manifest.prompts else ()):
        yield Case(f"cues-{n}", {"op": "cues", "query": query})


def _searches(name: str, bundle: Path, album: Path, asked: Sequence[Given]) -> Suite:
    """Complete searches for at most five hits; fewer if rounding could change the order."""
    with Engine.open(bundle, album) as engine:
        cases = [
            Case(f"{n}-{given['mode']}", {**given, "k": _steady(engine, given), "now": NOW})
            for n, given in enumerate(asked)
        ]
    return Suite(name, tuple(cases), {"bundle": str(bundle), "album": str(album)}, 5 * TOLERANCE)


def _marked(album: Path, to: Path) -> Path:
    """A copy of the album in which every third photo is a favourite, and a copy of the one before it.

    Every fifth has a header that names a camera, a flash and a shape, every seventh is a screenshot.
    Every fourth shows Daisy Berg, every sixth Robin, every ninth somebody without a name.
    """
    shutil.copyfile(album, to)
    with Album.open(to) as opened:
        ids = opened.ids()
        likeness = opened.means(COPIES)
    same = {photo: likeness[[row - row % 3 % 2]] for row, photo in enumerate(ids)}
    told = {"camera": "Canon EOS 5D", "lighting": "flash", "orientation": "portrait"}
    with AlbumWriter.extend(to) as writer:
        writer.change_optional(lambda db, _: _with_people(db, to, ids))
        writer.mark_favourites(ids[2::3], True)
        writer.set_channel(COPIES, same)
        writer.note_details(
            dict.fromkeys(ids[1::5], told) | {photo: {"medium": "screenshot"} for photo in ids[6::7]}
        )
    return to


def _with_people(db: apsw.Connection, album: Path, ids: Sequence[str]) -> None:
    """A face of each person is stored for itself; merging makes them one."""
    shown = {"Daisy Berg": ids[::4], "Robin": ids[::6], None: ids[::9]}
    people.begin(db, album, "faces of a test")
    boxes = [[who for who, photos in shown.items() if photo in photos] for photo in ids]
    noise = np.random.default_rng(5)
    people.store(
        db,
        [
            LookedAt(photo, None, tuple(_face(noise) for _ in inside))
            for photo, inside in zip(ids, boxes, strict=True)
        ],
    )
    whose = [who for inside in boxes for who in inside]
    for name in ("Daisy Berg", "Robin"):
        found = reading.of(db, album).people
        into, *others = (person for person in found if whose[person.faces[0].row - 1] == name)
        people.merge(db, into, others)
        people.name(db, album, reading.of(db, album).person(into.key), name)


def _face(noise: np.random.Generator) -> NewFace:
    return NewFace((0.1, 0.1, 0.2, 0.2), 1.0, noise.normal(size=128).astype(np.float32))


def _steady(engine: Engine, given: Given) -> int:
    """How many hits, at most five, have an order that rounding cannot change; at least one."""
    hits = _search(engine, given | {"k": 6, "now": NOW}).hits
    gaps = [a.score - b.score for a, b in pairwise(hits)]
    return next(
        (max(1, n) for n in range(min(5, len(hits)), 0, -1) if all(gap > LEAST_GAP for gap in gaps[:n])), 1
    )


@cache
def opened(bundle: str) -> Models:
    return Models.open(Path(bundle))


def embed_text(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del folder, stack
    text = opened(shared["bundle"]).text
    return {
        "": lambda given: {"embedding": floats(text.encode([given["text"]])[0])},
        "chunks": lambda given: {"chunks": text.chunks(given["text"])},
    }


def embed_image(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del folder, stack

    def answer(given: Given) -> Given:
        code = opened(shared["bundle"]).encode_image(pixels_of(given))
        labels = [[name, share] for name, share in code.labels]
        return {"embedding": floats(code.embedding), "labels": labels}

    return {"": answer}


def dpe(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    """Patches of a picture → experts by Eq. 1 → soft prompts."""
    del folder, stack

    def answer(given: Given) -> Given:
        models = opened(shared["bundle"])
        out = models.project(models.encode_image(pixels_of(given)).patches, given["rho"])
        return {
            "experts": list(out.experts),
            "weights": list(out.weights),
            "shape": list(out.prompts.shape),
            "first": floats(out.prompts[0, :8]),
        }

    return {"": answer}


def llm(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    """Greedy tokens, and the cues that the grammar lets the model quote."""
    del folder, stack
    models = opened(shared["bundle"])

    def generate(given: Given) -> Given:
        models.language_model.reuse.forget()  # so that `computed` depends on no other case
        ids = models.prompt(given["prompt"], given["query"], given["notes"])
        request = Request(ids, given["max_new"], stop=tuple(given["stop"]), plain=not given["prefix"])
        written = models.language_model.generate(request)
        return {
            "prompt_ids": list(ids),
            "ids": list(written.ids),
            "text": written.text,
            "ended": written.ended,
            "computed": written.computed,
        }

    def quoted(given: Given) -> Given | None:
        cues = cues_by_llm(models, given["query"])
        return None if cues is None else {"time": cues.time, "place": cues.place, "text": cues.text}

    return {"generate": generate, "cues": quoted}


def search(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    """Complete searches: the top hits and the trace, without times."""
    del folder
    engine = stack.enter_context(Engine.open(Path(shared["bundle"]), Path(shared["album"])))
    return {"": lambda given: told(_search(engine, given))}


def _search(engine: Engine, given: Given) -> Answer:
    return engine.search(
        given["query"],
        given["k"],
        refined_by=given["refined_by"],
        mode=given["mode"],
        now=datetime.fromisoformat(given["now"]),
        options=SearchOptions(gloss=given.get("gloss", True), wishes=given.get("wishes", False)),
    )


COMPARED = ("id", "row", "taken_at", "score", "probability", "parts", "memory")
TRACED = ("cues", "cube_lines", "refined", "refined_by", "delta", "left", "linked", "widened", "plan", "mode")


def told(answer: Answer) -> Given:
    """The part of an answer in which a port must agree."""
    return compared(asdict(answer))


def compared(raw: Given, hits: int | None = None) -> Given:
    """The part of an answer in JSON in which a port must agree: its first `hits`, no times, no machine."""
    return {
        "hits": [
            {name: hit[name] for name in COMPARED}
            | {"matched": sorted(hit["matched"]), "copies": list(hit["copies"])}
            for hit in raw["hits"][:hits]
        ],
        "trace": {
            **{name: raw["trace"][name] for name in TRACED},
            "entities": sorted(match["name"] for match in raw["trace"]["entities"]),
        },
        **{name: raw[name] for name in ("presence", "count", "note")},
    }
