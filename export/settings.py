"""The settings of an export as the user gave them: recipe, quantization, sources and sizes.

They are sent to the worker processes and written into the manifest.
"""

from __future__ import annotations

import dataclasses
import os
import re
from dataclasses import dataclass
from pathlib import Path

from gamer.runtime.bundle import manifest as mf

from .capabilities import writer
from .checkpoints import catalogue
from .errors import ExportError
from .recipe import (
    CALIBRATED,
    LLM_ROLES,
    NO_RULES,
    PACKAGED,
    PARTS,
    QUANTS,
    ROLES,
    STATIC,
    TARGETS,
    Recipe,
    Threshold,
    WeightsRules,
    recipe,
)

JOBS = min(2, os.cpu_count() or 1)  # workers of an export, unless it is told otherwise

GROUP_SIZES = writer("onnx").blocks  # the others have some of them
ONNX_FORMATS = ("onnx", "ort")
DEPLOYMENT_TARGETS = ("iOS17", "iOS18")
COREML_CACHES = ("tensors", "state")
COREML_LAYOUTS = ("rows", "ane")
KV_CACHES = ("fp32", "fp16", "int8")
LAYOUTS = {mf.GENAI: "onnx", mf.RUNNER: "executorch"}  # layout → the target that it is a copy of
_ADAPTER = re.compile(r"[A-Za-z0-9][\w-]{0,63}", re.ASCII)
EXECUTORCH_BACKENDS = ("xnnpack", "coreml", "vulkan")


