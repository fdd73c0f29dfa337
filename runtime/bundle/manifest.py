"""The bundle's manifest: the files that a phone gets, with their sizes, hashes and measured parity.

This module reads, writes and checks manifests; it runs no model. A bundle is a directory with `manifest.json`
(a `Manifest` as JSON, `schema_version` first), the artifacts that it names, tokenizer files, `labels.json`,
`gazetteer.sqlite` and `fixtures/`. `read` checks the schema; `check_one` checks the size and the SHA-256 of a
file before it is opened.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from gamer.index.json_checked import Between, Items, JsonError, Text, parse, read_as
from gamer.index.json_checked import read as read_json

from .. import defaults
from ..errors import BundleError
from .contract import Contract
from .placement import Placement

SCHEMA_VERSION = 3
# In 1 not every component has fixtures, and parity does not name the kernels; in 2 artifacts lack contracts.
READABLE = (1, 2, 3)
MANIFEST_NAME = "manifest.json"
MAX_WEIGHT = 1_000.0  # of the ranking: a hundred times those that were ever fitted
MAX_ROPE_THETA = 1e9
MAX_ELEMENTS = 1 << 31  # of a tensor; an 8-bit table of 256,000 words of width 2,048 has a quarter of that
CHANNEL_NAME = r"dpe:[a-z]{1,16}:[0-9a-f]{8}"
NOT_RUN = "not run on this platform"
ADAPTER = "adapter"  # the text tower's input that changes how it reads a query, zeros for a memory
# Folders of the language model as other runtimes open it: ONNX Runtime GenAI, and ExecuTorch's LLM runner.
LAYOUTS = GENAI, RUNNER = "genai", "runner"
VISION = "llm_vision"  # the component that makes soft prompts of a picture for the language model
FACE_ROLES = ("face_detector", "face_encoder")
OCR_ROLES = ("ocr_detector", "ocr_recogniser")
PICTURE_FILE = "llm_picture.json"  # the Preprocessing of its pictures; other readers leave both
ADAPTERS, ADAPTER_SUFFIX = "adapters/", ".onnx_adapter"  # of the language model, ONNX Runtime's format
WITH_ADAPTER = "logits with "  # before an adapter's name, in the outputs of a decoder's parity
ADAPTER_FILE = "query.adapter"  # what it is for a query (models/query_adapter.py)
# By such sizes a reader allocates memory.
Width = Annotated[int, Between(1, 65_536)]
Cosine = Annotated[float, Between(-1, 1)]
Weight = Annotated[float, Between(-MAX_WEIGHT, MAX_WEIGHT)]


@dataclass(frozen=True)
class TensorSpec:
    """One input or output of an artifact.

    `shape`: integers, or names for dimensions that may vary. `dtype`: numpy's name.
    """

    name: str
    shape: Annotated[tuple[int | str, ...], Items(least=1)]
    dtype: str


@dataclass(frozen=True)
class Parity:
    """How close an artifact's outputs are to the fp32 torch model's on the same inputs.

    `status`: "passed", or NOT_RUN if the exporting system cannot run the target (then there are no figures).
    `metric`: "cosine" (the worst input's in `minimum`, the mean of all inputs in `mean`) or "top1" (the share
    of positions of a fixed text whose likeliest token is the same; then `minimum` and `mean` are cosines of
    the hidden state). `executed_by`: "onnxruntime", "executorch", "Core ML", "MIL interpreter"; for NOT_RUN,
    what was checked instead; "" in older bundles, which did not record it. `kernels`: the engine, its version
    and the processor features (processor.kernels) for which the figures hold; on others, the bundle's
    fixtures are run before the artifact is used (selfcheck.py). `outputs`: the worst cosine of each output,
    those of a decoder's cache as "keys" and "values"; empty in older bundles.
    """

    status: str
    metric: str
    threshold: float
    minimum: float | None = None
    mean: float | None = None
    top1: float | None = None
    top1_threshold: float | None = None
    inputs: int = 0
    executed_by: str = ""
    kernels: str = ""
    outputs: dict[str, float] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class Artifact:
    """One component exported for one target: a file, or a directory (.mlpackage, ONNX with external weights).

    `export_seconds`, `export_peak_bytes`: time and peak memory of exporting it and measuring its parity; 0
    bytes if the memory was not measured. `contract`: what a caller must do; `placement`: where its operations
    ran; None in older bundles.
    """

    role: str
    target: str
    quant: str
    path: str
    bytes: int
    sha256: str
    inputs: Annotated[tuple[TensorSpec, ...], Items(least=1)]
    outputs: Annotated[tuple[TensorSpec, ...], Items(least=1)]
    parity: Parity
    export_seconds: float
    export_peak_bytes: int = 0
    contract: Contract | None = None
    placement: Placement | None = None

    @property
    def adapters(self) -> tuple[str, ...]:
        """The names of the adapters that a decoder was measured with, which it can be switched to."""
        names = (name for name in self.parity.outputs if name.startswith(WITH_ADAPTER))
        return tuple(name.removeprefix(WITH_ADAPTER) for name in names)


@dataclass(frozen=True)
class Component:
    """One network of the recipe.

    `macs`: multiply-adds of the fp32 module for the input that `macs_per` describes. `trained`: False for
    random weights.
    """

    role: str
    architecture: str
    source: str
    trained: bool
    parameters: int
    macs: int
    macs_per: str


@dataclass(frozen=True)
class Preprocessing:
    """How pixels become the image tower's input.

    The shorter side is resized to `resize` (antialiased), then the centre of `crop` × `crop` is taken; the
    graph itself computes (x - mean) / std of pixels in 0..255: the caller does not. `normalised_by`: says so
    ("graph"); "" in older bundles, whose graphs do the same. `channel_mean`, `channel_std`: the values per
    channel, if they differ (then `mean` and `std` are their means). `fit`: "cut" cuts a centre of integer
    pixels from the picture and resizes it; "crop" takes the exact centre of the resized picture, as Hugging
    Face's processors do; "squash" makes both sides `crop`, whatever the picture's shape; "longest" first
    resizes the longer side to `resize`.
    """

    resize: Annotated[int, Between(1, 4096)]
    crop: Annotated[int, Between(1, 2048)]
    interpolation: str
    mean: float
    std: float
    channel_mean: Annotated[tuple[float, ...], Items(3)] = ()
    channel_std: Annotated[tuple[Annotated[float, Between(0, ends="(]")], ...], Items(3)] = ()
    fit: str = "cut"
    normalised_by: str = ""

    @property
    def least(self) -> int:
        """Pixels that a picture's shorter side keeps when it is decoded: twice those of the input, as detail
        for the antialiased resize.
        """
        return 2 * max(self.resize, self.crop)


@dataclass(frozen=True)
class Language:
    """The parameters of the decoder that are not in its graph.

    Sizes of the KV cache, rotary base, and the ids that end a generation. `rope_theta`: 0 without rotary
    positions. `window`: the number of tokens that local layers attend to, with the rotary base
    `rope_theta_local`; 0 without such layers. `buckets`, `distance`: T5's relative positions. `start_id`: the
    first token of an encoder-decoder's answer; None for a decoder without encoder.
    """

    layers: Annotated[int, Between(1, 512)]
    kv_heads: Annotated[int, Between(1, 512)]
    head_dim: Annotated[int, Between(2, 1024)]
    hidden: Width
    max_seq: Annotated[int, Between(1, 1 << 17)]
    rope_theta: Annotated[float, Between(0, MAX_ROPE_THETA)]
    eos_ids: tuple[int, ...]
    window: Annotated[int, Between(0, 1 << 20)] = 0
    rope_theta_local: Annotated[float, Between(0, MAX_ROPE_THETA)] = 0.0
    buckets: Annotated[int, Between(0, 1024)] = 0
    distance: Annotated[int, Between(0, 1 << 20)] = 0
    start_id: int | None = None


@dataclass(frozen=True)
class Thresholds:
    """`delta`: δ of layer 2. `rho`: ρ of the router (paper Eq. 1). `k`: the number of hits.

    `delta_from`: how δ was calibrated for this text encoder. `paper_delta`: δ of modes "paper" and "strict",
    if they have one of their own: their layer 3 ranks only what layer 2 reaches.
    """

    delta: Cosine
    rho: Annotated[float, Between(0, 1)]
    k: Annotated[int, Between(1, 1000)]
    delta_from: str
    paper_delta: Cosine | None = None


@dataclass(frozen=True)
class Ranking:
    """The weights of the fused score, and of the estimate of presence, in log-odds (stages/ranking.py).

    `text`, `image`, `dpe`, `title`: per unit of cosine in the channel. `words`: per unit of BM25.
    `coverage`: for a photo that holds all words of the query. `context_words`, `context_coverage`: the same
    two for the messages around a message. `entity`: for an entity of the greatest similarity above δ that
    the photo's own memory names; `related`: that the graph reaches from it. `cue`: per nat of evidence.
    `here`, `here_cosine`, `here_coverage`, `here_cue`: intercept and coefficients of the logistic regression
    that estimates whether the album holds what is meant. `fitted`: the data and the method of the fit.
    """

    text: Weight = defaults.RANKING["text"]
    image: Weight = defaults.RANKING["image"]
    dpe: Weight = defaults.RANKING["dpe"]
    title: Weight = defaults.RANKING["title"]
    words: Weight = defaults.RANKING["words"]
    coverage: Weight = defaults.RANKING["coverage"]
    context_words: Weight = defaults.RANKING["context_words"]
    context_coverage: Weight = defaults.RANKING["context_coverage"]
    entity: Weight = defaults.RANKING["entity"]
    related: Weight = defaults.RANKING["related"]
    cue: Weight = defaults.RANKING["cue"]
    here: Weight = defaults.RANKING["here"]
    here_cosine: Weight = defaults.RANKING["here_cosine"]
    here_coverage: Weight = defaults.RANKING["here_coverage"]
    here_cue: Weight = defaults.RANKING["here_cue"]
    fitted: str = defaults.RANKING_FITTED


@dataclass(frozen=True)
class Channel:
    """Vectors of photos from trained experts (paper section 3.3), for layer 3.

    `name`: in the album; the part before the first ":" names its weight in Ranking. It holds a digest of the
    experts, so that an album may keep several bundles' vectors and none is compared with another's. `query`:
    whose state becomes v_Q, "text" (the text tower's vector) or "llm" (the decoder's state at [EOS]). `dim`:
    of the vectors.
    """

    name: Annotated[str, Text(pattern=CHANNEL_NAME, form="such as dpe:text:0123abcd")]
    query: Annotated[str, Text(pattern="text|llm", form="that is text or llm")]
    dim: Width


@dataclass(frozen=True)
class TextPrompts:
    """Words that the text tower was trained to get: before a query, and before a memory or a name."""

    query: str = ""
    memory: str = ""


@dataclass(frozen=True)
class DataFile:
    """A file of the bundle other than an artifact: tokenizer, labels, gazetteer, fixture, notice."""

    name: str
    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class PrefixFile:
    """The decoder's KV cache of a prompt's fixed beginning (.npy), read on first use.

    `made_from`: a hash of what the cache depends on (models/prefix.py).
    """

    prompt: str
    target: str
    tokens: int
    made_from: str
    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class BudgetPoint:
    """A choice of bits for a component's matrices: predicted `bytes`, and `loss`, 1 - the mean cosine and a
    tenth of 1 - the worst.

    The loss is the sum of each matrix's own; of the choice that was made, it is that of all together.
    `quant`: the one of all matrices; "" for a choice by matrix.
    """

    bytes: int
    loss: float
    quant: str = ""


@dataclass(frozen=True)
class Budget:
    """What a component's bits were chosen from: the Pareto `curve`, `uniform` bits, and what was `chosen`."""

    role: str
    target: str
    curve: tuple[BudgetPoint, ...]
    uniform: tuple[BudgetPoint, ...]
    chosen: BudgetPoint


