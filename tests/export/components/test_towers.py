"""CLIP's and SigLIP's towers compared with transformers' own models of tiny configs with a seed: embeddings,
patch features, and unsupported configs.
"""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
transformers = pytest.importorskip("transformers")
from torch import Tensor

from gamer.export.checkpoints.preprocessing import preprocessing
from gamer.export.checkpoints.weights import RandomWeights, fit
from gamer.export.components.towers import features, image_tower, shapes, text_tower
from gamer.export.errors import ExportError

VISION = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "image_size": 30,
    "patch_size": 8,
}
TEXT = {
    "hidden_size": 24,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "vocab_size": 60,
    "max_position_embeddings": 12,
}
CLIP: dict[str, Any] = {
    "model_type": "clip",
    "projection_dim": 20,
    "vision_config": VISION,
    "text_config": {**TEXT, "eos_token_id": 59},
}
SIGLIP: dict[str, Any] = {
    "model_type": "siglip",
    "vision_config": VISION,
    "text_config": {**TEXT, "projection_size": 32},
}


class StateDictWeights:
    """A state dict behind the Weights interface."""

    source, trained = "held", True

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self.tensors = tensors

    def has(self, name: str) -> bool:
        return name in self.tensors

    def get(self, name: str, *shape: int) -> Tensor:
        return fit(self.tensors[name], name, shape, self.source)


def model(config: dict[str, Any]) -> Any:
    """transformers' model of a config, with weights that differ everywhere: it initialises its biases with
    zeros and its norms with ones.
    """
    torch.manual_seed(1)
    kind = {
        "clip": (transformers.CLIPConfig, transformers.CLIPModel),
        "siglip": (transformers.SiglipConfig, transformers.SiglipModel),
    }
    config_class, model_class = kind[config["model_type"]]
    out = model_class(config_class(**{k: v for k, v in config.items() if k != "model_type"})).eval()
    with torch.no_grad():
        for parameter in out.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return out


def _pixels(count: int) -> Tensor:
    return torch.randint(0, 256, (count, 30, 30, 3), generator=torch.Generator().manual_seed(2)).float()


@pytest.mark.parametrize("config", [CLIP, SIGLIP], ids=["clip", "siglip"])
def test_the_image_tower_gives_the_embedding_and_patches_of_transformers(config: dict[str, Any]) -> None:
    reference, pixels = model(config), _pixels(3)
    tower = image_tower(config, StateDictWeights(reference.state_dict()))
    spec = preprocessing(config)
    values = ((pixels - torch.tensor(spec.channel_mean)) / torch.tensor(spec.channel_std)).permute(0, 3, 1, 2)
    with torch.no_grad():
        want = reference.get_image_features(pixel_values=values)
        states = want.last_hidden_state[:, 1:] if config is CLIP else want.last_hidden_state
        embedding, patches = tower.module(pixels)
    assert (embedding - torch.nn.functional.normalize(want.pooler_output, dim=-1)).abs().max() < 2e-6
    assert (patches - states).abs().max() < 2e-5
    assert (patches.shape[1:], embedding.shape[1:]) == (
        torch.Size(features(config)),
        tower.outputs[0].shape[1:],
    )
    # 30 pixels hold three patches of eight on a side; the six pixels left over are ignored.
    assert features(config) == (9, 32)


def _ids(rows: int) -> Tensor:
    ids = torch.randint(3, 58, (rows, 12), generator=torch.Generator().manual_seed(3))
    for row, end in enumerate((4, 11, 7)):
        ids[row, end:] = 59  # CLIP pads with its end token
    return ids


@pytest.mark.parametrize("eos", [59, 2], ids=["eos", "legacy"])
def test_the_clip_text_tower_gives_the_vectors_of_transformers(eos: int) -> None:
    config = {**CLIP, "text_config": {**CLIP["text_config"], "eos_token_id": eos}}
    reference, ids = model(config), _ids(3)
    mask = torch.ones_like(ids)
    mask[0, 5:] = 0
    mask[2, 8:] = 0
    tower = text_tower(config, StateDictWeights(reference.state_dict())).module
    with torch.no_grad():
        want = torch.nn.functional.normalize(
            reference.get_text_features(input_ids=ids, attention_mask=mask).pooler_output, dim=-1
        )
        assert (tower(ids, mask) - want).abs().max() < 2e-6
        # Padding does not change the vector of a text.
        assert (tower(ids[:1, :5], mask[:1, :5]) - want[:1]).abs().max() < 2e-6
        # A text that was cut before its end is pooled where argmax finds the first of equals.
        cut = torch.full((1, 6), 7)
        want = torch.nn.functional.normalize(reference.get_text_features(input_ids=cut).pooler_output, dim=-1)
        assert (tower(cut, torch.ones_like(cut)) - want).abs().max() < 2e-6


def test_the_siglip_text_tower_gives_the_vectors_of_transformers_on_padded_texts() -> None:
    reference, ids = model(SIGLIP), _ids(3)
    ids[0, 5:], ids[2, 8:] = 1, 1
    tower = text_tower(SIGLIP, StateDictWeights(reference.state_dict()))
    mask = torch.ones_like(ids)
    mask[0, 5:] = 0
    mask[2, 8:] = 0
    with torch.no_grad():
        # The reference's processor gives no mask: padding is attended to.
        want = torch.nn.functional.normalize(reference.get_text_features(input_ids=ids).pooler_output, dim=-1)
        assert (tower.module(ids * mask, mask) - want).abs().max() < 2e-6
    assert tower.inputs[0].shape == ("batch", 12)


