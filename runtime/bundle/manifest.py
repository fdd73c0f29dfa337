"""The bundle's manifest: what travels to a phone, with sizes, hashes and proof. Reads, writes and checks;
runs nothing.

A bundle is a directory with `manifest.json` (this file's `Manifest` as JSON, `schema_version` first), the
artifacts it names, tokenizer files, `labels.json`, `gazetteer.sqlite` and `fixtures/`. `load` checks schema,
sizes and SHA-256 before anything else touches a file.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import BundleError
from .json_decode import read_as

SCHEMA_VERSION = 2
READABLE = (1, 2)  # 1: no fixtures of every component, and parity does not say whose kernels were asked
MANIFEST_NAME = "manifest.json"
NOT_RUN = "not run on this platform"


@dataclass(frozen=True)
class TensorSpec:
    """One input or output: `shape` holds integers, or names for dimensions that may vary; `dtype` is numpy's
    name.
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: str


@dataclass(frozen=True)
class Parity:
    """How close an artifact's outputs are to the fp32 torch model's on the same inputs.

    `status`: "passed", or NOT_RUN where the target cannot be executed here (then no figure is given).
    `metric` is "cosine" (worst input in `minimum`, all inputs in `mean`) or "top1" (share of positions of a
    fixed text whose likeliest token is the same; cosine of the hidden state in `minimum` and `mean`).
    `executed_by`: "onnxruntime", "executorch", "Core ML", "MIL interpreter"; "" in bundles from before it was
    said. Of what was NOT_RUN it says what was checked instead. `kernels`: engine, version and processor
    features (processor.kernels) that the figures hold for; elsewhere the bundle's fixtures are run again
    before it is trusted (selfcheck.py).
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


@dataclass(frozen=True)
class Artifact:
    """One file (or one directory: an .mlpackage, ONNX with its weights beside) for one component and one
    target.

    `export_seconds`, `export_peak_bytes`: what making and proving it took; 0 bytes where that was not
    counted.
    """

    role: str
    target: str
    quant: str
    path: str
    bytes: int
    sha256: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    parity: Parity
    export_seconds: float
    export_peak_bytes: int = 0


@dataclass(frozen=True)
class Component:
    """One network of the recipe.

    `macs` counts multiply-adds of the fp32 module on `macs_per`; `trained` is False for random weights.
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
    """Pixels → tensor: shorter side to `resize` (antialiased), centre crop `crop`, (x - mean) / std inside
    the graph, of pixels in 0..255.

    `channel_mean`, `channel_std`: the same by channel, where the channels differ (then `mean` and `std` are
    their means). `fit`: "cut", whole pixels of the picture's centre are cut out and resized; "crop", exactly
    the centre of the whole picture's resize, as Hugging Face's processors have it; "squash", both sides
    become `crop`, whatever the picture's shape.
    """

    resize: int
    crop: int
    interpolation: str
    mean: float
    std: float
    channel_mean: tuple[float, ...] = ()
    channel_std: tuple[float, ...] = ()
    fit: str = "cut"


@dataclass(frozen=True)
class Language:
    """What the decoder needs beside its graph: sizes of the KV cache, rotary base, and the ids that stop
    generation.

    `rope_theta` 0: nothing rotates. `window`: what the local layers see, rotated with `rope_theta_local`; 0
    without such layers. `buckets`, `distance`: T5's relative positions. `start_id`: what an encoder-decoder's
    answer begins with; None for a decoder alone.
    """

    layers: int
    kv_heads: int
    head_dim: int
    hidden: int
    max_seq: int
    rope_theta: float
    eos_ids: tuple[int, ...]
    window: int = 0
    rope_theta_local: float = 0.0
    buckets: int = 0
    distance: int = 0
    start_id: int | None = None


@dataclass(frozen=True)
class Thresholds:
    """δ of layer 2, ρ of the router (paper Eq.

    1), K hits. `delta_from` says how δ was calibrated for this text encoder.
    """

    delta: float
    rho: float
    k: int
    delta_from: str


