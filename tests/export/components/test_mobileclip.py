"""MobileCLIP's towers compared with timm's and open_clip's own models in every published layout, branched and
folded; S0's text tower compared with one written out here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("safetensors", reason="needs the export extra")
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from gamer.export.checkpoints import catalogue, clip_bpe
from gamer.export.checkpoints.checkpoint import open_checkpoint
from gamer.export.checkpoints.preprocessing import preprocessing
from gamer.export.checkpoints.weights import RandomWeights
from gamer.export.components.fixtures import TEXTS
from gamer.export.components.mobileclip import AppleNames
from gamer.export.components.towers import features, image_tower, shapes, text_tower
from gamer.export.errors import ExportError
from gamer.export.planning import plan
from gamer.export.settings import Settings, recipe_for
from tests.export.mobileclip_reference import LONG, MODEL

S0 = catalogue.config("mobileclip-s0")
APPLE_S0: dict[str, Any] = {
    "embed_dim": 24,
    "image_cfg": {"image_size": 256, "model_name": "mci0"},
    "text_cfg": {
        "context_length": 20,
        "vocab_size": 60,
        "dim": 32,
        "ffn_multiplier_per_layer": 4.0,
        "n_heads_per_layer": 4,
        "n_transformer_layers": 2,
        "norm_layer": "layer_norm_fp32",
        "causal_masking": False,
        "model_name": "mct",
    },
}


@pytest.mark.slow
def test_the_towers_give_the_vectors_of_timm_and_open_clip(mobileclip_reference: Path) -> None:
    answers = load_file(mobileclip_reference / "answers.safetensors")
    ids = answers["ids"]
    mask = torch.ones_like(ids)
    mask[0, 5:], mask[2, 12:] = 0, 0
    for layout in ("branched", "folded", "apple"):
        checkpoint = open_checkpoint(None, str(mobileclip_reference / layout))
        image, text = (
            image_tower(checkpoint.config, checkpoint.weights, checkpoint.processor),
            text_tower(checkpoint.config, checkpoint.weights),
        )
        with torch.no_grad():
            embedding, patches = image.module(answers["pixels"])
            # Any ids after the end of a text, 7 here, are read as the padding that the reference has there.
            vectors = text.module(ids * mask + 7 * (1 - mask), mask)
        assert (patches - answers["patches"]).abs().max() < 5e-6 * answers["patches"].abs().max(), layout
        assert (embedding - answers["unbiased" if layout == "apple" else "image"]).abs().max() < 1e-6, layout
        assert (vectors - answers["text"]).abs().max() < 1e-6, layout
        assert patches.shape[1:] == features(checkpoint.config)
        assert text.inputs[0].shape == ("batch", 24)
        assert not any(isinstance(part, nn.BatchNorm2d) for part in image.module.modules())
    # The two photos and the layouts' two heads give different vectors, so the agreement means something.
    assert (answers["patches"][0] - answers["patches"][1]).abs().max() > 0.01
    assert (answers["image"] - answers["unbiased"]).abs().max() > 1e-3


@pytest.mark.slow
def test_the_tokenizer_gives_the_ids_of_open_clip(mobileclip_reference: Path) -> None:
    tokenizer = Tokenizer.from_str(clip_bpe.tokenizer())
    tokenizer.enable_truncation(77)
    tokenizer.enable_padding(length=77, pad_id=0)
    ours = torch.tensor([e.ids for e in tokenizer.encode_batch([*TEXTS, LONG])])
    assert torch.equal(ours, load_file(mobileclip_reference / "answers.safetensors")["tokens"])


class Layers:
    """S0's text tower as published, built of torch's own layers with the branches and norms of training not
    folded; its tensors have Apple's names.
    """

    def __init__(self, width: int, layers: int) -> None:
        torch.manual_seed(4)
        self.layers = [
            nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(layers)
        ]
        self.norm, self.width = nn.LayerNorm(width), width
        self.tensors = {
            "text_encoder.embedding_layer.weight": torch.randn(60, width),
            "text_encoder.projection_layer": torch.randn(width, 24),
        }
        self.tensors["text_encoder.positional_embedding.pos_embed.pos_embed"] = torch.randn(1, 1, 20, width)
        for n, layer in enumerate((*self.layers, self.norm)):
            for name, parameter in layer.named_parameters():
                parameter.data.add_(torch.randn_like(parameter) * 0.1)
                self.tensors[self._apple(n + 1, name)] = parameter.data
        for n in (0, layers + 1):
            self._mixer(f"text_encoder.transformer.{n}")

    def _apple(self, at: int, name: str) -> str:
        if at > len(self.layers):
            return f"text_encoder.final_layer_norm.{name}"
        part, _, kind = name.rpartition(".")
        theirs = {
            "self_attn.in_proj_weight": "pre_norm_mha.1.qkv_proj.weight",
            "self_attn.in_proj_bias": "pre_norm_mha.1.qkv_proj.bias",
        }
        parts = {
            "self_attn.out_proj": "pre_norm_mha.1.out_proj",
            "norm1": "pre_norm_mha.0",
            "norm2": "pre_norm_ffn.0",
        }
        parts |= {"linear1": "pre_norm_ffn.1", "linear2": "pre_norm_ffn.4"}
        return f"text_encoder.transformer.{at}." + (theirs.get(name) or f"{parts[part]}.{kind}")

    def _mixer(self, root: str) -> None:
        width = self.width
        for name in ("token_mixer.mixer.rbr_conv.0.conv", "convffn.conv.conv"):
            self.tensors[f"{root}.{name}.weight"] = torch.randn(width, 1, 1, 11) * 0.3
        for name in (
            "token_mixer.mixer.rbr_conv.0.bn",
            "token_mixer.mixer.rbr_skip",
            "token_mixer.norm.rbr_skip",
            "convffn.conv.bn",
        ):
            self.tensors |= {
                f"{root}.{name}.{kind}": torch.randn(width) for kind in ("weight", "bias", "running_mean")
            }
            self.tensors[f"{root}.{name}.running_var"] = torch.rand(width) + 0.5
        for name, shape in (("fc1", (4 * width, width)), ("fc2", (width, 4 * width))):
            self.tensors |= {
                f"{root}.convffn.{name}.weight": torch.randn(*shape, 1, 1) * 0.1,
                f"{root}.convffn.{name}.bias": torch.randn(shape[0]),
            }
        self.tensors |= {
            f"{root}.{name}layer_scale": torch.randn(width, 1, 1) for name in ("", "token_mixer.")
        }

    def _mixed(self, n: int, x: Tensor) -> Tensor:
        root = f"text_encoder.transformer.{n}"

        def norm(name: str, x: Tensor) -> Tensor:
            mean, variance, scale, bias = (
                self.tensors[f"{root}.{name}.{kind}"]
                for kind in ("running_mean", "running_var", "weight", "bias")
            )
            return F.batch_norm(x, mean, variance, scale, bias)

        def conv(name: str, x: Tensor) -> Tensor:
            return F.conv1d(x, self.tensors[f"{root}.{name}.weight"][:, :, 0], padding=5, groups=self.width)

        def linear(name: str, x: Tensor) -> Tensor:
            return F.conv1d(
                x, self.tensors[f"{root}.{name}.weight"][:, :, 0], self.tensors[f"{root}.{name}.bias"]
            )

        x = x.transpose(1, 2)
        mixed = norm("token_mixer.mixer.rbr_conv.0.bn", conv("token_mixer.mixer.rbr_conv.0.conv", x)) + norm(
            "token_mixer.mixer.rbr_skip", x
        )
        x = x + self.tensors[f"{root}.token_mixer.layer_scale"][:, 0] * (
            mixed - norm("token_mixer.norm.rbr_skip", x)
        )
        inner = linear("convffn.fc1", norm("convffn.conv.bn", conv("convffn.conv.conv", x)))
        return (
            x + self.tensors[f"{root}.layer_scale"][:, 0] * linear("convffn.fc2", F.gelu(inner))
        ).transpose(1, 2)

    def __call__(self, ids: Tensor) -> Tensor:
        x = (
            self.tensors["text_encoder.embedding_layer.weight"][ids]
            + self.tensors["text_encoder.positional_embedding.pos_embed.pos_embed"][0]
        )
        x = self._mixed(0, x)
        for layer in self.layers:
            x = layer.eval()(x)
        x = self.norm(self._mixed(len(self.layers) + 1, x))[torch.arange(len(ids)), ids.argmax(-1)]
        return F.normalize(x @ self.tensors["text_encoder.projection_layer"], dim=-1)


def apple_s0(folder: Path) -> Layers:
    """A checkpoint in Apple's layout with S0's text tower; of the image tower only the configuration."""
    folder.mkdir()
    tower = Layers(32, 2)
    (folder / "mobileclip_s0.json").write_text(json.dumps(APPLE_S0))
    save_file(
        {name: x.contiguous() for name, x in tower.tensors.items()}, folder / "mobileclip_s0.safetensors"
    )
    return tower


def test_the_text_tower_of_s0_gives_the_vectors_of_one_built_of_torchs_layers(tmp_path: Path) -> None:
    reference = apple_s0(tmp_path / "s0")
    checkpoint = open_checkpoint(None, str(tmp_path / "s0"))
    assert checkpoint.config["text_config"]["mixers"] is True
    assert recipe_for(checkpoint.config) == "mobileclip"
    ids = torch.randint(1, 58, (3, 20), generator=torch.Generator().manual_seed(5))
    mask = torch.ones_like(ids)
    for row, end in enumerate((3, 19, 8)):
        ids[row, end], ids[row, end + 1 :], mask[row, end + 1 :] = 59, 0, 0
    with torch.no_grad():
        tower, want = text_tower(checkpoint.config, checkpoint.weights), reference(ids)
        assert (tower.module(ids, mask) - want).abs().max() < 3e-6
    assert (want[0] - want[1]).abs().max() > 0.05


def test_tensor_names_are_translated_to_those_of_apple() -> None:
    names = AppleNames(RandomWeights(0), 4, True).named
    for ours, theirs in {
        "visual.trunk.stem.1.conv_scale.bn.bias": "patch_embed.1.rbr_scale.bn.bias",
        "visual.trunk.stages.2.downsample.proj.0.reparam_conv.weight": "network.3.proj.0.lkb_reparam.weight",
        "visual.trunk.stages.3.downsample.proj.0.se.fc1.bias": "network.5.proj.0.se.fc1.bias",
        "visual.trunk.stages.3.pos_emb.reparam_conv.bias": "network.6.reparam_conv.bias",
        "visual.trunk.stages.3.blocks.1.layer_scale_2.gamma": "network.7.1.layer_scale_2",
        "visual.trunk.stages.0.blocks.1.token_mixer.reparam_conv.weight": (
            "network.0.1.token_mixer.reparam_conv.weight"
        ),
        "visual.trunk.final_conv.se.fc2.weight": "conv_exp.se.expand.weight",
        "visual.trunk.final_conv.reparam_conv.weight": "conv_exp.reparam_conv.weight",
    }.items():
        assert names(ours) == f"image_encoder.model.{theirs}"
    assert (
        names("text.mixers.1.token_mixer.layer_scale.gamma")
        == "text_encoder.transformer.5.token_mixer.layer_scale"
    )
    assert (
        names("text.transformer.resblocks.0.attn.out_proj.bias")
        == "text_encoder.transformer.1.pre_norm_mha.1.out_proj.bias"
    )


def test_s0_has_the_published_size() -> None:
    image, text = shapes(S0)
    # 11.4 M and 42.4 M in the paper's table 1; branches and norms are folded away.
    assert (image.parameters, text.parameters) == (11_348_544, 42_433_024)
    # timm's own count of fastvit_mci0, 2.4 G at 256 pixels.
    assert image_tower(S0, RandomWeights(0)).describe().macs == 2_385_149_952
    assert {
        p.role: p.quant
        for p in plan.predict(Settings("mobileclip-s0", "int4", _random())).artifacts
        if p.target == "onnx"
    } == {
        "image_tower": "int8",
        "text_tower": "int8",
    }
    for target in ("onnx", "executorch", "coreml"):
        assert {
            Settings("mobileclip-s0").chosen.quant_of("image_tower", target, quant)
            for quant in ("int8", "int4", "pal6", "pal4")
        } == {"int8"}


def _random() -> tuple[tuple[str, str], ...]:
    return ("image", "random:0"), ("text", "random:0")


def test_pixels_are_prepared_as_published(tmp_path: Path) -> None:
    spec = preprocessing(S0)
    assert (spec.resize, spec.crop, spec.interpolation, spec.fit) == (256, 256, "bilinear", "crop")
    assert (spec.channel_mean, spec.channel_std) == ((0.0, 0.0, 0.0), (255.0, 255.0, 255.0))
    steps = {
        "mean": [0.5, 0.5, 0.5],
        "std": [0.25, 0.25, 0.25],
        "interpolation": "bicubic",
        "resize_mode": "squash",
    }
    checkpoint = open_checkpoint(None, str(open_clip(tmp_path, {}, steps)))
    spec = preprocessing(checkpoint.config, checkpoint.processor)
    assert (spec.interpolation, spec.fit, spec.channel_mean) == ("bicubic", "squash", (127.5, 127.5, 127.5))


def open_clip(folder: Path, changed: dict[str, Any], steps: dict[str, Any] | None = None) -> Path:
    """An open_clip directory whose configuration is `changed`, with one tensor."""
    model = {
        **MODEL,
        **{
            key: {**MODEL[key], **value} if isinstance(value, dict) else value
            for key, value in changed.items()
        },
    }
    (folder / "open_clip_config.json").write_text(
        json.dumps({"model_cfg": model, "preprocess_cfg": steps or {}})
    )
    save_file({"logit_scale": torch.zeros(())}, folder / "open_clip_model.safetensors")
    return folder


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (
            {"vision_cfg": {"timm_model_name": "fastvit_mci3"}},
            "'mci3' must be one of: mci0, mci1, mci2",
        ),
        ({"vision_cfg": {"timm_model_name": None, "layers": 12}}, "must be one of: mci0"),
        ({"text_cfg": {"no_causal_mask": False}}, "reads both ways"),
        ({"text_cfg": {"ls_init_value": 0.1}}, "plain text tower"),
        ({"vision_cfg": {"timm_proj": "linear"}}, "own head"),
        (
            {"text_cfg": {"width": "512"}},
            "text_cfg: the width: must be a .* number .*, not '512'",
        ),
        ({"text_cfg": {"heads": 7}}, "7 heads"),
        (
            {"text_cfg": {"mlp_ratio": float("nan")}},
            "mlps over it: must be a finite .*, not nan",
        ),
        ({"vision_cfg": {"image_size": 250}}, "image_size must be a multiple of 32, not 250"),
        ({"embed_dim": None}, "projection_dim: must be a whole number from 1 to 65536, not null"),
        ({"text_cfg": {"vocab_size": "a"}}, "vocab_size"),
        ({"text_cfg": [1]}, "text_cfg: must be an object, not a list"),
    ],
)
def test_an_unsupported_tower_is_refused_in_one_line_that_names_it(
    changed: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(ExportError, match=says) as raised:
        shapes(open_checkpoint(None, str(open_clip(tmp_path, changed))).config)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 250


def test_an_incomplete_mobileclip_checkpoint_is_refused(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(None, str(open_clip(tmp_path, {})))
    for tower in (image_tower, text_tower):
        with pytest.raises(ExportError, match="no MobileCLIP checkpoint, or not whole"):
            tower(checkpoint.config, checkpoint.weights)


def test_a_single_weights_file_of_apple_is_enough_for_the_named_recipe(tmp_path: Path) -> None:
    apple_s0(tmp_path / "s0")
    (tmp_path / "s0" / "mobileclip_s0.json").unlink()
    checkpoint = open_checkpoint("mobileclip-s0", str(tmp_path / "s0"))
    assert checkpoint.config == S0
    assert checkpoint.licence.startswith("Apple")
    assert checkpoint.tokenizer is not None
    with pytest.raises(ExportError, match=r"no config\.json"):
        open_checkpoint(None, str(tmp_path / "s0"))
    # Published as a pickle: refused unless trusted by name.
    torch.save(load_file(tmp_path / "s0" / "mobileclip_s0.safetensors"), tmp_path / "s0" / "mobileclip_s0.pt")
    (tmp_path / "s0" / "mobileclip_s0.safetensors").unlink()
    with pytest.raises(ExportError, match="--trust-pickle"):
        open_checkpoint("mobileclip-s0", str(tmp_path / "s0"))
    trusted = open_checkpoint("mobileclip-s0", str(tmp_path / "s0"), trust_pickle=True)
    with pytest.raises(
        ExportError,
        match=r"pos_embed has shape \[1, 1, 20, 32\], the architecture wants|has shape \[60, 32\]",
    ):
        text_tower(trusted.config, trusted.weights)
