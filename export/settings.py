"""What the user asked of an export: recipe, quantization, sources and sizes. Travels to the worker processes
and into the manifest.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from .checkpoints import catalogue
from .errors import ExportError
from .recipe import LLM_ROLES, PARTS, QUANTS, Recipe, Threshold, recipe

GROUP_SIZES = (16, 32, 64, 128, 256)
ONNX_FORMATS = ("onnx", "ort")
DEPLOYMENT_TARGETS = ("iOS17", "iOS18")
COREML_CACHES = ("tensors", "state")
EXECUTORCH_BACKENDS = ("xnnpack", "coreml", "vulkan")


@dataclass(frozen=True)
class Settings:
    """`sources`: (part, source) pairs, see checkpoint.py. `keep`: (part of a tensor's name, quantization)
    pairs that override `quant`.

    `max_seq`: cache slots of the decoder, 0 for the recipe's. `image_input`: "prepared" (float pixels of the
    tower's size) or "any" (uint8 RGB of any size, resized in the graph; ONNX only). `coreml_cache`: the Core
    ML decoder's, "tensors" in and out, or "state" (see stateful.py). `onnx_format`: of the target "onnx";
    "ort" is ONNX Runtime's flatbuffer. `opset`: ONNX's operator set. `deployment_target`: the oldest system
    that Core ML's programs run on. `calibrate`: a folder of photographs for static int8, "" for those that
    packages carry. `executorch_backend`: what ExecuTorch lowers to. `parts`: those of the recipe that are
    asked for; none: all.
    """

    recipe: str
    quant: str = "int8"
    sources: tuple[tuple[str, str], ...] = ()
    keep: tuple[tuple[str, str], ...] = ()
    group_size: int = 32
    max_seq: int = 0
    image_input: str = "prepared"
    trust_pickle: bool = False
    coreml_cache: str = "tensors"
    onnx_format: str = "onnx"
    opset: int = 20
    deployment_target: str = "iOS18"
    calibrate: str = ""
    executorch_backend: str = "xnnpack"
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raises ExportError for what no export can follow."""
        chosen = recipe(self.recipe)
        if self.parts:
            chosen.only(self.parts)
        if self.quant not in QUANTS:
            raise ExportError(f"unknown quantization {self.quant!r}; choose one of: {', '.join(QUANTS)}")
        for part, _ in self.sources:
            if part not in chosen.parts():
                raise ExportError(
                    f"recipe {self.recipe} has no part {part!r}; it has: {', '.join(chosen.parts())}"
                )
        if self.group_size not in GROUP_SIZES:
            raise ExportError(
                f"group size {self.group_size}: choose one of: {', '.join(map(str, GROUP_SIZES))}"
            )
        if self.image_input not in ("prepared", "any"):
            raise ExportError(f"image input {self.image_input!r}: choose prepared or any")
        if self.coreml_cache not in COREML_CACHES:
            raise ExportError(f"Core ML cache {self.coreml_cache!r}: choose {' or '.join(COREML_CACHES)}")
        if self.onnx_format not in ONNX_FORMATS:
            raise ExportError(f"ONNX format {self.onnx_format!r}: choose one of: {', '.join(ONNX_FORMATS)}")
        if self.deployment_target not in DEPLOYMENT_TARGETS:
            raise ExportError(
                f"deployment target {self.deployment_target!r}: choose one of: "
                f"{', '.join(DEPLOYMENT_TARGETS)}"
            )
        if self.executorch_backend not in EXECUTORCH_BACKENDS:
            raise ExportError(
                f"unknown ExecuTorch backend {self.executorch_backend!r}; choose one of: "
                f"{', '.join(EXECUTORCH_BACKENDS)}"
            )
        if any(
            part != "dpe" and self.source(part) is None and self.model(part) is None
            for part in self.chosen.parts()
        ):
            raise ExportError(
                f"recipe {self.recipe} has no weights of its own: give -m with a directory, a .gguf file or "
                "a hub id"
            )

    @property
    def chosen(self) -> Recipe:
        """The recipe, or those of its parts that are asked for."""
        whole = recipe(self.recipe)
        return whole.only(self.parts) if self.parts else whole

    @property
    def slots(self) -> int:
        """Cache slots of the decoder."""
        return self.max_seq or self.chosen.max_seq

    def source(self, part: str) -> str | None:
        """Where the user wants `part` from; None for the recipe's own source."""
        return dict(self.sources).get(part)

    def model(self, part: str) -> str | None:
        """The name of `part`'s model in models.py; None where the recipe takes any model, or has no such
        part.
        """
        name = {"image": self.chosen.image, "text": self.chosen.text, "llm": self.chosen.llm}[part]
        return None if name in ("*", "") else name

    def quant_of(self, role: str, target: str) -> str:
        """The quantization that `role` gets on `target`: ExecuTorch's backends differ as targets do."""
        rules = (
            self.executorch_backend
            if target == "executorch" and self.executorch_backend != "xnnpack"
            else target
        )
        return self.chosen.quant_of(role, rules, self.quant)

    @property
    def kept(self) -> tuple[tuple[str, str], ...]:
        """What the command keeps, before what the recipe does."""
        return *self.keep, *self.chosen.keep.get(self.quant, ())

    def threshold(self, quant: str, role: str) -> Threshold:
        """The parity that `role` must reach in `quant`.

        The likeliest token of random numbers is a matter of chance: none is asked of them.
        """
        held = self.chosen.threshold(quant, role)
        rounded = quant not in ("fp32", "fp16")
        return (
            Threshold(held.cosine) if rounded and role in LLM_ROLES and "llm" in self.random_parts else held
        )

    @property
    def random_parts(self) -> tuple[str, ...]:
        """The parts that the user asked to be random numbers.

        (The DPE always is: nobody has published trained ones.)
        """
        return tuple(
            part
            for part, source in self.sources
            if source.partition(":")[0] == "random" and part in self.chosen.parts()
        )

    def to_strings(self) -> dict[str, str]:
        """For the manifest: field → text.

        A local path is cut to its name: a bundle tells nothing of the machine that made it.
        """
        raw = dataclasses.asdict(self)
        raw["sources"] = ",".join(
            f"{part}={Path(s).name if Path(s).exists() else s}" for part, s in self.sources
        )
        raw["calibrate"] = self.calibrate and Path(self.calibrate).resolve().name
        raw["parts"] = ",".join(self.parts)
        raw["keep"] = ",".join(f"{name}={quant}" for name, quant in self.keep)
        return {name: str(value) for name, value in raw.items()}


def from_strings(raw: dict[str, str], sources: tuple[tuple[str, str], ...] = ()) -> Settings:
    """The settings that a manifest names, with `sources` in place of the same parts'. Raises ExportError."""
    try:
        said = (
            {f.name: str(f.default) for f in dataclasses.fields(Settings)}
            | {"sources": "", "keep": "", "parts": ""}
            | raw
        )
        named = dict(_pairs(said["sources"])) | dict(sources)
        return Settings(
            recipe=said["recipe"],
            quant=said["quant"],
            sources=tuple(named.items()),
            keep=_pairs(said["keep"]),
            group_size=int(said["group_size"]),
            max_seq=int(said["max_seq"]),
            image_input=said["image_input"],
            trust_pickle=said["trust_pickle"] == "True",
            coreml_cache=said["coreml_cache"],
            onnx_format=said["onnx_format"],
            opset=int(said["opset"]),
            deployment_target=said["deployment_target"],
            calibrate=said["calibrate"],
            executorch_backend=said["executorch_backend"],
            parts=parse_parts(said["parts"]),
        )
    except (KeyError, ValueError) as error:
        raise ExportError(
            f"the manifest's settings cannot be followed ({error}): export the bundle again"
        ) from None


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    pairs = [item.split("=", 1) for item in text.split(",") if item]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{text!r} is no list of name=value")
    return tuple((name, value) for name, value in pairs)


def parse_parts(text: str) -> tuple[str, ...]:
    """ "text,image" → parts in canonical order; "" for all that a recipe has. Raises ExportError that lists
    the choices.
    """
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    if unknown := [part for part in wanted if part not in PARTS]:
        raise ExportError(f"unknown part {unknown[0]!r}; choose from: {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in wanted)


def parse_keep(text: str) -> tuple[tuple[str, str], ...]:
    """ "embed,head=int8" → (("embed", "int8"), ("head", "int8")). Raises ExportError."""
    if not text:
        return ()
    names, equals, quant = text.rpartition("=")
    if not equals or quant not in QUANTS or not all(n.isidentifier() for n in names.split(",")):
        raise ExportError(
            f"{text!r}: say which tensors keep which quantization, as in --keep embed,head=int8"
        )
    return tuple((name, quant) for name in names.split(","))


def parse_sources(name: str, model: str | None, weights: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """`-m SOURCE` and `--weights [PART=]SOURCE` → (part, source) pairs. A source without a part is for every
    part that has weights.

    Raises ExportError: `-m` for a recipe of several models, an unknown part.
    """
    chosen = recipe(name)
    parts = [part for part in chosen.parts() if part != "dpe"]
    found: dict[str, str] = {}
    if model is not None:
        if len({chosen.image, chosen.text, chosen.llm} - {""}) > 1:
            raise ExportError(
                f"recipe {name} is made of several models: say which part {model} is, as in --weights "
                f"{parts[-1]}={model}"
            )
        found |= dict.fromkeys(parts, model)
    for item in weights:
        part, equals, source = item.partition("=")
        if equals and part in PARTS:
            found[part] = source
        else:
            found |= dict.fromkeys(parts, item)
    return tuple(found.items())


def recipe_for(config: catalogue.Config) -> str:
    """The recipe that takes any checkpoint of this configuration: "towers", "mobileclip" or "llm"."""
    return {"clip": "towers", "siglip": "towers", "mobileclip": "mobileclip"}.get(
        str(config.get("model_type")), "llm"
    )