@dataclass(frozen=True)
class Ranking:
    """The weights of the fused score (ranking.py), in log-odds. `fitted`: on what, and how.

    text, image: a unit of cosine of the channel. words: a unit of BM25. coverage: all of the query's words
    held. context_words, context_coverage: the same of the messages around a message. entity: a node over δ as
    similar as can be. cue: a nat of evidence. here, here_cosine, here_coverage, here_cue: the logistic that
    says whether the album holds what is meant at all.
    """

    text: float = 7.6
    image: float = 4.6
    words: float = 0.16
    coverage: float = 1.34
    context_words: float = 0.063
    context_coverage: float = 4.58
    entity: float = 1.51
    cue: float = 0.84
    here: float = -4.19
    here_cosine: float = 10.14
    here_coverage: float = 2.93
    here_cue: float = 0.55
    fitted: str = (
        "listwise softmax likelihood (`gamer bench fit`, bench/results/ranking-fit.json) on camroll-mpr, "
        "lihua and locomo, the three weighing the same and each user within one; image is text's weight "
        "times 0.6, set by eye; here*: logistic, users' own queries against queries put to another user's "
        "album, at odds of 4 to 1"
    )


@dataclass(frozen=True)
class DataFile:
    """A file of the bundle that is not an artifact: tokenizer, labels, gazetteer, fixture, notice."""

    name: str
    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class PrefixFile:
    """The decoder's cache of a prompt's fixed beginning (.npy); read when first used. `made_from`: see
    prefix.py.
    """

    prompt: str
    target: str
    tokens: int
    made_from: str
    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """Everything that a bundle promises. Field order is the JSON's order.

    `preprocessing`: None without an image tower. `language`: None without a language model. `settings`: what
    the export was asked for, as text. `random_parts`: what was filled with random numbers on demand: such a
    bundle finds nothing, and searches refuse it unless told.
    """

    schema_version: int
    recipe: str
    quant: str
    text_encoder: str
    image_encoder: str
    dim: int
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

    def component(self, role: str) -> Component:
        found: Component = _only([c for c in self.components if c.role == role], f"component {role!r}")
        return found

    def artifact(self, role: str, target: str) -> Artifact:
        """The artifact of `role` for `target`. Raises BundleError with the targets that the bundle has."""
        found = [a for a in self.artifacts if a.role == role and a.target == target]
        if not found:
            have = sorted({a.target for a in self.artifacts})
            raise BundleError(
                f"bundle has no {target} artifact for {role}; it holds {', '.join(have)}: export again with "
                f"--targets {target}"
            )
        return found[0]

    def prompt(self, name: str) -> str:
        """The prompt template called `name`. Raises BundleError for a bundle that has none."""
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
        """How photos become the image tower's input. Raises BundleError for a bundle without one."""
        if self.preprocessing is None:
            raise BundleError(f"bundle {self.recipe} has no image tower: export a recipe that has one")
        return self.preprocessing

    def golden(self, role: str) -> dict[str, DataFile]:
        """The golden arrays of a component by name (`want` is what fp32 torch gave): fixtures/ROLE.NAME.npy,
        or of its family's.
        """
        mine = (f"fixtures/{role}.", f"fixtures/{role.split('_', 1)[0]}.")
        return {
            f.name.split(".")[-2]: f
            for f in self.files
            if f.name.startswith(mine) and f.name.endswith(".npy")
        }

    def has_file(self, name: str) -> bool:
        return any(f.name == name for f in self.files)

    def file(self, name: str) -> DataFile:
        found: DataFile = _only([f for f in self.files if f.name == name], f"file {name!r}")
        return found


def _only(found: list[Any], what: str) -> Any:
    if len(found) != 1:
        raise BundleError(f"bundle manifest names no {what}: export it again")
    return found[0]


def to_json(manifest: Manifest) -> str:
    """Stable JSON text (2-space indent, field order kept, newline at the end)."""
    raw = dataclasses.asdict(manifest)
    for name in ("prefixes", "ranking", "settings", "random_parts"):
        if not raw[name]:
            del raw[name]  # a bundle from before there were any is written as it was read
    for part, kind in (("language", Language), ("preprocessing", Preprocessing)):
        for field in dataclasses.fields(kind) if raw[part] else ():
            if field.default is not dataclasses.MISSING and raw[part][field.name] == field.default:
                del raw[part][field.name]
    for artifact in raw["artifacts"]:
        for name in ("executed_by", "kernels"):
            if not artifact["parity"][name]:
                del artifact["parity"][name]
        if not artifact["export_peak_bytes"]:
            del artifact["export_peak_bytes"]
    return json.dumps(raw, indent=2, ensure_ascii=False) + "\n"