@dataclass(frozen=True)
class Settings:
    """The settings of one export.

    `quant`: the requested quantization; a recipe may replace it for a role (`quant_of`). `sources`: (part,
    source) pairs, see checkpoints/checkpoint.py. `keep`: (part of a tensor's name, quantization) pairs that
    override `quant`; see parse_keep. `group_size`: weights that share a scale in int4. `max_seq`: cache slots
    of the decoder, 0 for the recipe's. `image_input`: "prepared" (float pixels of the tower's size) or "any"
    (uint8 RGB of any size, resized in the graph; ONNX only). `coreml_cache`: how the Core ML decoder passes
    its cache, as "tensors" (inputs and outputs) or as "state" (see coreml/stateful.py). `onnx_format`: the
    file format of the target "onnx"; "ort" is ONNX Runtime's flatbuffer. `opset`: the ONNX operator set.
    `deployment_target`: the oldest system that Core ML programs run on. `calibrate`: a folder of photographs
    for static int8, "" for those that packages contain. `executorch_backend`: the backend that ExecuTorch
    lowers to. `parts`: the requested parts of the recipe; empty for the usual ones. `bars`: (role, its least
    parity) pairs that override the thresholds of recipe and quantization. `languages`: the codes of those
    whose queries the bundle is to understand by glosses; `dictionaries`: (language, file) pairs that replace
    the installed ones (glosses/sources.py). `layout`: of LAYOUTS, for copies of the language model that
    other runtimes open (onnx/genai.py, executorch/runner.py). `kv_cache`: the type of the
    decoder's keys and values, for ONNX, and int8 for ExecuTorch, too. `adapters`: (name, PEFT's directory)
    pairs; see `adapts`.
    `coreml_layout`: of the transformers of Core ML's towers, "rows" [B, S, W] or "ane"
    (networks/channels_first.py).
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
    bars: tuple[tuple[str, Threshold], ...] = ()
    languages: tuple[str, ...] = ()
    dictionaries: tuple[tuple[str, str], ...] = ()
    layout: tuple[str, ...] = ()
    kv_cache: str = "fp32"
    coreml_layout: str = "rows"
    adapters: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Raises ExportError for an unsupported value, and for a recipe without a source of weights."""
        chosen = recipe(self.recipe)
        if self.parts:
            chosen.only(self.parts)
        if self.quant not in (known := (*QUANTS, CALIBRATED, *STATIC)):
            raise ExportError(f"unknown quantization {self.quant!r}; choose one of: {', '.join(known)}")
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
        if self.coreml_layout not in COREML_LAYOUTS:
            raise ExportError(f"Core ML layout {self.coreml_layout!r}: choose {' or '.join(COREML_LAYOUTS)}")
        if self.kv_cache not in KV_CACHES:
            raise ExportError(f"KV cache {self.kv_cache!r}: choose one of: {', '.join(KV_CACHES)}")
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
        """The recipe, limited to the requested parts; without a request, to those that are usual."""
        full = recipe(self.recipe)
        return full.only(self.parts or full.usual())

    @property
    def slots(self) -> int:
        """Cache slots of the decoder."""
        return self.max_seq or self.chosen.max_seq

    def source(self, part: str) -> str | None:
        """The source that the user gave for `part`; None for the recipe's default."""
        return dict(self.sources).get(part)

    def model(self, part: str) -> str | None:
        """The name of `part`'s model in checkpoints/catalogue.py.

        None if the recipe takes any model for `part`, or does not have the part.
        """
        names = {
            "image": self.chosen.image,
            "text": self.chosen.text,
            "llm": self.chosen.llm,
            "faces": self.chosen.faces,
            "ocr": self.chosen.ocr,
        }
        name = names.get(part, "*")  # the experts have no model of their own
        return None if name in ("*", "") else name

    def quant_of(self, role: str, target: str) -> str:
        """The quantization of `role` on `target`; for ExecuTorch, by the rules of its backend."""
        rules = (
            self.executorch_backend
            if target == "executorch" and self.executorch_backend != "xnnpack"
            else target
        )
        used = self.chosen.quant_of(role, rules, self.quant, self.weights_rules)
        return "int8" if used in STATIC and target == "executorch" else used

    def adapts(self, target: str) -> bool:
        """Whether a decoder for `target` can be switched to adapters: ONNX's, and Core ML's with states."""
        return target == "onnx" or (target == "coreml" and self.coreml_cache == "state")

    def cache_of(self, target: str) -> str:
        """The type, one of KV_CACHES, of the keys and values that a decoder for `target` takes."""
        coded = target == "executorch" and self.kv_cache == "int8" and self.executorch_backend == "xnnpack"
        return self.kv_cache if target == "onnx" or coded else KV_CACHES[0]

    @property
    def weights_rules(self) -> WeightsRules:
        """The rules of the language model's packaged weights; none for weights that the user brings."""
        packaged = None if self.source("llm") else self.model("llm")
        return PACKAGED.get(packaged or "", NO_RULES)

    def overrides_of(self, role: str, target: str) -> tuple[tuple[str, str], ...]:
        """(part of a tensor's name, quantization) pairs of a component: the command's, then the recipe's.

        Those of the command that name another component or target are left out, and the names of this one
        are taken off.
        """
        own = ((without_place(name), quant) for name, quant in self.keep if concerns(name, role, target))
        bits = "int4" if self.quant == CALIBRATED else self.quant
        return *own, *self.weights_rules.keep.get(bits, ())

    def threshold(self, quant: str, role: str) -> Threshold:
        """The parity that `role` must reach in `quant`: the user's, else that of weights, recipe or `quant`.

        A quantized language model with random weights has no top-1 threshold: its likeliest token is a matter
        of chance.
        """
        if role in dict(self.bars):
            return dict(self.bars)[role]
        required = self.chosen.threshold(quant, role, self.weights_rules)
        quantized = quant not in ("fp32", "fp16")
        return (
            Threshold(required.cosine)
            if quantized and role in LLM_ROLES and "llm" in self.random_parts
            else required
        )

    @property
    def random_parts(self) -> tuple[str, ...]:
        """The parts that the user requested with random weights.

        The DPE is not listed: its weights are random unless a checkpoint is given, because no trained ones
        are published.
        """
        return tuple(
            part
            for part, source in self.sources
            if catalogue.is_random(source) and part in self.chosen.parts() and part != "dpe"
        )

    def to_strings(self) -> dict[str, str]:
        """Field → text, for the manifest.

        A local path is reduced to its last component, so that a bundle reveals nothing about the machine that
        made it.
        """
        raw = dataclasses.asdict(self)
        raw["sources"] = ",".join(
            f"{part}={Path(s).name if Path(s).exists() else s}" for part, s in self.sources
        )
        raw["calibrate"] = self.calibrate and Path(self.calibrate).resolve().name
        raw["parts"] = ",".join(self.parts)
        raw["keep"] = ",".join(f"{name}={quant}" for name, quant in self.keep)
        raw["bars"] = ",".join(
            f"{role}={bar.cosine:g}" + ("" if bar.top1 is None else f"/{bar.top1:g}")
            for role, bar in self.bars
        )
        raw["languages"] = ",".join(self.languages)
        raw["layout"] = ",".join(self.layout)
        raw["adapters"] = ",".join(f"{name}={Path(folder).resolve().name}" for name, folder in self.adapters)
        del raw["dictionaries"]  # paths of this machine
        for name in ("languages", "layout", "kv_cache", "coreml_layout", "adapters"):
            if raw[name] in ("", KV_CACHES[0], COREML_LAYOUTS[0]):
                del raw[name]  # so that a bundle without them is written as before
        return {name: str(value) for name, value in raw.items()}


