"""Fake models for tests that need an answer but no trained network: one set for the tests of every room."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import numpy as np

from gamer.index import FloatArray
from gamer.runtime.bundle.manifest import Channel
from gamer.runtime.models.models import ImageCode, Models

DIM = 8


def unit(seed: bytes) -> FloatArray:
    vector = np.random.default_rng(list(seed)).standard_normal(DIM).astype(np.float32)
    return cast(FloatArray, vector / np.linalg.norm(vector))


class FakeText:
    """A text tower: the same text always has the same vector."""

    words: ClassVar[dict[str, int]] = {}  # its vocabulary: knows no word

    def ids(self, text: str) -> list[int]:
        return list(text.encode())

    def embed(self, ids: Sequence[int], adapter: FloatArray | None = None) -> FloatArray:
        return unit(bytes(ids))

    def encode_query(self, query: str) -> FloatArray:
        return self.embed(self.ids(query))

    def encode(self, texts: Sequence[str]) -> FloatArray:
        vectors = [self.embed(self.ids(text)) for text in texts]
        return np.stack(vectors) if texts else np.zeros((0, DIM), np.float32)

    def chunks(self, text: str) -> list[str]:
        return [text]


CHANNEL = Channel("dpe:text:0123abcd", "text", DIM)


def fake_models(name: str = "made-up", *, experts: bool = False) -> Models:
    """The parts of a bundle that indexing and a search use. A picture's vector depends on its mean colour.

    `experts`: with trained experts, which see the colour's opposite, as does their query head.
    """
    thresholds = SimpleNamespace(delta=0.6, k=5, paper_delta=None)

    def encode_image(pixels: Any) -> ImageCode:
        colour = bytes(int(c) for c in pixels.mean((0, 1)))
        return ImageCode(unit(colour), unit(colour)[None], (("thing of colour " + colour.hex(), 0.9),))

    manifest = SimpleNamespace(
        pixels=lambda: SimpleNamespace(least=20_000),  # pictures are never reduced
        text_encoder=name,
        image_encoder="colours",
        dim=DIM,
        thresholds=thresholds,
        ranking=None,
        prompts={},
        files=(),
        language=None,
        channels=(CHANNEL,) if experts else (),
    )
    gazetteer = SimpleNamespace(
        nearest=lambda lat, lon: None, lookup=lambda name: [], countries={"IN": "India"}
    )
    return cast(
        Models,
        SimpleNamespace(
            has_lines=False,
            manifest=manifest,
            bundle=Path("out/x"),
            text=FakeText(),
            labels=(),
            encode_image=encode_image,
            gazetteer=gazetteer,
            describe=lambda: "fakes",
            photo_vector=lambda patches: -patches[0],
            query_adapter=lambda own: None,
            query_vector=lambda channel, text, vector: -vector,
        ),
    )