@dataclass(frozen=True)
class Manifest:
    """The content of `manifest.json`, with the fields in the order of the JSON.

    `preprocessing`: None without an image tower. `language`: None without a language model. `settings`: the
    settings of the export, as text. `random_parts`: the parts that were given random weights on request; such
    a bundle finds nothing, and searches refuse it unless random weights are allowed. `channels`: those that
    trained experts add to "text" and "image". `text_prompts`: None if the text tower gets texts as they are.
    `budgets`: of components whose bits were chosen for a size or a parity.
    """

    schema_version: int
    recipe: str
    quant: str
    text_encoder: str
    image_encoder: str
    dim: Width
    components: tuple[Component, ...]
    artifacts: tuple[Artifact, ...]
    preprocessing: Preprocessing | None
    language: Language | None
    thresholds: Thresholds
    prompts: dict[str, str]
    files: tuple[DataFile, ...]
    licences: dict[str, str]
    tools: dict[str, str]
    prefixes: tuple[PrefixFile, ...] = ()
    ranking: Ranking | None = None
    settings: dict[str, str] | None = None
    random_parts: tuple[str, ...] = ()
    channels: tuple[Channel, ...] = ()
    text_prompts: TextPrompts | None = None
    budgets: tuple[Budget, ...] = ()

    @property
    def entries(self) -> tuple[DataFile | Artifact | PrefixFile, ...]:
        """Everything that has a path, a size and a hash: a file, or a directory of files."""
        return (*self.files, *self.artifacts, *self.prefixes)

    def component(self, role: str) -> Component:
        component: Component = _only([c for c in self.components if c.role == role], f"component {role!r}")
        return component

    def artifact(self, role: str, target: str) -> Artifact:
        """The artifact of `role` for `target`. Raises BundleError with the targets that the bundle has."""
        matches = [a for a in self.artifacts if a.role == role and a.target == target]
        if not matches:
            have = sorted({a.target for a in self.artifacts})
            raise BundleError(
                f"bundle has no {target} artifact for {role}; it holds {', '.join(have)}: export again with "
                f"--targets {target}"
            )
        return matches[0]

    def prompt(self, name: str) -> str:
        """The prompt template `name`. Raises BundleError if the bundle does not have it."""
        if name not in self.prompts:
            raise BundleError(
                f"bundle has no prompt {name!r}; it holds {', '.join(sorted(self.prompts))}: export it again"
            )
        return self.prompts[name]

    def decoder(self) -> Language:
        """The decoder's sizes. Raises BundleError for a bundle without a language model."""
        if self.language is None:
            raise BundleError(
                f"bundle {self.recipe} has no language model: use --refine fast, or export a recipe that "
                "has one"
            )
        return self.language

    def pixels(self) -> Preprocessing:
        """The image tower's preprocessing. Raises BundleError for a bundle without an image tower."""
        if self.preprocessing is None:
            raise BundleError(f"bundle {self.recipe} has no image tower: export a recipe that has one")
        return self.preprocessing

    def golden(self, role: str) -> dict[str, DataFile]:
        """The files of a component's golden arrays, by name; `want` holds the outputs of fp32 torch.

        They are called fixtures/ROLE.NAME.npy, or fixtures/FAMILY.NAME.npy with the part of the role before
        the first "_".
        """
        beginnings = (f"fixtures/{role}.", f"fixtures/{role.split('_', 1)[0]}.")
        return {
            f.name.split(".")[-2]: f
            for f in self.files
            if f.name.startswith(beginnings) and f.name.endswith(".npy")
        }

    @property
    def adapters(self) -> dict[str, DataFile]:
        """The files of the language model's adapters, by name."""
        return {
            f.path.removeprefix(ADAPTERS).removesuffix(ADAPTER_SUFFIX): f
            for f in self.files
            if f.path.startswith(ADAPTERS) and f.path.endswith(ADAPTER_SUFFIX)
        }

    def has_folder(self, name: str) -> bool:
        """Whether files of a folder are in the bundle, which the manifest names when all are written."""
        return any(f.path.startswith(f"{name}/") for f in self.files)

    def has_file(self, name: str) -> bool:
        return any(f.name == name for f in self.files)

    def file(self, name: str) -> DataFile:
        file: DataFile = _only([f for f in self.files if f.name == name], f"file {name!r}")
        return file


