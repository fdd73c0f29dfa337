"""Writes a bundle's files beside its artifacts, and its manifest.

The files are tokenizers, labels, gazetteer, golden fixtures, prompt caches and the notice of licences.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from gamer.runtime import defaults
from gamer.runtime.bundle import manifest as mf

from ..checkpoints import catalogue, pocket
from ..checkpoints.chat_template import PICTURE, ChatTemplate, Picture
from ..components import components, faces, fixtures, printed, query_adapter
from ..executorch import runner
from ..glosses import tables as glosses
from ..onnx import adapters, genai, to_ort
from ..settings import Settings
from . import card, contracts, gazetteer, prefixes
from .prompts import derived, prompts

_PROMPTS = (
    "the text encoder was trained with other words before its texts, too ({}): those before queries and "
    "memories are used, these are not"
)
_NOT_PORTED = (
    "the text encoder's tokenizer is of kind {}: the phone apps do not have it and refuse the bundle"
)
_PORTED = ("WordPiece", "BPE", "Unigram")  # kinds of tokenizers that the ports have

NOTICE = "NOTICE.txt"


def calibrate_delta(settings: Settings) -> tuple[float, str]:
    """(δ of layer 2 for this text encoder, how it was determined).

    δ is the cosine that 0.5 % of the pairs of 1,000 unrelated class names exceed. The paper's 0.8 is for
    GTE-large (Appendix E); another encoder has another distribution of cosines.
    """
    if "text" not in settings.chosen.parts() or "text" in settings.random_parts:
        return (
            defaults.DELTA,
            "the paper's, for GTE-large: there is no trained text encoder to calibrate it on",
        )
    # Bare names, like those of entities: a shared "a photo of" would raise every cosine.
    prompts = text_prompts(settings) or mf.TextPrompts()
    asked, named = (
        components.label_vectors(settings, before.replace("{", "{{").replace("}", "}}") + "{}").numpy()
        for before in (prompts.query, prompts.memory)
    )
    pairs = (asked @ named.T)[np.triu_indices(len(asked), 1)]
    return round(
        float(np.quantile(pairs, 0.995)), 3
    ), "99.5th percentile of cosines between unrelated class names"


def _paper_delta(settings: Settings) -> float | None:
    encoder = None if "text" in settings.random_parts else settings.model("text")
    return None if encoder is None else catalogue.model(encoder).paper_delta


def texts(settings: Settings) -> dict[str, str]:
    """File name → contents of the text files."""
    parts, texts = settings.chosen.parts(), dict[str, str]()
    if "text" in parts:
        texts["text_tokenizer.json"] = components.text_tokenizer(settings)
    if "llm" in parts:
        texts["llm_tokenizer.json"] = components.llm_tokenizer(settings)[0]
    if (view := components.picture_preprocessing(settings)) is not None:
        texts[mf.PICTURE_FILE] = json.dumps(asdict(view), indent=1) + "\n"
    if settings.model("image") == components.CONSE:
        texts["labels.json"] = json.dumps(pocket.class_names(), ensure_ascii=False, indent=0) + "\n"
    notice = "".join(f"{name}: {text}\n" for name, text in licences(settings).items())
    texts[NOTICE] = notice + query_adapter.notice(settings)
    return texts


def _template(settings: Settings) -> ChatTemplate | None:
    return components.checkpoint(settings, "llm").template


def _picture(settings: Settings) -> Picture | None:
    """How the language model's dialogues say that there is a picture; None for one that sees nothing."""
    return PICTURE if components.picture_preprocessing(settings) is not None else None


def prompts_of(settings: Settings) -> dict[str, str]:
    """The prompts of the language model, by name."""
    return prompts(components.llm_tokenizer(settings)[0], _template(settings), _picture(settings))


def notes(settings: Settings) -> tuple[str, ...]:
    """Lines about what the bundle leaves out of the checkpoints, and where it cannot be used."""
    parts = settings.chosen.parts()
    lines = _text_notes(settings) if "text" in parts else ()
    if "llm" not in parts:
        return lines
    tokenizer = components.llm_tokenizer(settings)[0]
    return *lines, *derived(tokenizer, _template(settings), _picture(settings)).notes


def _text_notes(settings: Settings) -> tuple[str, ...]:
    lines: list[str] = []
    sentence = components.checkpoint(settings, "text").sentence
    used = (sentence.before_query, sentence.before_memory)
    if others := [repr(text) for _, text in sentence.prompts if text not in used]:
        lines.append(_PROMPTS.format(", ".join(others)[:200]))
    kind = json.loads(components.text_tokenizer(settings))["model"]["type"]
    if kind not in _PORTED:
        lines.append(_NOT_PORTED.format(kind))
    return tuple(lines)


def text_prompts(settings: Settings) -> mf.TextPrompts | None:
    """The words that the text tower gets before queries and memories; None if it gets none."""
    if "text" not in settings.chosen.parts():
        return None
    sentence = components.checkpoint(settings, "text").sentence
    found = mf.TextPrompts(sentence.before_query, sentence.before_memory)
    return None if found == mf.TextPrompts() else found


