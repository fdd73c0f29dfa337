"""Checkpoints: a hub id, a local Hugging Face directory, a GGUF file, a weights package or `random[:seed]`,
opened behind one interface.

Reads safetensors and GGUF tensor by tensor, and configuration and tokenizer beside them. Refuses pickled
files unless they are trusted by name.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import ExportError
from . import catalogue, mobileclip_config
from .catalogue import Config
from .gguf_weights import open_gguf
from .weights import RandomWeights, Weights, fit

_HUB_FILES = ["*.json", "*.safetensors", "*.model", "*.txt"]
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_MAX_JSON = 64 << 20


@dataclass(frozen=True)
class Checkpoint:
    """A model's configuration and weights. `tokenizer` gives the text of its tokenizer.json; None where there
    is none (random numbers).

    `processor`: preprocessor_config.json, or None. `licence`: one line for the bundle's notices.
    """

    config: Config
    weights: Weights
    tokenizer: Callable[[], str] | None
    processor: Config | None
    licence: str


class SafetensorsWeights:
    """Tensors of one or several safetensors files, each read when asked for.

    Prefixes that wrappers add are seen through.
    """

    trained = True

    def __init__(self, files: list[Path], source: str) -> None:
        from safetensors import SafetensorError, safe_open

        self.source, self._where = source, dict[str, Any]()
        for file in files:
            try:
                opened = safe_open(str(file), framework="pt")
            except (SafetensorError, OSError) as error:
                raise ExportError(
                    f"{file}: not a whole safetensors file ({str(error)[:120]}): fetch it again"
                ) from None
            self._where |= dict.fromkeys(opened.keys(), opened)  # type: ignore[no-untyped-call]

    def has(self, name: str) -> bool:
        return self._stored(name) is not None

    def get(self, name: str, *shape: int) -> Tensor:
        stored = self._stored(name)
        if stored is None:
            raise ExportError(
                f"{self.source}: no tensor {name}: the checkpoint is of another architecture, or not whole"
            )
        return fit(self._where[stored].get_tensor(stored), name, shape, self.source)

    def _stored(self, name: str) -> str | None:
        # GPT-2's first checkpoints leave out "transformer."; multimodal Gemma puts "language_model." before
        # or within.
        forms = (
            name,
            name.removeprefix("transformer."),
            f"bert.{name}",
            f"language_model.{name}",
            name.replace("model.", "model.language_model.", 1),
        )
        return next((form for form in forms if form in self._where), None)


class PickledWeights(SafetensorsWeights):
    """A pickled checkpoint, opened only where the user trusts it by name: unpickling runs what
    stands in it.
    """

    def __init__(self, files: list[Path], source: str) -> None:
        self.source, self._tensors = source, dict[str, Tensor]()
        for file in files:
            self._tensors |= torch.load(file, map_location="cpu", weights_only=False)
        self._where = dict.fromkeys(self._tensors, self)

    def get_tensor(self, name: str) -> Tensor:
        return self._tensors[name]


def open_checkpoint(name: str | None, source: str | None = None, *, trust_pickle: bool = False) -> Checkpoint:
    """The checkpoint of the model called `name` in models.py, from `source` if one is given, else from its
    own.

    `source`: "random" or "random:SEED" (needs a name, for the configuration), a directory with config.json
    and safetensors, a .gguf file, or a hub id "owner/name". Raises ExportError: nothing there, not whole,
    pickled, or the hub cannot be reached.
    """
    if source is not None and (source == "random" or source.startswith("random:")):
        return _random(name, source)
    if source is None:
        if name is None:
            raise ExportError(
                "no model is named: give a recipe, or -m with a directory, a .gguf file or a hub id"
            )
        known = catalogue.model(name)
        return _package(known) if known.module else _hub(known.source, known.licence, trust_pickle, name)
    path = Path(source)
    if path.is_dir():
        return open_directory(path, f"local:{path.resolve().name}", _licence(name, path), trust_pickle, name)
    if path.is_file():
        return _gguf(path, f"local:{path.name}", f"see the licence of {path.name}")
    if (
        path.suffix == ".gguf"
        or path.is_absolute()
        or source.startswith((".", "~"))
        or source.count("/") != 1
    ):
        raise ExportError(f"{source}: no such directory or file, and no hub id (owner/name) either")
    return _hub(source, f"see the licence of {source}", trust_pickle, name)


def _random(name: str | None, source: str) -> Checkpoint:
    seed = source.partition(":")[2] or "0"
    if not seed.isdecimal() or len(seed) > 9:
        raise ExportError(f"{source!r}: the seed is a whole number, as in random:7")
    if name is None:
        raise ExportError("random weights need an architecture: name a recipe")
    config = catalogue.config(name)
    gemma = str(config.get("model_type")).startswith("gemma")
    # Gemma multiplies what it looks up by the root of its width.
    table = float(config["hidden_size"]) ** -0.5 if gemma else 1.0
    weights = RandomWeights(int(seed), _depth(config), int(config.get("d_kv", 1)), table, gemma)
    return Checkpoint(
        config, weights, None, None, f"random numbers in the shape of {catalogue.model(name).source}"
    )


def _depth(config: Config) -> int:
    """Blocks of the deepest stack."""
    stacks = [config, *(value for value in config.values() if isinstance(value, dict))]
    return max(
        int(stack.get(key, 1)) for stack in stacks for key in ("num_hidden_layers", "num_layers", "n_layer")
    )


def _package(known: catalogue.Model) -> Checkpoint:
    folder = catalogue.package_dir(known)
    if (folder / "model" / "config.json").is_file():
        return open_directory(folder / "model", known.source, known.licence, False, None)
    path = next(folder.glob("*.gguf"), None) or _assembled(folder, known)
    return _gguf(path, known.source, known.licence)


def _assembled(folder: Path, known: catalogue.Model) -> Path:
    """A GGUF file that comes in parts, joined in the user's cache once; its SHA-256 is the one that the
    package states.
    """
    parts = sorted(
        p for n in range(1, 10) for p in folder.parent.glob(f"{known.module}_part{n}/data/*.gguf.part*")
    )
    sums = folder / "data" / "SHA256SUMS"
    if not parts or not sums.is_file():
        raise ExportError(f"weights package {known.source} holds no .gguf file: reinstall it with its parts")
    wanted, file = sums.read_text().split()[:2]
    path = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gamer" / Path(file).name
    if path.is_file() and _sha256(path) == wanted:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with aside.open("wb") as out:
            for part in parts:
                out.write(part.read_bytes())
        if _sha256(aside) != wanted:
            raise ExportError(
                f"weights package {known.source}: its parts do not make the file that it promises: "
                "reinstall it"
            )
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _gguf(path: Path, source: str, licence: str) -> Checkpoint:
    config, weights = open_gguf(path, source)

    def tokenizer() -> str:
        return _transformers_tokenizer(path.parent, path.name)

    return Checkpoint(config, weights, tokenizer, None, licence)


def _hub(name: str, licence: str, trust_pickle: bool, model: str | None) -> Checkpoint:
    from huggingface_hub import snapshot_download

    wanted = _HUB_FILES + (list(_PICKLES) if trust_pickle else [])
    try:
        folder = Path(snapshot_download(name, allow_patterns=wanted, etag_timeout=10))
    except Exception as error:  # the hub client raises its own, requests' and httpx's classes
        reason = str(error).splitlines()[0][:120]
        raise ExportError(
            f"{name}: cannot be fetched from the hub ({reason}): give a local directory with -m, or "
            "--weights random"
        ) from None
    return open_directory(folder, f"{name}@{folder.name[:12]}", licence, trust_pickle, model)


def open_directory(
    folder: Path, source: str, licence: str, trust_pickle: bool, model: str | None
) -> Checkpoint:
    """A directory as Hugging Face lays it out, or MobileCLIP's publishers. `model`: the name in models.py
    that the user gave it, if any.

    Raises ExportError: no config, no safetensors, pickled files only.
    """
    config, processor = _configuration(folder, model)
    files = sorted(folder.glob("*.safetensors"))
    pickles = sorted(p for pattern in _PICKLES for p in folder.glob(pattern))
    if not files and not pickles:
        raise ExportError(
            f"{folder}: no .safetensors file: is the checkpoint downloaded whole? Pickled ones are fetched "
            "with --trust-pickle alone"
        )
    if not files and not trust_pickle:
        raise ExportError(
            f"{folder}: only pickled weights ({pickles[0].name}), which can run code: convert to "
            "safetensors, or give --trust-pickle"
        )
    weights = SafetensorsWeights(files, source) if files else PickledWeights(pickles, source)

    def tokenizer() -> str:
        path = folder / "tokenizer.json"
        if path.is_file():
            return path.read_text(encoding="utf-8")
        if config.get("model_type") == "mobileclip":
            from . import clip_bpe

            return clip_bpe.tokenizer()
        return _transformers_tokenizer(folder, None)

    generation = read_json(folder / "generation_config.json") or {}
    config |= {"eos_token_id": generation["eos_token_id"]} if "eos_token_id" in generation else {}
    return Checkpoint(config, weights, tokenizer, processor, licence)


def _configuration(folder: Path, model: str | None) -> tuple[Config, Config | None]:
    """(config.json, preprocessor_config.json) in Hugging Face's form, from whichever form lies there.

    Raises ExportError.
    """
    found = read_json(folder / "config.json")
    if found is not None and "model_type" in found:
        return found, read_json(folder / "preprocessor_config.json")
    if (theirs := read_json(folder / "open_clip_config.json")) is not None:
        return mobileclip_config.read_open_clip(theirs, f"{folder.name}/open_clip_config.json")
    for name in ("config.json", *sorted(path.name for path in folder.glob("mobileclip*.json"))):
        theirs = read_json(folder / name)
        if theirs is not None and "image_cfg" in theirs:
            return mobileclip_config.read_apple(theirs, f"{folder.name}/{name}"), None
    if model is not None and (own := catalogue.config(model))["model_type"] == "mobileclip":
        return own, None  # Apple's checkpoints come as one file: the recipe says what it holds
    if found is None:
        raise ExportError(
            f"{folder}: no config.json: give the directory that holds config.json and the safetensors files"
        )
    return found, None


def read_json(path: Path) -> Config | None:
    """A JSON object; None if there is no such file.

    Raises ExportError for one that is no object, or too large.
    """
    if not path.is_file():
        return None
    try:
        if path.stat().st_size > _MAX_JSON:
            raise ValueError("larger than 64 MB")
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ExportError(f"{path}: not readable as JSON ({str(error)[:80]})") from None
    if not isinstance(found, dict):
        raise ExportError(f"{path}: not a JSON object: is it a model's directory?")
    return found


def _licence(name: str | None, folder: Path) -> str:
    return (
        catalogue.model(name).licence
        if name in catalogue.MODELS
        else f"see the licence of {folder.resolve().name}"
    )


def _transformers_tokenizer(folder: Path, gguf_file: str | None) -> str:
    os.environ["HF_HUB_OFFLINE"] = "1"  # what is local is never asked of a hub
    from transformers import AutoTokenizer

    try:
        options = {} if gguf_file is None else {"gguf_file": gguf_file}
        backend = AutoTokenizer.from_pretrained(folder, **options).backend_tokenizer
    except Exception as error:
        reason = str(error).splitlines()[0][:120]
        raise ExportError(
            f"{folder}: no tokenizer that can be read ({reason}): a tokenizer.json is wanted beside the "
            "weights"
        ) from None
    backend.no_truncation()
    backend.no_padding()
    return str(backend.to_str())