def _only(entries: list[Any], what: str) -> Any:
    if len(entries) != 1:
        raise BundleError(f"bundle manifest names no {what}: export it again")
    return entries[0]


def to_json(manifest: Manifest) -> str:
    """The manifest as stable JSON text: 2-space indent, fields in order, newline at the end."""
    raw = dataclasses.asdict(manifest)
    for name in ("prefixes", "ranking", "settings", "random_parts", "channels", "text_prompts", "budgets"):
        if not raw[name]:
            del raw[name]  # so that a bundle of an older version is written as it was read
    if manifest.ranking is not None and not manifest.channels:
        del raw["ranking"]["dpe"]
    for part, kind in (("language", Language), ("preprocessing", Preprocessing), ("thresholds", Thresholds)):
        for field in dataclasses.fields(kind) if raw[part] else ():
            if field.default is not dataclasses.MISSING and raw[part][field.name] == field.default:
                del raw[part][field.name]
    for artifact in raw["artifacts"]:
        for name in ("executed_by", "kernels", "outputs"):
            if not artifact["parity"][name]:
                del artifact["parity"][name]
        for name in ("export_peak_bytes", "placement"):
            if not artifact[name]:
                del artifact[name]
        _without_defaults(artifact)
    return json.dumps(raw, indent=2, ensure_ascii=False) + "\n"


