"""Writes into the manifest what a caller of each artifact has to do, and the golden files to check it with.

It follows from the roles and the tensors: all targets take the same values, with other shapes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle.contract import Contract, Golden, InputContract, OutputContract
from gamer.runtime.models import faces, printed

from ..recipe import PICTURE_ROLES, VISION

TEXTS = {"text_tower": "fixtures/text.json", "llm_embed": "fixtures/llm.json"}
# Golden array → the input that it is for, if its name is another.
_INPUT_OF = {"ids": "input_ids", "mask": "attention_mask", "states": "state", "cross": "cross_*"}
_FACE_VECTOR = "the face's vector, of any length; two less than 0.6 apart are of one person, as a rule"
_PICTURE = "one RGB photograph, turned upright by its EXIF orientation"
_ADAPTER = InputContract(
    mf.ADAPTER,
    "how a query is read",
    "layer, down and up, rank, feature",
    "zeros for a memory, the file's values for a query",
    file=mf.ADAPTER_FILE,
)
_CACHE = "keys and values of the tokens before: zeros before the first call"
_NEXT = "keys and values for the next call"
# Inputs of language models and experts: name, or its beginning and "*" → (holds, layout, prepare).
_INPUTS = {
    "ids": ("token ids of the language model", "tokens", "as the tokenizer gives them"),
    "patches": ("the image tower's output `patches`", "1, patch, feature", "unchanged"),
    "state": ("the query's vector or hidden state (`channels`)", "1, feature", "unchanged"),
    "embeds": ("the output of llm_embed for the tokens", "1, token, feature", "unchanged"),
    "seqlens_k": ("tokens in the cache after this call, minus one", "1", "an integer"),
    "total_seq_len": ("tokens in the cache after this call", "1", "an integer"),
    "last": ("positions in `embeds` whose logits are wanted", "wanted", "the last one, to generate"),
    "cos": ("cosines of the rotary angles", "1, 1, half a head", "of the position, base language.rope_theta"),
    "sin": ("sines of the rotary angles", "1, 1, half a head", "of the position, base language.rope_theta"),
    "cos_local": ("the same for local layers", "1, 1, half a head", "base language.rope_theta_local"),
    "sin_local": ("the same for local layers", "1, 1, half a head", "base language.rope_theta_local"),
    "place": ("the slot that this token is written to", "slot, 1", "1 at the position, else 0"),
    "mask": ("slots that are attended to", "1, 1, slot", "0 for slots with tokens, -1e4 for empty ones"),
    "mask_local": ("the same for local layers", "1, 1, slot", "-1e4 beyond language.window too"),
    "buckets": ("T5's buckets of relative positions", "slot, bucket", "1 in the bucket of each slot"),
    "cross_mask": ("slots of the encoder", "1, 1, slot", "0 for tokens, -1e4 for padding"),
    "cross_*": ("the encoder's outputs of the same names", "head, slot, feature", "unchanged in every call"),
    "past_*": (_CACHE, "head, slot, feature", "what the previous call returned, each at its slot"),
}
_PICTURES = {
    faces.DETECTOR: (
        "a photograph in one of several sizes",
        f"longer side {faces.SEARCHED}, then 5/6 of it, and so on, bilinear",
    ),
    faces.ENCODER: (
        "an upright face",
        f"rotated, scaled and cut to {faces.SIDE} × {faces.SIDE} by its landmarks, bilinear",
    ),
    printed.DETECTOR: (
        "a photograph",
        f"shorter side at least {printed.LEAST}, longer at most {printed.MOST}, both multiples of "
        f"{printed.STEP}, "
        "bilinear with antialiasing",
    ),
    printed.RECOGNISER: (
        "a line of text",
        f"turned and scaled to a height of {printed.HEIGHT}, then grey ({printed.GREY}) up to a width of at "
        f"least {printed.NARROWEST}",
    ),
}
_OUTPUTS = {
    "scores": f"above 0: a face of side {faces.WINDOW}, its centre at {faces.STRIDE} · cell + {faces.FIRST}",
    "likely": "how likely each pixel is of a line of text, row by row",
    "codes": f"the likeliest character of {printed.CHARACTERS} at each step, from 1; 0 for none",
    "certainty": "the probabilities of the codes",
    "patches": "features of the photograph's patches, for the experts",
    "label_probs": "probabilities of the classes in labels.json",
    "weights": "the router's weight of each expert; they add up to 1",
    "prompts": "soft prompts in the language model's space",
    "vector": "the query's vector among the photos' soft prompts",
    "embeds": "embeddings of the tokens, for llm_decoder or llm_encoder",
    "states": "hidden states of the tokens",
    "logits": "scores of the next token over the vocabulary",
    "hidden": "hidden state of each token",
    "cross_*": "keys and values for the decoder's inputs of the same names",
    "present_*": _NEXT,
    "k.*": _NEXT,
    "v.*": _NEXT,
}


def add(manifest: mf.Manifest, bundle: Path) -> mf.Manifest:
    """The manifest with the contract of each artifact; the bundle's tokenizers are read from `bundle`."""
    longest = _longest_text(bundle)
    spec = manifest.preprocessing
    return replace(
        manifest,
        artifacts=tuple(
            replace(a, contract=_contract(manifest, a, longest, bundle)) for a in manifest.artifacts
        ),
        preprocessing=None if spec is None else replace(spec, normalised_by="graph"),
    )


