"""Predicts the bytes of a bundle beside its artifacts: tokenizers, gazetteer, fixtures, prompt caches."""

from __future__ import annotations

from dataclasses import replace

from gamer.runtime.backends import BACKENDS, runs_here
from gamer.runtime.models.language import chat, prefix

from ..components import components
from ..parity.golden import PHOTOS, TOKENS, side_of
from ..planning.phone_memory import cache_bytes
from ..settings import Settings
from . import contents, prefixes

GAZETTEER = 6_300_000
FACES = 7_800_000  # the landmarks' trees, and the golden pictures
OCR = 10_300_000  # the characters, and the golden pictures
MANIFEST = 200_000  # manifest, texts and other small fixtures


def predict(settings: Settings, targets: tuple[str, ...]) -> int:
    """Bytes, about. Reads tokenizers, but no weights. Raises ExportError."""
    texts = sum(len(text.encode()) for text in contents.texts(settings).values())
    gazetteer = GAZETTEER if "text" in settings.chosen.parts() else 0
    faces = FACES if "faces" in settings.chosen.parts() else 0
    ocr = OCR if "ocr" in settings.chosen.parts() else 0
    own = MANIFEST + texts + gazetteer + faces + ocr + _adapters(settings, targets)
    return own + _golden(settings) + _prefixes(settings, targets)


def _adapters(settings: Settings, targets: tuple[str, ...]) -> int:
    """The language model's adapters: files of ONNX in float32, fp16 in the program of Core ML."""
    adapted = components.adapters(settings).values()
    numbers = sum(int(p.numel()) for changes in adapted for p in changes.parameters())
    return numbers * sum(n for t, n in (("onnx", 4), ("coreml", 2)) if t in targets and settings.adapts(t))


def _golden(settings: Settings) -> int:
    """Golden inputs and outputs (parity/golden.py)."""
    total, language = 0, components.language(settings)
    for spec in filter(
        None, (components.preprocessing(settings), components.picture_preprocessing(settings))
    ):
        total += len(PHOTOS) * side_of(spec) ** 2 * 3
    if language is not None:
        total += 4 * TOKENS * language.hidden * 4
    if "dpe" in settings.chosen.parts():
        sizes, patches = components.dpe_sizes(settings), components.features(settings)[0]
        total += 4 * (patches * sizes.features + sizes.prompts(patches) * sizes.experts * sizes.hidden)
    return total


def _prefixes(settings: Settings, targets: tuple[str, ...]) -> int:
    """The caches of prompts for the targets that run on this platform (prefixes.py)."""
    from tokenizers import Tokenizer

    language = components.language(settings)
    if language is None or language.start_id is not None:
        return 0
    tokenizer = Tokenizer.from_str(components.llm_tokenizer(settings)[0])
    counts = [
        len(prefix.encode(tokenizer, prompt, "")[0])
        for name, prompt in contents.prompts_of(settings).items()
        if not name.startswith(chat.TURN)
    ]
    tokens = sum(n for n in counts if n + prefixes.ROOM <= language.max_seq)
    stored = replace(language, max_seq=tokens)
    return sum(cache_bytes(stored, settings.cache_of(t)) for t in BACKENDS if t in targets and runs_here(t))
