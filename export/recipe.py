"""The table of recipes: the model of each part, the sizes between parts, and the parity thresholds.

An unknown recipe name raises ExportError with the choices.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gamer.runtime import defaults
from gamer.runtime.bundle.manifest import FACE_ROLES as FACE_ROLES
from gamer.runtime.bundle.manifest import OCR_ROLES as OCR_ROLES
from gamer.runtime.bundle.manifest import VISION as VISION

from .errors import ExportError

PARTS = ("image", "text", "dpe", "llm", "faces", "ocr")
# Exported only if they are asked for: faces are personal data of others, too, and what reads text has 31 MB.
OPTIONAL = ("faces", "ocr")
ROLES = (
    "image_tower",
    "text_tower",
    "dpe_router",
    "dpe_expert_0",
    "dpe_expert_1",
    "dpe_expert_2",
    "dpe_query",
    "llm_embed",
    VISION,
    "llm_encoder",
    "llm_decoder",
    "face_detector",
    "face_encoder",
    "ocr_detector",
    "ocr_recogniser",
)
TARGETS = ("onnx", "executorch", "coreml")
QUANTS = ("fp32", "fp16", "int8", "int4", "pal6", "pal4")
CALIBRATED = "gptq"  # asked for, it is int4 whose codes are chosen by what a matrix's inputs are
# Weights in 8 bits, activations in 8 or 16 with calibrated scales, fixed shapes: for NPUs.
STATIC = ("a8w8", "a16w8")


@dataclass(frozen=True)
class DpeShape:
    """Sizes of the Dynamic Projection Experts (paper section 3.3), each with `blocks` transformer blocks.

    `width`: features of a block, and of the router's hidden layer. `seed`: of the random weights. `pooled`:
    whether an expert gets the mean of a photo's patches instead of all.
    """

    experts: int
    blocks: int
    width: int
    heads: int
    seed: int
    pooled: bool = False


@dataclass(frozen=True)
class Threshold:
    """Minimum parity with fp32 torch.

    `cosine`: of the worst fixture. `top1`: share of positions with the same likeliest token (decoder only).
    """

    cosine: float
    top1: float | None = None


# Components of optional parts, which take pictures of their own and stay in floats: whether two faces are of
# one person hangs on a distance, and what a letter is on a maximum, which 8 bits change.
PICTURE_ROLES = FACE_ROLES + OCR_ROLES


def _thresholds(
    tower: float, text: float, embed: float, decoder: Threshold, dpe: float
) -> dict[str, Threshold]:
    experts = {f"dpe_expert_{n}": Threshold(dpe) for n in range(3)} | {
        "dpe_router": Threshold(max(dpe, 0.999)),
        "dpe_query": Threshold(dpe),
    }
    states = {"llm_embed": Threshold(embed), "llm_encoder": Threshold(decoder.cosine), "llm_decoder": decoder}
    pictures = dict.fromkeys(PICTURE_ROLES, Threshold(0.9995))
    towers = {"image_tower": tower, VISION: tower, "text_tower": text}
    return {role: Threshold(least) for role, least in towers.items()} | experts | states | pictures


THRESHOLDS: dict[str, dict[str, Threshold]] = {
    "fp32": _thresholds(0.9999, 0.9999, 0.9999, Threshold(0.9995, 0.99), 0.9999),
    "fp16": _thresholds(0.999, 0.999, 0.9999, Threshold(0.998, 0.98), 0.999),
    # In int8, a convolutional tower's 49 convolutions have static int8 activations, calibrated on the
    # fixtures' photographs, and int8 weights with per-channel scales.
    "int8": _thresholds(0.98, 0.985, 0.999, Threshold(0.98, 0.90), 0.99),
    "a8w8": _thresholds(0.95, 0.95, 0.999, Threshold(0.95, 0.80), 0.98),
    "a16w8": _thresholds(0.98, 0.985, 0.999, Threshold(0.98, 0.90), 0.999),
    "8da4w": _thresholds(0.95, 0.95, 0.99, Threshold(0.95, 0.80), 0.95),
    "int4": _thresholds(0.97, 0.97, 0.99, Threshold(0.95, 0.85), 0.95),
    "pal6": _thresholds(0.97, 0.97, 0.99, Threshold(0.97, 0.88), 0.98),
    "pal4": _thresholds(0.90, 0.90, 0.97, Threshold(0.85, 0.60), 0.90),
}
LLM_ROLES = ("llm_decoder", "llm_encoder")
_DPE = ("dpe_router", "dpe_expert_0", "dpe_expert_1", "dpe_expert_2", "dpe_query")
_IN_INT8 = {"llm_embed": "int8", "text_tower": "int8"}
_IN_CALIBRATED = {"llm_decoder": "int4", "*": "int8"}
# A cache that grows has no fixed shape: language models stay on the CPU, with the tower that sees for them.
_LLM_IN_INT8 = dict.fromkeys(("llm_embed", "llm_encoder", "llm_decoder", VISION), "int8")
# Replacements: target or ExecuTorch backend → requested quantization → role ("*": every other) → quantization
# used. The manifest names the quantization of each artifact.
_INSTEAD: dict[str, dict[str, dict[str, str]]] = {
    # A token table in 4 bits loses accuracy that one in 8 bits keeps, and its lookup gets no faster. A search
    # depends on the text tower's single vector: with MiniLM in the best 4-bit blocks, or calibrated ones, its
    # cosine with the fp32 vector is 0.963.
    "onnx": {
        "int4": _IN_INT8,
        "pal6": {"*": "int8"},
        "pal4": _IN_INT8 | {"*": "int4"},
        CALIBRATED: _IN_CALIBRATED,
        # A sentence encoder's activations have outliers: MiniLM's worst cosine is 0.70 with 8 bits.
        "a8w8": _LLM_IN_INT8 | {"text_tower": "a16w8"},
        "a16w8": _LLM_IN_INT8,
    },
    # XNNPACK computes with fp32 or int8 activations; it has 4-bit weights for a decoder's matrix products
    # only.
    "executorch": {
        "fp16": {"*": "fp32"},
        "int4": {"llm_decoder": "8da4w", "llm_encoder": "8da4w", "*": "int8"},
        "pal6": {"*": "int8"},
        "pal4": {"llm_decoder": "8da4w", "llm_encoder": "8da4w", "*": "int8"},
        CALIBRATED: {"llm_decoder": "8da4w", "*": "int8"},
    },
    # Core ML has no activations of 16 bits but fp16, which those of int8 are.
    "coreml": {
        "int4": _IN_INT8,
        "pal4": _IN_INT8,
        CALIBRATED: _IN_CALIBRATED,
        "a8w8": _LLM_IN_INT8 | {"text_tower": "int8"},
        "a16w8": {"*": "int8"},
    },
    # ExecuTorch's Vulkan backend has fp16, whose range is too narrow for a language model's norms, and 4-bit
    # weights for matrix products.
    "vulkan": {
        key: dict.fromkeys(LLM_ROLES, "fp32") | {"*": "fp16"} for key in ("fp16", "int8", "pal6", *STATIC)
    }
    | {key: dict.fromkeys(LLM_ROLES, "8da4w") | {"*": "fp16"} for key in ("int4", "pal4", CALIBRATED)},
}


@dataclass(frozen=True)
class WeightsRules:
    """Rules for particular weights of a model, which others of the same architecture do not follow.

    `thresholds`, `instead`: as in Recipe, over which they take precedence. `keep`: requested quantization →
    (part of a tensor's name, quantization) pairs, as --keep gives them. `why`: the reason for `instead`.
    """

    thresholds: dict[str, dict[str, Threshold]] = field(default_factory=dict)
    instead: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    keep: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    why: str = ""


NO_RULES = WeightsRules()


@dataclass(frozen=True)
class Recipe:
    """A named set of models.

    `image`, `text`, `llm`, `faces`, `ocr`: names in checkpoints/catalogue.py, "" for no such part, "*" for
    the model given with `-m`. `adapter`: how the text tower reads queries, a name in checkpoints/adapters.
    `max_text`: greatest number of tokens of a text, 0 for the text tower's limit.
    `max_seq`: cache slots of the decoder. `rho`, `k`: the router's ρ and the number of hits, for the
    manifest.
    `thresholds[quant][role]`: overrides of THRESHOLDS. `instead`: entries as in _INSTEAD, which take
    precedence over it. Neither is about a model's weights: see PACKAGED.
    """

    name: str
    image: str = ""
    text: str = ""
    llm: str = ""
    faces: str = ""
    ocr: str = ""
    adapter: str = ""
    dpe: DpeShape | None = None
    max_text: int = 0
    max_seq: int = 512
    rho: float = defaults.RHO
    k: int = defaults.HITS
    thresholds: dict[str, dict[str, Threshold]] = field(default_factory=dict)
    instead: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)

    def parts(self) -> tuple[str, ...]:
        """The parts that this recipe has."""
        have = {
            "image": self.image,
            "text": self.text,
            "dpe": self.dpe,
            "llm": self.llm,
            "faces": self.faces,
            "ocr": self.ocr,
        }
        return tuple(part for part in PARTS if have[part])

    def usual(self) -> tuple[str, ...]:
        """The parts that are exported if none is named."""
        return tuple(part for part in self.parts() if part not in OPTIONAL)

    def only(self, parts: tuple[str, ...]) -> Recipe:
        """A copy of the recipe with these parts only.

        Raises ExportError for a part that the recipe lacks, for dpe without image and llm, and for a ConSE
        image tower without the text tower that its label vectors come from.
        """
        if missing := [part for part in parts if part not in self.parts()]:
            raise ExportError(
                f"recipe {self.name} has no part {missing[0]!r}; choose from: {', '.join(self.parts())}"
            )
        if "dpe" in parts and not {"image", "llm"} <= set(parts):
            raise ExportError(
                "part dpe projects patches of the image tower into the language model's space: ask for "
                "image and llm too"
            )
        if "image" in parts and "text" not in parts and self.image == "efficientnet-lite0":
            raise ExportError(
                f"recipe {self.name}'s image tower is made of the text tower's vectors of its labels: ask "
                "for text too"
            )
        image, text, llm, faces, ocr = (
            (getattr(self, part) if part in parts else "")
            for part in ("image", "text", "llm", "faces", "ocr")
        )
        dpe = self.dpe if "dpe" in parts else None
        return replace(self, image=image, text=text, llm=llm, faces=faces, ocr=ocr, dpe=dpe)

    def quant_of(self, role: str, target: str, quant: str, weights: WeightsRules = NO_RULES) -> str:
        """The quantization of `role` on `target` (or an ExecuTorch backend) when `quant` is requested.

        `weights`: the rules of the language model's weights.
        """
        if role in OCR_ROLES:
            return "fp32"  # fp16 tells whole numbers, such as characters, apart up to 2,048
        if role in FACE_ROLES:
            return "fp16" if quant == "fp16" and target in ("onnx", "coreml") else "fp32"
        for table in (weights.instead, self.instead, _INSTEAD):
            rules = table.get(target, {}).get(quant, {})
            if role in rules or "*" in rules:
                return rules.get(role, rules.get("*", quant))
        return quant

    def threshold(self, quant: str, role: str, weights: WeightsRules = NO_RULES) -> Threshold:
        """The parity that `role` must reach in `quant`."""
        for table in (weights.thresholds, self.thresholds):
            if role in table.get(quant, {}):
                return table[quant][role]
        return THRESHOLDS[quant][role]


# The width of CLIP-ViT-L/14's own blocks; and the paper's 88 M parameters an expert, 8 · 12 · 960².
_WIDE_DPE = DpeShape(experts=3, blocks=8, width=1024, heads=16, seed=20)
_PAPER_DPE = DpeShape(experts=3, blocks=8, width=960, heads=15, seed=20)


def _gamer(name: str, llm: str, dpe: DpeShape = _WIDE_DPE) -> Recipe:
    """The paper's system: CLIP-ViT-L/14, three experts of eight blocks, and a small LLM."""
    return Recipe(name, image="clip-vit-l14", text="clip-vit-l14", llm=llm, dpe=dpe)


# Convolutions lose too much below 8 bits (worst cosine of pocket's image tower on Core ML: 0.78 in 4-bit
# blocks, 0.96 in palettes of 64 values).
_CONVOLVED = {
    target: {quant: {"image_tower": "int8"} for quant in ("int4", "pal6", "pal4")}
    for target in ("onnx", "coreml")
}
# The experts (half a million parameters each) stay in fp32 on XNNPACK: int8 saves 1.4 MB and triples the time
# to lower them.
_POCKET = {
    "onnx": {key: {"llm_decoder": "int4", "*": "int8"} for key in ("int4", "pal4")},
    "executorch": {
        "int8": dict.fromkeys(_DPE, "fp32") | {"*": "int8"},
        **dict.fromkeys(
            ("int4", CALIBRATED), dict.fromkeys(_DPE, "fp32") | {"llm_decoder": "8da4w", "*": "int8"}
        ),
    },
    "coreml": _CONVOLVED["coreml"],
}


def _pocket(name: str, llm: str, max_seq: int = 512) -> Recipe:
    """Models that pip packages contain: an ImageNet network with ConSE, a sentence encoder, a very small LLM.

    The experts are small.
    """
    dpe = DpeShape(experts=3, blocks=8, width=64, heads=4, seed=20)
    return Recipe(
        name,
        image="efficientnet-lite0",
        text="minilm-l6",
        llm=llm,
        adapter="titles-en",
        dpe=dpe,
        max_text=128,
        max_seq=max_seq,
        instead=_POCKET,
    )


# Rules for the weights that a package carries, by the model's name in checkpoints/catalogue.py. Weights that
# the user brings for the same part follow none of them.
PACKAGED = {
    # This checkpoint holds 4-bit blocks (Q4_1), which ONNX Runtime can use unchanged: 8 bits would add bytes
    # and no accuracy. Its own codes are found again, so that more is asked of them than of codes found anew.
    "smollm2-135m": WeightsRules(
        thresholds={"int4": {"llm_decoder": Threshold(0.99, 0.90)}},
        instead={"onnx": {key: {"llm_decoder": "int4"} for key in ("int8", "int4", "pal6", "pal4", *STATIC)}},
        why="its checkpoint holds 4-bit blocks, which are used unchanged",
    ),
    # In this checkpoint, matrices with 640 columns have 5 bits. In 4 bits they change the likeliest token at
    # a quarter of the positions and save only 27 of 303 MB: most of the file is the table of 262,144 tokens.
    "gemma3-270m": WeightsRules(keep={"int4": (("qkv", "int8"), ("gate_up", "int8"))}),
}

RECIPES: dict[str, Recipe] = {
    recipe.name: replace(recipe, faces="dlib-faces", ocr="pp-ocr") if recipe.image else recipe
    for recipe in (
        _pocket("pocket", "smollm2-135m"),
        _pocket("pocket-gemma3-270m", "gemma3-270m"),
        _pocket("pocket-qwen2.5-0.5b", "qwen2.5-coder-0.5b", max_seq=2048),
        _gamer("gamer-qwen2-1.5b", "qwen2-1.5b"),
        _gamer("gamer-qwen2-1.5b-88m", "qwen2-1.5b", _PAPER_DPE),
        _gamer("gamer-qwen2.5-0.5b", "qwen2.5-0.5b"),
        _gamer("gamer-qwen2.5-0.5b-88m", "qwen2.5-0.5b", _PAPER_DPE),
        _gamer("gamer-gemma3-1b", "gemma3-1b"),
        _gamer("gamer-gpt2-xl", "gpt2-xl"),
        _gamer("gamer-flan-t5-xl", "flan-t5-xl"),
        Recipe("clip-vit-b32", image="clip-vit-b32", text="clip-vit-b32"),
        Recipe("clip-vit-b16", image="clip-vit-b16", text="clip-vit-b16"),
        Recipe("clip-vit-l14", image="clip-vit-l14", text="clip-vit-l14"),
        Recipe("siglip-base", image="siglip-base", text="siglip-base"),
        Recipe("mobileclip-s0", image="mobileclip-s0", text="mobileclip-s0", instead=_CONVOLVED),
        Recipe("towers", image="*", text="*"),
        Recipe("mobileclip", image="*", text="*", instead=_CONVOLVED),
        # Memories are cut into 80 words (runtime/models/text.py): no text needs more tokens.
        Recipe("sentence", text="*", max_text=256),
        Recipe("llm", llm="*"),
    )
}


def recipe(name: str) -> Recipe:
    """The recipe called `name`. Raises ExportError that lists the choices."""
    if name not in RECIPES:
        raise ExportError(f"unknown recipe {name!r}; choose one of: {', '.join(RECIPES)}")
    return RECIPES[name]