def from_strings(raw: dict[str, str], sources: tuple[tuple[str, str], ...] = ()) -> Settings:
    """The settings of a manifest; `sources` replaces its sources of the same parts. Raises ExportError."""
    try:
        values = (
            {f.name: str(f.default) for f in dataclasses.fields(Settings)}
            | dict.fromkeys(("sources", "keep", "parts", "bars", "languages", "layout"), "")
            | raw
        )
        named_sources = dict(_pairs(values["sources"])) | dict(sources)
        return Settings(
            recipe=values["recipe"],
            quant=values["quant"],
            sources=tuple(named_sources.items()),
            keep=_pairs(values["keep"]),
            group_size=int(values["group_size"]),
            max_seq=int(values["max_seq"]),
            image_input=values["image_input"],
            trust_pickle=values["trust_pickle"] == "True",
            coreml_cache=values["coreml_cache"],
            onnx_format=values["onnx_format"],
            opset=int(values["opset"]),
            deployment_target=values["deployment_target"],
            calibrate=values["calibrate"],
            executorch_backend=values["executorch_backend"],
            parts=parse_parts(values["parts"]),
            bars=parse_bars(tuple(filter(None, values["bars"].split(",")))),
            languages=tuple(filter(None, values["languages"].split(","))),
            layout=tuple(filter(None, values["layout"].split(","))),
            kv_cache=values["kv_cache"],
            coreml_layout=values["coreml_layout"],
        )
    except (KeyError, ValueError) as error:
        raise ExportError(
            f"the manifest's settings cannot be followed ({error}): export the bundle again"
        ) from None


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    pairs = [item.split("=", 1) for item in text.split(",") if item]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{text!r} must be a list of name=value")
    return tuple((name, value) for name, value in pairs)