def _longest_text(bundle: Path) -> int:
    path = bundle / "text_tokenizer.json"
    cut = json.loads(path.read_text(encoding="utf-8")).get("truncation") if path.is_file() else None
    return int(cut["max_length"]) if cut else 0


def _contract(manifest: mf.Manifest, artifact: mf.Artifact, longest: int, bundle: Path) -> Contract:
    inputs: tuple[InputContract, ...]
    if artifact.role in PICTURE_ROLES:
        inputs = (_picture(artifact),)
    elif artifact.role == "image_tower":
        inputs = (_pixels(artifact.inputs[0], manifest.pixels()),)
    elif artifact.role == VISION:
        inputs = (_pixels(artifact.inputs[0], mf.picture_pixels(bundle, manifest)),)
    elif artifact.role == "text_tower":
        inputs = _tokens(artifact, longest, manifest.text_prompts or mf.TextPrompts())
        inputs += tuple(_ADAPTER for tensor in artifact.inputs if tensor.name == mf.ADAPTER)
    else:
        inputs = tuple(InputContract(*entry) for entry in _language(artifact))
    return Contract(inputs, _outputs(artifact), _golden(manifest, artifact))


def _pixels(tensor: mf.TensorSpec, spec: mf.Preprocessing) -> InputContract:
    """The contract of the image tower's input; a tower that takes uint8 resizes in its own graph."""
    values = ((0.0, 255.0), "graph")
    if tensor.dtype == "uint8":
        holds, layout = _PICTURE, "height, width, channel (red, green, blue)"
        return InputContract(tensor.name, holds, layout, "none: bytes of any height and width", *values)
    return InputContract(
        tensor.name,
        _PICTURE,
        "1, height, width, channel (red, green, blue)",
        f"{resizing(spec)}; values 0 to 255 as {tensor.dtype}: do not subtract a mean, do not divide",
        *values,
    )


def resizing(spec: mf.Preprocessing) -> str:
    """The preprocessing's steps up to the crop, in words."""
    if spec.fit == "squash":
        return (
            f"resize to {spec.crop} × {spec.crop} whatever the shape, {spec.interpolation} with antialiasing"
        )
    if spec.fit == "longest":
        return (
            f"resize the longer side to {spec.resize}, the other to an even number of pixels, then both to "
            f"{spec.crop}, {spec.interpolation} with antialiasing"
        )
    return (
        f"resize the shorter side to {spec.resize}, {spec.interpolation} with antialiasing (Pillow's "
        f"filters), keeping the shape; cut {spec.crop} × {spec.crop} from the centre"
    )


def _picture(artifact: mf.Artifact) -> InputContract:
    """The contract of a face or text network's input, whose preparation docs/bundle.md describes in full."""
    tensor = artifact.inputs[0]
    holds, prepare = _PICTURES[artifact.role]
    grey = {faces.DETECTOR: faces.GREY, printed.DETECTOR: printed.GREY}.get(artifact.role, 0)
    fixed = (
        "" if isinstance(tensor.shape[1], str) else f"; a smaller picture at the top left, on grey ({grey})"
    )
    layout = "1, height, width, channel (red, green, blue)"
    prepare += f"; values 0 to 255 as {tensor.dtype}: do not subtract a mean, do not divide"
    where = fixed if grey else ""
    return InputContract(tensor.name, holds, layout, prepare + where, (0.0, 255.0), "graph")


