"""Writes checkpoints and answers of timm's and open_clip's own MobileCLIP into a folder. Run by itself, in a
process of its own.

Both packages import torchvision, which has no wheel for the torch that the exporter pins; none of it is used
by these models, so that empty classes stand in its place, here and nowhere else. The towers are the true
ones: FastViT mci0 whole, the text transformer small.
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


class _Anything(type):
    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return _empty(name)


def _empty(name: str) -> type:
    return _Anything(name, (), {"__init__": lambda self, *args: None})


class _Module(types.ModuleType):
    __version__ = "0"

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return _empty(name)


class _Torchvision(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, fullname: str, path: Any, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        return (
            importlib.machinery.ModuleSpec(fullname, self, is_package=True)
            if fullname.partition(".")[0] == "torchvision"
            else None
        )

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = _Module(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def shaken(model: Any, seed: int) -> Any:
    """Weights, norms and layer scales that differ everywhere and let every branch count: fresh models have
    layer scales of 0.00001.
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


def settle(trunk: Any) -> None:
    """Batch norms that know what photographs look like, as training leaves them: without, one photo's
    features are as good as another's.
    """
    spec = Preprocessing(256, 256, "bilinear", 0.0, 255.0, (0.0, 0.0, 0.0), (255.0, 255.0, 255.0), "crop")
    photos = torch.from_numpy(np.concatenate(images(spec))).permute(0, 3, 1, 2) / 255.0
    for part in trunk.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.momentum = 1.0
    with torch.no_grad():
        trunk.train()(photos)
    trunk.eval()


def write(folder: Path) -> None:
    sys.meta_path.insert(0, _Torchvision())
    import open_clip
    from open_clip.push_to_hf_hub import save_config_for_hf
    from timm.utils.model import reparameterize_model

    torch.manual_seed(0)
    model = shaken(open_clip.CustomTextCLIP(MODEL["embed_dim"], VISION, TEXT), 1)
    settle(model.visual.trunk)
    model.visual.image_mean, model.visual.image_std = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    model.visual.preprocess_cfg = {"interpolation": "bilinear", "resize_mode": "shortest"}
    for name in ("branched", "folded"):
        (folder / name).mkdir()
        save_config_for_hf(model, folder / name / "open_clip_config.json", MODEL)
    tensors = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(tensors, folder / "branched" / "open_clip_model.safetensors")
    folded = {f"visual.{name}": x for name, x in reparameterize_model(model.visual).state_dict().items()}
    kept = {name: x for name, x in tensors.items() if not name.startswith("visual.")}
    save_file(
        {name: x.contiguous().clone() for name, x in (folded | kept).items()},
        folder / "folded" / "open_clip_model.safetensors",
    )
    apple(model, tensors, folder / "apple")
    answers(model, open_clip.get_tokenizer("MobileCLIP2-S0"), folder)


def apple(model: Any, tensors: dict[str, Tensor], folder: Path) -> None:
    """The same in Apple's layout. That it is theirs is what timm's and open_clip's own readers of it say."""
    from open_clip.convert import convert_mobile_clip_state_dict

    names, theirs = AppleNames(RandomWeights(0), 2, False), dict[str, Tensor]()
    for name, tensor in tensors.items():
        if name == "visual.trunk.head.fc.weight":
            theirs["image_encoder.model.head.proj"] = tensor.T.contiguous()
        elif name == "text.positional_embedding":
            theirs[names.named(name)] = tensor[None, None]
        elif name != "visual.trunk.head.fc.bias":
            theirs[name if name == "logit_scale" else names.named(name)] = tensor
    back = convert_mobile_clip_state_dict(model, theirs)
    assert set(back) == set(tensors), sorted(set(back) ^ set(tensors))[:5]
    assert all(
        torch.equal(back[name], x) for name, x in tensors.items() if name != "visual.trunk.head.fc.bias"
    )
    folder.mkdir()
    save_file(theirs, folder / "model.safetensors")
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
    """What the models say of some pixels and texts, and what the tokenizer makes of real ones."""
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
        # Apple's head has no bias.
        model.visual.trunk.head.fc.bias.zero_()
        unbiased = model.encode_image(values, normalize=True)
    tokens = tokenizer([*TEXTS, LONG])
    found = {
        "pixels": pixels,
        "ids": ids,
        "patches": patches,
        "image": image,
        "unbiased": unbiased,
        "text": text,
        "tokens": tokens,
    }
    save_file(found, folder / "answers.safetensors")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
