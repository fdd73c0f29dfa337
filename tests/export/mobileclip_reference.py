"""Writes checkpoints and reference outputs of timm's and open_clip's MobileCLIP into a folder.

Run in a separate process, because both packages import torchvision, which has no wheel for the torch that the
exporter pins. These models use nothing of it, so this process replaces it with empty classes; nothing else in
the project does. The towers are those of the two packages: FastViT mci0 in full size, and the text
transformer with small sizes.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from gamer.export.checkpoints.weights import RandomWeights
from gamer.export.components.fixtures import TEXTS, images
from gamer.export.components.mobileclip import AppleNames
from gamer.runtime.bundle.manifest import Preprocessing

TEXT: dict[str, Any] = {
    "context_length": 24,
    "vocab_size": 258,
    "width": 64,
    "heads": 4,
    "layers": 2,
    "no_causal_mask": True,
}
VISION = {
    "timm_model_name": "fastvit_mci0",
    "timm_model_pretrained": False,
    "timm_pool": "avg",
    "timm_proj": None,
    "image_size": 256,
}
MODEL: dict[str, Any] = {"embed_dim": 48, "vision_cfg": VISION, "text_cfg": TEXT, "custom_text": True}
LONG = " ".join(["photograph"] * 90)


class _PlaceholderType(type):
    """The type of placeholder classes: each attribute of such a class is a placeholder class too."""

    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return _placeholder_class(name)


def _placeholder_class(name: str) -> type:
    return _PlaceholderType(name, (), {"__init__": lambda self, *args: None})


class _PlaceholderModule(types.ModuleType):
    """A module in which each attribute is a placeholder class."""

    __version__ = "0"

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return _placeholder_class(name)


class _TorchvisionImporter(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and loads torchvision and all its submodules as placeholder modules."""

    def find_spec(
        self, fullname: str, path: Any, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        return (
            importlib.machinery.ModuleSpec(fullname, self, is_package=True)
            if fullname.partition(".")[0] == "torchvision"
            else None
        )

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = _PlaceholderModule(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def add_noise(model: Any, seed: int) -> Any:
    """Changes all weights, norms and layer scales at random, so that every branch affects the output.

    In new models the layer scales are 0.00001, which hides branches.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            noise = torch.randn(tensor.shape, generator=generator) if tensor.is_floating_point() else None
            if noise is None:
                continue
            if name.endswith("running_var"):
                tensor.copy_(0.5 + noise.abs())
            elif "gamma" in name:
                tensor.copy_(0.3 * noise)
            else:
                tensor.add_(0.1 * noise * (tensor.std() if tensor.numel() > 1 and tensor.std() > 0 else 1.0))
    return model.eval()


def fit_batch_norms(trunk: Any) -> None:
    """Sets the statistics of the batch norms to those of photographs, as training does.

    Without this, all photos would get nearly the same features.
    """
    spec = Preprocessing(256, 256, "bilinear", 0.0, 255.0, (0.0, 0.0, 0.0), (255.0, 255.0, 255.0), "crop")
    photos = torch.from_numpy(np.concatenate(images(spec))).permute(0, 3, 1, 2) / 255.0
    for module in trunk.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    with torch.no_grad():
        trunk.train()(photos)
    trunk.eval()


def write(folder: Path) -> None:
    """Writes the same model in three layouts ("branched", "folded", "apple"), and answers.safetensors."""
    sys.meta_path.insert(0, _TorchvisionImporter())
    import open_clip
    from open_clip.push_to_hf_hub import save_config_for_hf
    from timm.utils.model import reparameterize_model

    torch.manual_seed(0)
    model = add_noise(open_clip.CustomTextCLIP(MODEL["embed_dim"], VISION, TEXT), 1)
    fit_batch_norms(model.visual.trunk)
    model.visual.image_mean, model.visual.image_std = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    model.visual.preprocess_cfg = {"interpolation": "bilinear", "resize_mode": "shortest"}
    for name in ("branched", "folded"):
        (folder / name).mkdir()
        save_config_for_hf(model, folder / name / "open_clip_config.json", MODEL)
    tensors = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(tensors, folder / "branched" / "open_clip_model.safetensors")
    folded = {f"visual.{name}": x for name, x in reparameterize_model(model.visual).state_dict().items()}
    not_visual = {name: x for name, x in tensors.items() if not name.startswith("visual.")}
    save_file(
        {name: x.contiguous().clone() for name, x in (folded | not_visual).items()},
        folder / "folded" / "open_clip_model.safetensors",
    )
    apple(model, tensors, folder / "apple")
    answers(model, open_clip.get_tokenizer("MobileCLIP2-S0"), folder)


def apple(model: Any, tensors: dict[str, Tensor], folder: Path) -> None:
    """Writes the model in Apple's layout.

    Asserts that open_clip's and timm's readers of that layout give the same tensors back.
    """
    from open_clip.convert import convert_mobile_clip_state_dict

    names, apple_tensors = AppleNames(RandomWeights(0), 2, False), dict[str, Tensor]()
    for name, tensor in tensors.items():
        if name == "visual.trunk.head.fc.weight":
            apple_tensors["image_encoder.model.head.proj"] = tensor.T.contiguous()
        elif name == "text.positional_embedding":
            apple_tensors[names.named(name)] = tensor[None, None]
        elif name != "visual.trunk.head.fc.bias":
            apple_tensors[name if name == "logit_scale" else names.named(name)] = tensor
    read_back = convert_mobile_clip_state_dict(model, apple_tensors)
    assert set(read_back) == set(tensors), sorted(set(read_back) ^ set(tensors))[:5]
    assert all(
        torch.equal(read_back[name], x) for name, x in tensors.items() if name != "visual.trunk.head.fc.bias"
    )
    folder.mkdir()
    save_file(apple_tensors, folder / "model.safetensors")
    text: dict[str, Any] = {
        "context_length": TEXT["context_length"],
        "vocab_size": TEXT["vocab_size"],
        "dim": TEXT["width"],
        "ffn_multiplier_per_layer": 4.0,
    }
    text |= {
        "n_heads_per_layer": TEXT["heads"],
        "n_transformer_layers": TEXT["layers"],
        "causal_masking": False,
        "model_name": "base",
    }
    config = {
        "embed_dim": MODEL["embed_dim"],
        "image_cfg": {"image_size": 256, "model_name": "mci0"},
        "text_cfg": text,
    }
    (folder / "mobileclip_test.json").write_text(json.dumps(config))


def answers(model: Any, tokenizer: Any, folder: Path) -> None:
    """Writes the models' outputs for two pictures and three rows of token ids, and the tokenizer's ids of
    TEXTS and LONG.
    """
    generator = torch.Generator().manual_seed(2)
    ramp = torch.arange(256.0)
    noise = torch.randint(0, 256, (256, 256, 3), generator=generator).float()
    pixels = torch.stack(
        (noise, torch.stack((*torch.meshgrid(ramp, ramp, indexing="ij"), ramp.expand(256, 256) / 3), -1))
    )
    ids = torch.randint(1, 256, (3, 24), generator=generator)
    for row, end in enumerate((4, 23, 11)):
        ids[row, end], ids[row, end + 1 :] = 257, 0
    with torch.no_grad():
        values = (pixels / 255.0).permute(0, 3, 1, 2)
        patches = model.visual.trunk.forward_features(values).flatten(2).transpose(1, 2).contiguous()
        image, text = model.encode_image(values, normalize=True), model.encode_text(ids, normalize=True)
        # "unbiased" is for Apple's layout, whose head has no bias.
        model.visual.trunk.head.fc.bias.zero_()
        unbiased = model.encode_image(values, normalize=True)
    tokens = tokenizer([*TEXTS, LONG])
    reference = {
        "pixels": pixels,
        "ids": ids,
        "patches": patches,
        "image": image,
        "unbiased": unbiased,
        "text": text,
        "tokens": tokens,
    }
    save_file(reference, folder / "answers.safetensors")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