def licences(settings: Settings) -> dict[str, str]:
    """Source → licence, for everything in the bundle."""
    parts = [part for part in settings.chosen.parts() if part != "dpe"]
    licence_of: dict[str, str] = {}
    for part in parts:
        if part in ("faces", "ocr"):
            model = catalogue.model(getattr(settings.chosen, part))
            licence_of[model.source] = model.licence
        elif settings.model(part) == components.CONSE:
            licence_of |= {m.source: m.licence for m in (pocket.EFFICIENTNET, catalogue.LABELS)}
        else:
            checkpoint = components.checkpoint(settings, part)
            licence_of[checkpoint.weights.source] = checkpoint.licence
    own = {} if query_adapter.file(settings) is None else {settings.chosen.adapter: query_adapter.LICENCE}
    geonames = {"geonames": gazetteer.NOTICE} if "text" in parts else {}
    adapted = {
        f"adapter {name}": f"see the licence of {Path(folder).resolve().name}"
        for name, folder in settings.adapters
    }
    return licence_of | adapted | own | geonames | glosses.licences(settings)


def _write_files(
    settings: Settings,
    stage: Path,
    artifacts: tuple[mf.Artifact, ...],
    language: mf.Language | None,
    report: Callable[[str], None],
) -> tuple[mf.DataFile, ...]:
    names, written = list[str](), texts(settings)
    for name, text in written.items():
        (stage / name).write_text(text, encoding="utf-8")
        names.append(name)
    if "text" in settings.chosen.parts():
        gazetteer.build_gazetteer(stage / "gazetteer.sqlite")
        names.append("gazetteer.sqlite")
        if (adapter := query_adapter.file(settings)) is not None:
            shutil.copyfile(adapter, stage / mf.ADAPTER_FILE)
            names.append(mf.ADAPTER_FILE)
        names += glosses.write(settings, stage, report)
    if "faces" in settings.chosen.parts():
        names += faces.write_landmarks(settings.source("faces"), stage)
    if "ocr" in settings.chosen.parts():
        names += printed.write_characters(settings.source("ocr"), stage)
    if ort_files := [stage / a.path for a in artifacts if a.path.endswith(to_ort.SUFFIX)]:
        names.append(f"onnx/{to_ort.CONFIG}")
        (stage / names[-1]).write_text(to_ort.required_operators(ort_files), encoding="utf-8")
    if mf.RUNNER in settings.layout:
        names += runner.write(settings, stage, artifacts, written["llm_tokenizer.json"])
    if mf.GENAI in settings.layout and language is not None:
        names += genai.write(stage, artifacts, language, written["llm_tokenizer.json"], _template(settings))
    if any(a.target == "onnx" for a in artifacts):
        names += [path.relative_to(stage).as_posix() for path in adapters.write(settings, stage).values()]
    fixtures.write_texts(settings, stage / "fixtures")
    names += [
        f"fixtures/{p.name}" for p in sorted((stage / "fixtures").iterdir()) if p.suffix in (".json", ".npy")
    ]
    return tuple(mf.DataFile(n, n, *mf.digest(stage / n)) for n in names)


def finish(
    settings: Settings,
    parts: tuple[mf.Component, ...],
    artifacts: tuple[mf.Artifact, ...],
    stage: Path,
    tools: dict[str, str],
    report: Callable[[str], None],
    step: Callable[[str], None],
) -> mf.Manifest:
    """Writes the data files into the folder `stage` and returns the bundle's manifest.

    `report` is called with a line for each table of glosses, `step` with what is done next.
    """
    step("tokenizers, labels, gazetteer, fixtures")
    chosen, language = settings.chosen, components.language(settings)
    templates: dict[str, str] = {}
    if language is not None:
        ends = components.llm_tokenizer(settings)[1]
        language, templates = replace(language, eos_ids=ends), prompts_of(settings)
    files = _write_files(settings, stage, artifacts, language, report)
    step("cosines between unrelated names")
    delta, delta_from = calibrate_delta(settings)
    asked = text_prompts(settings)
    by_role = {part.role: part for part in parts}
    widths = [a.outputs[0].shape[-1] for a in artifacts if a.role in ("text_tower", "image_tower")]
    manifest = mf.Manifest(
        schema_version=mf.SCHEMA_VERSION,
        recipe=chosen.name,
        quant=settings.quant,
        # With words before its texts an encoder makes other vectors, which an album must tell apart.
        text_encoder=_encoder(by_role.get("text_tower"), settings) + ("/prompts" if asked else ""),
        image_encoder=_encoder(by_role.get("image_tower"), settings),
        dim=int(widths[0]) if widths else language.hidden if language else 1,
        components=parts,
        artifacts=artifacts,
        preprocessing=components.preprocessing(settings),
        language=language,
        thresholds=mf.Thresholds(delta, chosen.rho, chosen.k, delta_from, _paper_delta(settings)),
        prompts=templates,
        files=files,
        licences=licences(settings),
        tools=tools | glosses.tool(settings),
        ranking=mf.Ranking(),
        settings=settings.to_strings(),
        random_parts=settings.random_parts,
        channels=() if (channel := components.channel(settings)) is None else (channel,),
        text_prompts=asked,
    )
    step("contracts of the artifacts")
    manifest = contracts.add(manifest, stage)
    if language is not None and language.start_id is None:
        step("prompt caches of the language model")
        manifest = replace(manifest, prefixes=prefixes.write(stage, manifest))
    return with_card(manifest, stage)


def with_card(manifest: mf.Manifest, stage: Path) -> mf.Manifest:
    (stage / card.NAME).write_text(card.text(manifest), encoding="utf-8")
    entry = mf.DataFile(card.NAME, card.NAME, *mf.digest(stage / card.NAME))
    return replace(manifest, files=(*manifest.files, entry))


def _encoder(component: mf.Component | None, settings: Settings) -> str:
    """The identity of an encoder that an album stores with its vectors; "none" without a component."""
    return f"{component.source}/{settings.quant}" if component else "none"