def _without_defaults(artifact: dict[str, Any]) -> None:
    """Removes the contract of an artifact that has none, and of its inputs what does not concern them."""
    if artifact["contract"] is None:
        del artifact["contract"]
        return
    for entry in artifact["contract"]["inputs"]:
        for name in ("range", "normalised_by", "file", "max_length", "pad_to"):
            if not entry[name]:
                del entry[name]


def from_json(text: str, where: str) -> Manifest:
    """Parses and type-checks a manifest; `where`: its file, for messages.

    Raises BundleError with the first field that does not fit.
    """
    try:
        raw = parse(text, unique=True)
    except JsonError as error:
        raise BundleError(f"{where}: {error}: export the bundle again") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("schema_version"), int):
        raise BundleError(f"{where}: no schema_version: this is not a bundle manifest")
    if raw["schema_version"] not in READABLE:
        raise BundleError(
            f"{where}: schema version {raw['schema_version']}, this program reads {READABLE[0]} to "
            f"{READABLE[-1]}: update it, or export again"
        )
    try:
        manifest: Manifest = read_as(Manifest, raw, "manifest")
        _check_relations(manifest)
    except ValueError as error:
        raise BundleError(f"{where}: {error}: export the bundle again") from None
    return manifest


def _check_relations(manifest: Manifest) -> None:
    """Checks what the fields' own types do not say. Raises ValueError with the field."""
    if manifest.preprocessing is not None:
        _check_pixels(manifest.preprocessing)
    if manifest.language is not None and "refine" not in manifest.prompts:
        raise ValueError("prompts: must have 'refine'")
    untrained = [c.role for c in manifest.components if c.role.startswith("dpe_") and not c.trained]
    if manifest.channels and untrained:
        raise ValueError(f"channels: {untrained[0]} is not trained: its vectors would find nothing")
    for artifact in manifest.artifacts:
        golden = artifact.contract.golden if artifact.contract else None
        for name in (*golden.inputs.values(), golden.want, golden.texts) if golden else ():
            if name and not manifest.has_file(name):
                raise ValueError(f"artifacts: {artifact.role}'s golden file {name[:60]!r} is not in files")
        for tensor in (*artifact.inputs, *artifact.outputs):
            sizes = [size for size in tensor.shape if isinstance(size, int)]
            if min(sizes, default=0) < 0 or math.prod(sizes) > MAX_ELEMENTS:
                raise ValueError(f"artifacts: {tensor.name[:60]!r} has sizes outside 0..{MAX_ELEMENTS}")