def parse_adapters(items: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """("style=DIR",) → (("style", "DIR"),). Raises ExportError."""
    pairs = tuple((name, folder) for name, _, folder in (item.partition("=") for item in items))
    for name, folder in pairs:
        if not _ADAPTER.fullmatch(name) or not folder:
            raise ExportError(
                f"--adapter {name[:80]}: must be a name of letters, digits, - and _, and a directory, as in "
                "style=DIR"
            )
    if len(dict(pairs)) < len(pairs):
        raise ExportError("--adapter: two adapters of one name: give each its own")
    return pairs


def parse_parts(text: str) -> tuple[str, ...]:
    """ "text,image" → parts in canonical order; "" → () (the usual). Raises ExportError with the choices."""
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    if unknown := [part for part in wanted if part not in PARTS]:
        raise ExportError(f"unknown part {unknown[0]!r}; choose from: {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in wanted)


def parse_keep(text: str) -> tuple[tuple[str, str], ...]:
    """ "qkv,head=int8,down=int4/64" → (("qkv", "int8"), ("head", "int8"), ("down", "int4/64")).

    A name may have the component, and before it the target, that it is meant for: "onnx/text_tower/up".
    Raises ExportError.
    """
    pairs, waiting = list[tuple[str, str]](), list[str]()
    for item in text.split(",") if text else ():
        name, equals, quant = item.partition("=")
        waiting.append(name)
        if equals:
            pairs += [(each, quant) for each in waiting]
            waiting = []
    if waiting or not all(_is_name(name) and _is_quant(quant) for name, quant in pairs):
        raise ExportError(f"{text!r}: say which tensors keep which quantization, as in --keep qkv,head=int8")
    return tuple(pairs)


def _is_name(name: str) -> bool:
    *place, last = name.split("/")
    inside = all(part.isidentifier() or part.isdecimal() for part in last.split("."))
    return inside and all(part in (*TARGETS, *ROLES) for part in place)


def _is_quant(quant: str) -> bool:
    name, slash, size = quant.partition("/")
    return name in (*QUANTS, "8da4w") and (not slash or size in map(str, GROUP_SIZES))


def concerns(name: str, role: str, target: str) -> bool:
    """Whether a name of --keep is meant for a component, of which it may say role and target."""
    return set(name.split("/")[:-1]) <= {role, target}


def without_place(name: str) -> str:
    """A name of --keep without the component and the target before it: "text_tower/up" → "up"."""
    return name.rpartition("/")[2]


def parse_bars(items: tuple[str, ...]) -> tuple[tuple[str, Threshold], ...]:
    """ "llm_decoder=0.9/0.8" → (("llm_decoder", Threshold(0.9, 0.8)),). Raises ExportError."""
    bars: dict[str, Threshold] = {}
    for item in items:
        role, _, text = item.partition("=")
        if role not in ROLES:
            raise ExportError(f"--min-parity {item}: no component {role!r}; choose from: {', '.join(ROLES)}")
        bars[role] = _bar(item, text)
    return tuple(bars.items())


def parse_common(items: tuple[str, ...]) -> Threshold | None:
    """The last of `items` that names no component, "0.995" or "0.9/0.8"; None without one."""
    common = [item for item in items if "=" not in item]
    return _bar(common[-1], common[-1]) if common else None


def _bar(item: str, text: str) -> Threshold:
    try:
        numbers = [float(part) for part in text.split("/")]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= 2 or not all(0 < x <= 1 for x in numbers):
        raise ExportError(
            f"--min-parity {item}: must be a cosine above 0 and at most 1, for a decoder also a share "
            "of likeliest tokens, as in llm_decoder=0.9/0.8"
        )
    return Threshold(*numbers)


def parse_sources(name: str, model: str | None, weights: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """`-m SOURCE` and `--weights [PART=]SOURCE` → (part, source) pairs.

    A source without a part applies to every part except dpe, faces and ocr. Raises ExportError for an unknown
    recipe, for an unknown part, and for `-m` with a recipe of several models.
    """
    chosen = recipe(name)
    parts = [part for part in chosen.usual() if part != "dpe"]
    source_of: dict[str, str] = {}
    if model is not None:
        if len({chosen.image, chosen.text, chosen.llm} - {""}) > 1:
            raise ExportError(
                f"recipe {name} is made of several models: say which part {model} is, as in --weights "
                f"{parts[-1]}={model}"
            )
        source_of |= dict.fromkeys(parts, model)
    for item in weights:
        part, equals, source = item.partition("=")
        if equals and part in PARTS:
            source_of[part] = source
        elif equals and part.isidentifier() and Path(source).exists() and not Path(item).exists():
            raise ExportError(f"--weights {item}: {part!r} must be one of the parts {', '.join(PARTS)}")
        else:
            source_of |= dict.fromkeys(parts, item)
    return tuple(source_of.items())


def recipe_for(config: catalogue.Config) -> str:
    """The name of the recipe that accepts such a checkpoint: "towers", "mobileclip", "sentence" or "llm"."""
    if catalogue.is_sentence_encoder(config):
        return "sentence"
    return {"clip": "towers", "siglip": "towers", "mobileclip": "mobileclip"}.get(
        str(config.get("model_type")), "llm"
    )