@pytest.mark.parametrize("config", [CLIP, SIGLIP], ids=["clip", "siglip"])
def test_sizes_computed_without_weights_match_the_towers(config: dict[str, Any]) -> None:
    weights = RandomWeights(0)
    towers = (image_tower(config, weights), text_tower(config, weights))
    for size, tower in zip(shapes(config), towers, strict=True):
        assert (size.role, size.parameters) == (tower.role, sum(p.numel() for p in tower.module.parameters()))
        assert size.architecture == tower.architecture
        assert not tower.trained
    for name, size in zip(("vision_model", "text_model"), shapes(config), strict=True):
        ours = sum(
            p.numel()
            for n, p in model(config).named_parameters()
            if n.startswith((name, name.replace("_model", "_projection").replace("vision", "visual")))
        )
        # Constants are folded: the class token into its position, SigLIP's query into its matrix.
        folded = {("clip", "vision_model"): 32, ("siglip", "vision_model"): 32 * 32 + 32}.get(
            (config["model_type"], name), 0
        )
        assert size.parameters == ours - folded


def test_entries_missing_in_a_config_take_the_defaults_of_transformers() -> None:
    for kind, of in (("clip", transformers.CLIPConfig()), ("siglip", transformers.SiglipConfig())):
        empty, full = {"model_type": kind}, of.to_dict()
        assert shapes(empty) == shapes(full)
        assert features(empty) == (((224 // of.vision_config.patch_size) ** 2), of.vision_config.hidden_size)
    # Old CLIP configs hold each half twice, and the second is the one that counts.
    old = {
        "model_type": "clip",
        "vision_config": {"hidden_size": 768},
        "vision_config_dict": {"hidden_size": 192, "num_hidden_layers": 1},
    }
    assert features(old) == (49, 192)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model_type": "blip"}, "'blip'"),
        ({"model_type": None}, "model_type"),
        ({"vision_config": {"hidden_act": "mish"}}, "'mish'"),
        ({"vision_config": {"hidden_size": 100, "num_attention_heads": 3}}, "3 heads"),
        ({"vision_config": {"num_channels": 4}}, "num_channels"),
        ({"vision_config": {"image_size": [224, 112]}}, "only squares"),
        ({"vision_config": {"patch_size": 0}}, "patch_size: must be a whole number from 1 to 4096, not 0"),
        (
            {"vision_config": {"hidden_size": "768"}},
            "hidden_size: .* from 1 to 65536, not '768'",
        ),
        ({"vision_config": {"layer_norm_eps": 0}}, "layer_norm_eps"),
        ({"vision_config": [1]}, "vision_config: must be an object, not a list"),
        ({"text_config": {"vocab_size": 10**12}}, "vocab_size"),
        ({"text_config": {"eos_token_id": [1, 2]}}, "eos_token_id"),
        ({"projection_dim": -1}, "projection_dim"),
        ({"model_type": "siglip", "vision_config": {"vision_use_head": False}}, "vision_use_head"),
    ],
)
def test_an_unsupported_config_is_refused_in_one_line_that_names_the_entry(
    change: dict[str, Any], says: str
) -> None:
    with pytest.raises(ExportError, match=says.replace("[", r"\[")) as raised:
        shapes({"model_type": "clip", **change})
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 250


def test_preprocessing_follows_the_processor() -> None:
    clip = preprocessing({"model_type": "clip"})
    assert (clip.resize, clip.crop, clip.interpolation, clip.fit) == (224, 224, "bicubic", "crop")
    assert clip.channel_mean == pytest.approx([255 * x for x in (0.48145466, 0.4578275, 0.40821073)])
    siglip = preprocessing(
        {"model_type": "siglip"},
        {"size": {"height": 224, "width": 224}, "resample": 2, "rescale_factor": 0.00392156862745098},
    )
    assert (siglip.fit, siglip.interpolation) == (
        "squash",
        "bilinear",
    )
    assert siglip.channel_std == pytest.approx([127.5] * 3)
    # Old files: one number, which is the shorter side because a crop follows.
    old = preprocessing(
        {"model_type": "clip"},
        {
            "size": 256,
            "crop_size": 224,
            "do_center_crop": True,
            "image_mean": [0, 0, 0],
            "image_std": [1, 1, 1],
        },
    )
    assert (old.resize, old.crop, old.fit) == (256, 224, "crop")
    assert old.channel_std == pytest.approx([255.0] * 3)


@pytest.mark.parametrize(
    ("processor", "says"),
    [
        ({"do_resize": False}, "do_resize"),
        ({"size": {"shortest_edge": 336}, "crop_size": 336}, "224 × 224"),
        ({"size": {"height": 224, "width": 112}}, "only squares"),
        ({"resample": 0}, "resample must be one of the following, not 0"),
        ({"image_mean": [0.5]}, "image_mean"),
        ({"image_std": [0, 1, 1]}, "positive"),
        ({"do_center_crop": False}, "nothing cropped"),
        ({"rescale_factor": "x"}, "rescale_factor"),
        ({"size": {"longest_edge": 224}}, "size"),
    ],
)
def test_an_unsupported_setting_of_the_processor_is_named_in_the_error(
    processor: dict[str, Any], says: str
) -> None:
    with pytest.raises(ExportError, match=says):
        preprocessing({"model_type": "clip"}, processor)
