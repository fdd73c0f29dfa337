"""Checks, before weights are read, that the targets support the settings of an export."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from gamer.runtime.backends import BACKENDS
from gamer.runtime.telemetry import load_onnxruntime

from ..capabilities import writer
from ..checkpoints.tower_config import picture_shape
from ..components import components
from ..errors import ExportError
from ..networks.channels_first import encoders
from ..onnx.graph import OPSET
from ..quantize import calibration
from ..recipe import CALIBRATED, LLM_ROLES, STATIC, VISION
from ..settings import COREML_LAYOUTS, KV_CACHES, LAYOUTS, Settings
from . import from_graphs, kept, replaced, vocabularies
from .networks import networks


def check(settings: Settings, targets: tuple[str, ...]) -> tuple[str, ...]:
    """Lines about what the settings ask for and do not get (replaced.py, kept.py).

    Raises ExportError for a combination of settings that a target does not support, for a --keep that no
    matrix follows, for a bar of a component that is not exported, and for a tokenizer without a vocabulary.
    """
    lines = (
        *from_graphs.check(settings, targets),
        *replaced.lines(settings, targets),
        *kept.check(settings, targets),
    )
    if absent := [role for role, _ in settings.bars if role not in components.roles(settings)]:
        raise ExportError(
            f"--min-parity {absent[0]}: this export has no such component; it has "
            f"{', '.join(components.roles(settings))}"
        )
    if "onnx" in targets and settings.opset != OPSET and not OPSET < settings.opset <= greatest_opset():
        raise ExportError(
            f"opset {settings.opset}: the graphs need {OPSET}, ONNX Runtime here opens no more than "
            f"{greatest_opset()}: choose between"
        )
    if "onnx" in targets and settings.onnx_format == "ort":
        _ort(settings)
    if settings.coreml_layout != COREML_LAYOUTS[0]:
        _ane(settings, targets)
    if settings.quant in STATIC:
        _static(settings, targets)
    if settings.calibrate and not _calibrated(settings, targets):
        raise ExportError(
            "--calibrate: no image tower becomes int8 for ONNX or ExecuTorch here: leave it out, or choose "
            "--quant int8"
        )
    if "coreml" in targets and settings.deployment_target != "iOS18":
        _before_ios18(settings)
    if settings.quant == CALIBRATED and "llm_encoder" in components.roles(settings):
        raise ExportError("--quant gptq is for decoder-only language models: choose int4")
    if VISION in components.roles(settings):
        _room_for_a_picture(settings)
    for option, target in _of_decoders(settings, targets):
        _decoder_alone(settings, targets, option, target)
    components.adapters(settings)
    vocabularies.check(settings)
    return lines


@lru_cache(maxsize=1)
def greatest_opset() -> int:
    """The greatest ONNX operator set that the installed ONNX Runtime opens.

    It refuses sets that ONNX released after it was built.
    """
    from onnx import defs

    return next(opset for opset in range(defs.onnx_opset_version(), OPSET - 1, -1) if _opens(opset))


def _opens(opset: int) -> bool:
    ort = load_onnxruntime()
    from onnx import TensorProto, helper

    edges = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    quantization = [
        helper.make_tensor("scale", TensorProto.FLOAT, [], [1.0]),
        helper.make_tensor("zero", TensorProto.UINT8, [], [0]),
    ]
    # A release may accept an operator set before it has all kernels for it; those of quantization came last.
    quantize = helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"])
    dequantize = helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"])
    model = helper.make_model(
        helper.make_graph([quantize, dequantize], "g", edges[:1], edges[1:], quantization), ir_version=10
    )
    model.opset_import[0].version = opset
    try:
        ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception:  # onnxruntime raises many unrelated classes
        return False
    return True


def _calibrated(settings: Settings, targets: tuple[str, ...]) -> tuple[str, ...]:
    """The targets whose image tower has calibrated activations.

    ExecuTorch with the Core ML backend is not one of them: it quantizes weights only.
    """
    weights_alone = ("executorch",) if settings.executorch_backend == "coreml" else ()
    int8 = [t for t in calibration.TARGETS if t not in weights_alone]
    return tuple(
        t
        for t in targets
        if "image" in settings.chosen.parts()
        for quant in [settings.quant_of("image_tower", t)]
        if quant in STATIC or (quant == "int8" and t in int8)
    )


def _of_decoders(settings: Settings, targets: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The options that were given for a decoder, and the target that each is for.

    Raises ExportError for an adapter whose name no function of a Core ML program can have.
    """
    if settings.adapters and "coreml" in targets and settings.adapts("coreml"):
        for name, _ in settings.adapters:
            if "-" in name:
                raise ExportError(f"--adapter {name}: a function of a Core ML program has no - in its name")
        yield "--adapter", "coreml"
    elif settings.adapters:
        yield "--adapter", "onnx"
    for name in settings.layout:
        yield f"--layout {name}", LAYOUTS[name]
    if settings.kv_cache != KV_CACHES[0]:
        kept = (t for t in BACKENDS if t in targets and settings.cache_of(t) != KV_CACHES[0])
        yield f"--kv-cache {settings.kv_cache}", next(kept, "onnx")


