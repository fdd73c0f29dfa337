"""Suites `printed` and `lines`.

`printed`: lines in a map of probabilities, what is cut from a picture, codes, what looks like print. `lines`:
what the networks of the part ocr read in a picture, for which a bundle is exported.
"""

from __future__ import annotations

import base64
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from PIL import Image

from gamer.runtime.indexing import ocr
from gamer.runtime.models import printed
from gamer.runtime.models.models import Models
from tools.conformance.fixture import Answers, Case, Given, Suite, base64_of, floats, vector
from tools.conformance.suites.pixel_suites import pixels_of

EVERY = 97  # a cut's values of which one is compared


def suite(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del folder, stack
    pictures = {name: pixels_of(given) for name, given in shared["pictures"].items()}

    def cut(given: Given) -> Given:
        line = printed.cut(pictures[given["picture"]], _box(given["box"]), given["cut"])
        return {"values": floats(line.ravel()[::EVERY])}

    return {
        "boxes": _boxes,
        "order": _order,
        "cut": cut,
        "decode": _decode,
        "size": _size,
        "written": _written,
    }


def _boxes(given: Given) -> Given:
    codes = np.frombuffer(base64.b64decode(given["map"]), np.uint8)
    likely = codes.reshape(given["height"], given["stride"])[:, : given["width"]].astype(
        np.float32
    ) / np.float32(255)
    return {"boxes": [_values(printed.scaled(box, *given["scale"])) for box in printed.boxes(likely)]}


def _order(given: Given) -> Given:
    boxes = [_box(values) for values in given["boxes"]]
    return {"order": [boxes.index(box) for box in printed.in_reading_order(boxes)]}


def _decode(given: Given) -> Given:
    text, confidence = printed.decoded(vector(given["codes"]), vector(given["scores"]), given["characters"])
    return {"text": text, "confidence": confidence}


def _size(given: Given) -> Given:
    return {"size": list(printed.detected_size(given["width"], given["height"], given["fixed"]))}


def _written(given: Given) -> Given:
    if "grey" in given:
        given = given | {
            "rgb": base64_of(bytes(v for v in base64.b64decode(given["grey"]) for _ in range(3)))
        }
    grey = ocr.grey_of(pixels_of(given))
    return {"flat": ocr.flat_share(grey), "print": ocr.print_share(grey)}


def of_networks(stage: Path) -> Suite:
    """Pictures of a photographed page and of drawn lines, as they are, turned a little, and upside down."""
    import gamer
    from gamer.export.components.printed import page
    from gamer.export.settings import Settings

    gamer.export("pocket", stage / "ocr", targets=("onnx",), settings=Settings("pocket", parts=("ocr",)))
    picture = Image.fromarray(page())
    turned = {
        "upright": picture,
        "turned": picture.rotate(7, Image.Resampling.BICUBIC, expand=True, fillcolor="white"),
        "upside down": picture.crop((0, 480, 700, 900)).rotate(180),
    }
    cases = [
        Case(
            name,
            {"width": shown.width, "height": shown.height, "rgb": base64_of(np.asarray(shown, np.uint8))},
        )
        for name, shown in turned.items()
    ]
    return Suite("lines", tuple(cases), {"bundle": str(stage / "ocr")}, 1.0)  # a pixel


def lines(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del folder, stack
    reader = Models.open(Path(shared["bundle"])).lines

    def answer(given: Given) -> Given:
        found = reader.read(pixels_of(given))
        return {"texts": [line.text for line in found], "boxes": [_values(line.box) for line in found]}

    return {"": answer}


def _box(values: list[float]) -> printed.Box:
    x, y, right, low, left, down = values
    return printed.Box(x, y, (right, low), (left, down))


def _values(box: printed.Box) -> list[float]:
    return [round(value, 6) for value in (box.x, box.y, *box.along, *box.down)]
