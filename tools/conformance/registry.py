"""What answers each suite in Python, and the inputs that follow from other code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tools.conformance.fixture import Opening, Suite
from tools.conformance.suites import (
    album_suites,
    asked_suites,
    bundle_suites,
    clip_suites,
    cue_suites,
    face_suites,
    gloss_suites,
    graph_suites,
    model_suites,
    pixel_suites,
    printed_suites,
    question_suites,
    ranking_suites,
    token_suites,
    tree_suites,
)

ANSWERS: dict[str, Opening] = {
    **{kind: partial(token_suites.tokens, kind) for kind in token_suites.KINDS},
    "resize": pixel_suites.resize,
    "routing": pixel_suites.routing,
    "printed": printed_suites.suite,
    "lines": printed_suites.lines,
    "clips": clip_suites.suite,
    "faces": face_suites.answers,
    "kdtree": tree_suites.kdtree,
    "graph": graph_suites.graph,
    "entities": graph_suites.entities,
    "vectors": graph_suites.vectors,
    "hnsw": graph_suites.hnsw,
    "cues": cue_suites.cues,
    "glosses": gloss_suites.glosses,
    "questions": question_suites.questions,
    "album": album_suites.album,
    "lexical": album_suites.lexical,
    "ranking": ranking_suites.ranking,
    "manifest": bundle_suites.manifest,
    "prefix": bundle_suites.prefixes,
    "errors": bundle_suites.errors,
    "embed_text": model_suites.embed_text,
    "embed_image": model_suites.embed_image,
    "dpe": model_suites.dpe,
    "llm": model_suites.llm,
    "search": model_suites.search,
    "search_glossed": model_suites.search,
    "search_found": model_suites.search,
    "asked": asked_suites.asked,
}
# A committed suite → the same with inputs that other code has got since it was written.
RENEWED: dict[str, Callable[[Suite], Suite]] = {
    "cues": cue_suites.with_tests,
    "glosses": gloss_suites.with_tables,
}