def _decoder_alone(settings: Settings, targets: tuple[str, ...], option: str, target: str) -> None:
    """Raises ExportError where an option of a target's decoder has none to act on."""
    roles = components.roles(settings)
    if "llm_encoder" in roles:
        raise ExportError(f"{option} is for decoders; this model is an encoder with a decoder: leave it out")
    if target == "executorch":
        if "llm_decoder" in roles and target in targets and settings.executorch_backend == "xnnpack":
            return
        raise ExportError(
            f"{option} is for a language model as ExecuTorch with XNNPACK: take llm into --parts and "
            "executorch into --targets, and leave --executorch-backend out"
        )
    if target == "coreml" and "llm_decoder" in roles:
        return
    if "llm_decoder" not in roles or "onnx" not in targets or settings.onnx_format != "onnx":
        core_ml = ", or give coreml --coreml-cache state" if option == "--adapter" else ""
        raise ExportError(
            f"{option} is for a language model as ONNX: take llm into --parts and onnx into --targets, and "
            f"leave --onnx-format out{core_ml}"
        )


def _room_for_a_picture(settings: Settings) -> None:
    """Raises ExportError where the decoder's cache does not hold a picture's soft prompts."""
    prompts = picture_shape(components.checkpoint(settings, "llm").config).prompts
    if prompts >= settings.slots:
        raise ExportError(
            f"a picture takes {prompts} of {settings.slots} slots of the decoder's cache: give a larger "
            "--max-seq-len"
        )


def _static(settings: Settings, targets: tuple[str, ...]) -> None:
    """Raises ExportError for what has no fixed shapes, and where nothing gets calibrated activations."""
    option = f"--quant {settings.quant}"
    from_graphs.refuse(settings, option)
    if settings.image_input == "any":
        raise ExportError(f"{option}: pictures of any size have no fixed shape: leave out --image-input any")
    if settings.onnx_format != "onnx":
        raise ExportError(f"{option}: an ORT file is fused for the CPU: leave out --onnx-format")
    if not any(settings.quant_of(role, t) in STATIC for role in components.roles(settings) for t in targets):
        why = (
            "a language model's cache has no fixed shape"
            if any(role in LLM_ROLES for role in components.roles(settings))
            else "the networks of faces and of text stay in fp32"
        )
        if "onnx" not in targets:
            why = f"{' and '.join(targets)} has no such activations for these parts: add onnx to --targets"
        raise ExportError(f"{option}, for NPUs: nothing here gets it: {why}")


def _ane(settings: Settings, targets: tuple[str, ...]) -> None:
    """Raises ExportError for --coreml-layout ane where no tower has another layout by it."""
    if "coreml" not in targets:
        raise ExportError("--coreml-layout ane: add coreml to --targets, or leave it out")
    if not any(encoders(build()) for _, build in networks(settings)):
        raise ExportError(
            "--coreml-layout ane is for the transformers of CLIP and SigLIP, and this export has none: leave "
            "it out"
        )


def _before_ios18(settings: Settings) -> None:
    if settings.coreml_cache == "state":
        raise ExportError(
            "--coreml-cache state: programs keep states from iOS18 on: leave out --deployment-target, or "
            "the state"
        )
    for role in components.roles(settings):
        quant = settings.quant_of(role, "coreml")
        if quant in writer("coreml").since_ios18:
            raise ExportError(
                f"{role} for Core ML: {quant} needs iOS18: choose int8 or --quant none, or leave out "
                "--deployment-target"
            )


def _ort(settings: Settings) -> None:
    """Raises ExportError for fp16 weights of a language model, or of --keep, in an ORT file.

    They are fp16 only to make the file smaller, and are widened to fp32 when it is loaded; an ORT file would
    hold them widened.
    """
    in_fp16 = [
        role
        for role in components.roles(settings)
        if role in LLM_ROLES and settings.quant_of(role, "onnx") == "fp16"
    ]
    if settings.quant != "fp16" and "fp16" in dict(settings.keep).values():
        in_fp16.append("--keep")
    if in_fp16:
        raise ExportError(
            f"{in_fp16[0]}: fp16 weights would become fp32 in an ORT file: choose int8, int4 or fp32, or "
            "--onnx-format onnx"
        )
