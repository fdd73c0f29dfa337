"""What a manifest tells the caller of each artifact: every tensor of every target has its entry, in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gamer.export.bundle import contracts
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle.contract import Contract
from tests.paths import GOLDEN

STEP = (
    "embeds",
    "cos",
    "sin",
    "place",
    "mask",
    "cos_local",
    "sin_local",
    "mask_local",
    "past_k.0",
    "past_v.0",
)
T5_STEP = (
    "embeds",
    "place",
    "mask",
    "buckets",
    "cross_mask",
    "past_k.0",
    "past_v.0",
    "cross_k.0",
    "cross_v.0",
)
GRAPH = ("embeds", "seqlens_k", "total_seq_len", "last", "past_key.0", "past_value.0")


def contract(role: str, inputs: tuple[mf.TensorSpec, ...], outputs: tuple[str, ...]) -> Contract:
    """The contract of an artifact with these tensors, in a manifest with the fixtures of its role."""
    golden = mf.from_json((GOLDEN / "manifest_v2.json").read_text(encoding="utf-8"), "golden")
    wanted = tuple(mf.TensorSpec(name, (1, 4), "float32") for name in outputs)
    artifact = replace(golden.artifacts[0], role=role, inputs=inputs, outputs=wanted)
    files = tuple(
        mf.DataFile(n, n, 1, "0") for n in (f"fixtures/{role}.pixels.npy", f"fixtures/{role}.want.npy")
    )
    found = (
        contracts.add(replace(golden, artifacts=(artifact,), files=files), Path("none")).artifacts[0].contract
    )
    assert found is not None
    return found


def floats(*names: str) -> tuple[mf.TensorSpec, ...]:
    return tuple(mf.TensorSpec(name, (1, 4), "float32") for name in names)


@pytest.mark.parametrize(
    ("role", "inputs", "outputs"),
    [
        ("llm_decoder", GRAPH, ("logits", "hidden", "present_key.0", "present_value.0")),
        ("llm_decoder", STEP, ("logits", "hidden", "k.0", "v.0")),
        ("llm_decoder", T5_STEP, ("logits", "hidden", "k.0", "v.0")),
        ("llm_encoder", ("embeds", "mask"), ("states", "cross_k.0", "cross_v.0")),
        ("llm_embed", ("ids",), ("embeds",)),
        ("dpe_router", ("patches",), ("weights",)),
        ("dpe_expert_0", ("patches",), ("prompts",)),
        ("dpe_query", ("state",), ("vector",)),
    ],
)
def test_every_tensor_of_a_language_model_or_expert_is_explained(
    role: str, inputs: tuple[str, ...], outputs: tuple[str, ...]
) -> None:
    found = contract(role, floats(*inputs), outputs)
    for entries, names in ((found.inputs, inputs), (found.outputs, outputs)):
        assert all(entry.holds for entry in entries)
        beginnings = [entry.name.removesuffix("*") for entry in entries]
        assert all(any(name.startswith(b) for b in beginnings) for name in names)
    assert all(entry.layout and entry.prepare for entry in found.inputs)
    assert found.golden is not None
    assert found.golden.output in outputs


@pytest.mark.parametrize(
    ("shape", "max_length", "pad_to", "says"),
    [((1, "tokens"), 0, 0, "no padding"), ((1, 77), 77, 77, "then zeros up to 77")],
)
def test_a_text_is_padded_only_for_an_artifact_of_fixed_shape(
    shape: tuple[int | str, ...], max_length: int, pad_to: int, says: str
) -> None:
    tensors = tuple(mf.TensorSpec(name, shape, "int64") for name in ("input_ids", "attention_mask"))
    ids = contract("text_tower", tensors, ("embedding",)).inputs[0]
    assert (ids.max_length, ids.pad_to, ids.file) == (max_length, pad_to, "text_tokenizer.json")
    assert says in ids.prepare


def test_the_graph_normalises_pixels_and_a_tower_of_any_size_also_resizes_them() -> None:
    prepared = mf.TensorSpec("pixels", ("batch", 224, 224, 3), "float32")
    pixels = contract("image_tower", (prepared,), ("embedding", "patches")).inputs[0]
    assert pixels.normalised_by == "graph"
    assert pixels.range == (0.0, 255.0)
    assert "resize the shorter side to 256" in pixels.prepare
    assert "do not subtract a mean" in pixels.prepare
    image = mf.TensorSpec("image", ("height", "width", 3), "uint8")
    found = contract("image_tower", (image,), ("embedding", "patches"))
    assert "none" in found.inputs[0].prepare
    assert found.golden is not None
    assert found.golden.inputs == {"image": "fixtures/image_tower.pixels.npy"}
    assert [(o.name, o.unit_length) for o in found.outputs] == [("embedding", True), ("patches", False)]


def test_a_picture_that_is_squashed_is_not_said_to_be_cropped() -> None:
    spec = mf.Preprocessing(8, 8, "bilinear", 1.0, 1.0, fit="squash")
    assert contracts.resizing(spec) == "resize to 8 × 8 whatever the shape, bilinear with antialiasing"