def _check_pixels(pixels: Preprocessing) -> None:
    if pixels.resize < pixels.crop:
        raise ValueError("preprocessing.resize: must be at least preprocessing.crop")
    if any(len(x) not in (0, 3) for x in (pixels.channel_mean, pixels.channel_std)):
        raise ValueError("preprocessing.channel_mean, channel_std: must be three numbers each, or none")


def picture_pixels(bundle: Path, manifest: Manifest) -> Preprocessing:
    """How a photo becomes what the language model sees. Raises BundleError for one that sees nothing."""
    if not manifest.has_file(PICTURE_FILE):
        raise BundleError(
            f"bundle {manifest.recipe}: its language model sees no pictures: export one that does, such as "
            "SmolVLM (gamer export -m DIR)"
        )
    path = check_one(bundle, manifest.file(PICTURE_FILE))
    try:
        pixels: Preprocessing = read_as(Preprocessing, read_json(path), PICTURE_FILE)
        _check_pixels(pixels)
        return pixels
    except ValueError as error:
        raise BundleError(f"{path}: {error}: export the bundle again") from None


def inside(bundle: Path, relative: str) -> Path:
    """`bundle / relative`. Raises BundleError for a path that leaves the bundle: manifests are untrusted."""
    pure = PurePosixPath(relative)
    path = bundle.joinpath(*pure.parts)
    if (
        "\0" in relative
        or pure.is_absolute()
        or ".." in pure.parts
        or not path.resolve().is_relative_to(bundle.resolve())
    ):
        raise BundleError(f"{bundle / MANIFEST_NAME}: path {relative!r} leaves the bundle")
    return path