def from_json(text: str, where: str) -> Manifest:
    """Parses and type-checks a manifest. Raises BundleError naming the first field that does not fit."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{where}: not JSON ({str(error)[:80]})") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("schema_version"), int):
        raise BundleError(f"{where}: no schema_version: this is not a bundle manifest")
    if raw["schema_version"] not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise BundleError(
            f"{where}: schema version {raw['schema_version']}, this program reads {known}: update it, or "
            "export again"
        )
    try:
        manifest: Manifest = read_as(Manifest, raw, "manifest")
        _within(manifest)
    except ValueError as error:
        raise BundleError(f"{where}: field {error}: export the bundle again") from None
    return manifest


def artifact_from(raw: Any) -> Artifact:
    """One artifact's JSON object, type-checked. Raises ValueError."""
    found: Artifact = read_as(Artifact, raw, "artifact")
    return found


def _within(manifest: Manifest) -> None:
    """Bounds on what a reader allocates by the manifest's word. Raises ValueError naming the field."""
    p, s = manifest.preprocessing, manifest.language
    bounds: dict[str, tuple[int, int, int]] = {
        "thresholds.k": (manifest.thresholds.k, 1, 1000),
        "dim": (manifest.dim, 1, 65_536),
    }
    if p is not None:
        bounds |= {"preprocessing.crop": (p.crop, 1, 2048), "preprocessing.resize": (p.resize, p.crop, 4096)}
    if s is not None:
        bounds |= {
            "language.layers": (s.layers, 1, 512),
            "language.kv_heads": (s.kv_heads, 1, 512),
            "language.head_dim": (s.head_dim, 2, 1024),
            "language.hidden": (s.hidden, 1, 65_536),
            "language.max_seq": (s.max_seq, 1, 1 << 17),
            "language.window": (s.window, 0, 1 << 20),
            "language.buckets": (s.buckets, 0, 1024),
            "language.distance": (s.distance, 0, 1 << 20),
        }
    for name, (value, least, most) in bounds.items():
        if not least <= value <= most:
            raise ValueError(f"{name}: {value} outside {least}..{most}")
    if p is not None and (
        any(len(x) not in (0, 3) for x in (p.channel_mean, p.channel_std))
        or any(x <= 0 for x in p.channel_std)
    ):
        raise ValueError(
            "preprocessing.channel_mean, channel_std: three numbers each are wanted, deviations above zero"
        )
    if s is not None and "refine" not in manifest.prompts:
        raise ValueError("prompts: refine missing")
    if any(not t.shape for a in manifest.artifacts for t in (*a.inputs, *a.outputs)):
        raise ValueError("artifacts: a tensor without a shape")


def inside(bundle: Path, relative: str) -> Path:
    """`bundle / relative`, refusing a path that leaves the bundle (manifests are hostile input)."""
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


def digest(path: Path) -> tuple[int, str]:
    """(bytes, SHA-256 hex) of a file; of a directory, over its files' relative names and contents in sorted
    order.
    """
    sha, total = hashlib.sha256(), 0
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        if path.is_dir():
            sha.update(file.relative_to(path).as_posix().encode() + b"\0")
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                sha.update(block)
                total += len(block)
    return total, sha.hexdigest()


def read(bundle: Path) -> Manifest:
    """Manifest of a bundle directory, parsed but with no file checked. Raises BundleError."""
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
    """The path of one file of the manifest, after its size and hash were checked. Raises BundleError."""
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
    """Checks every file that the manifest names. Raises BundleError for the first that is not as promised."""
    check_files(bundle, manifest)
    for artifact in manifest.artifacts:
        check_one(bundle, artifact)
    for prefix in manifest.prefixes:
        check_one(bundle, prefix)