def _tokens(artifact: mf.Artifact, longest: int, prompts: mf.TextPrompts) -> tuple[InputContract, ...]:
    """The contracts of the text tower's inputs: one text a call, padded if the artifact's shape is fixed."""
    width = artifact.inputs[0].shape[1]
    fixed = width if isinstance(width, int) else 0
    length = fixed or longest
    end = f"then zeros up to {fixed}" if fixed else "no padding"
    cut = f"at most {length} tokens" if length else "any number of tokens"
    words = {"query": prompts.query, "memory": prompts.memory}
    first = "".join(f"put {text!r} before a {kind}; " for kind, text in words.items() if text)
    ids = f"{first}as the tokenizer gives them, special tokens included, {cut}; {end}; one text a call"
    ones = f"1 for each token; {end}"
    return (
        InputContract(
            "input_ids",
            "token ids",
            "1, token",
            ids,
            file="text_tokenizer.json",
            max_length=length,
            pad_to=fixed,
        ),
        InputContract(
            "attention_mask",
            "which tokens are text",
            "1, token",
            ones,
            (0.0, 1.0),
            max_length=length,
            pad_to=fixed,
        ),
    )


def _language(artifact: mf.Artifact) -> list[tuple[str, str, str, str]]:
    """(name, holds, layout, prepare) of each input, those of the same beginning once."""
    names = _grouped(artifact.inputs, _INPUTS)
    return [(name, *_INPUTS.get(name, ("", "", ""))) for name in names]


def _outputs(artifact: mf.Artifact) -> tuple[OutputContract, ...]:
    if artifact.role == faces.ENCODER:
        return (OutputContract(artifact.outputs[0].name, _FACE_VECTOR),)
    what = "photograph" if artifact.role == "image_tower" else "text"
    vector = f"the {what}'s vector; the dot product with another one is their cosine"
    return tuple(
        OutputContract(name, vector, unit_length=True)
        if name == "embedding"
        else OutputContract(name, _OUTPUTS.get(name, ""))
        for name in _grouped(artifact.outputs, _OUTPUTS)
    )


def _grouped(tensors: tuple[mf.TensorSpec, ...], known: Mapping[str, object]) -> list[str]:
    """The tensors' names; those that begin like an entry "…*" of `known` once, by that entry."""
    beginnings = [name[:-1] for name in known if name.endswith("*")]
    names = (
        t.name if t.name in known else next((f"{b}*" for b in beginnings if t.name.startswith(b)), t.name)
        for t in tensors
    )
    return list(dict.fromkeys(names))


def _golden(manifest: mf.Manifest, artifact: mf.Artifact) -> Golden | None:
    files = {name: file.name for name, file in manifest.golden(artifact.role).items()}
    if "want" not in files:
        return None
    want, texts = files.pop("want"), TEXTS.get(artifact.role, "")
    names = {t.name for t in artifact.inputs}
    first = artifact.inputs[0].name
    return Golden(
        inputs={
            name if name in names else _INPUT_OF.get(name, first): file
            for name, file in sorted(files.items())
        },
        steps=_steps(artifact.role),
        output={"llm_decoder": "hidden", "llm_encoder": "states"}.get(
            artifact.role, artifact.outputs[0].name
        ),
        want=want,
        cosine=artifact.parity.threshold,
        texts=texts if manifest.has_file(texts) else "",
    )


def _steps(role: str) -> str:
    if role in ("image_tower", VISION):
        return (
            "each row is a picture before its preparation (uint8): prepare it, run it alone, compare one row"
        )
    if role == "text_tower":
        return "cut each row where its mask ends, pad it if pad_to says so, run it alone, compare one row"
    if role.startswith("llm_decoder"):
        return "rows are the tokens of one text: feed them in order, from an empty cache; compare row by row"
    if role.startswith("llm"):
        return "rows are the tokens of one text: compare row by row"
    return "run each row alone, compare its rows"