_BLOCK = 1 << 24  # bytes: after each, a thread waits for Python's lock


def digest(path: Path) -> tuple[int, str]:
    """(size in bytes, SHA-256 in hex) of a file or a directory.

    The hash of a directory is over the relative names and the contents of its files, in sorted order.
    """
    sha, total = hashlib.sha256(), 0
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        if path.is_dir():
            sha.update(file.relative_to(path).as_posix().encode() + b"\0")
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                sha.update(block)
                total += len(block)
    return total, sha.hexdigest()


def read(bundle: Path) -> Manifest:
    """The manifest of a bundle directory; its files are not checked. Raises BundleError."""
    path = bundle / MANIFEST_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BundleError(
            f"{bundle}: no {MANIFEST_NAME} here: give the directory that `gamer export` wrote"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BundleError(f"{path}: cannot be read ({error})") from None
    return from_json(text, str(path))


def check_one(bundle: Path, entry: Artifact | DataFile | PrefixFile) -> Path:
    """The path of a file that the manifest names, once its size and hash are checked.

    Raises BundleError if the file is missing or differs.
    """
    path = inside(bundle, entry.path)
    if not path.exists():
        raise BundleError(
            f"{path}: missing, though the manifest names it: copy the whole bundle, or export it again"
        )
    size, sha = digest(path)
    if size != entry.bytes or sha != entry.sha256:
        promised = f"{entry.bytes} and {entry.sha256[:12]}…"
        raise BundleError(
            f"{path}: {size} bytes, SHA-256 {sha[:12]}…; the manifest promises {promised}: it changed since "
            "export, export again"
        )
    return path


def check_files(bundle: Path, manifest: Manifest) -> None:
    """Checks the files that are not artifacts (tokenizers, labels, gazetteer, fixtures).

    Raises BundleError.
    """
    for entry in manifest.files:
        check_one(bundle, entry)


def check(bundle: Path, manifest: Manifest) -> None:
    """Checks every file that the manifest names. Raises BundleError for the first that differs from it."""
    for entry in manifest.entries:
        check_one(bundle, entry)
