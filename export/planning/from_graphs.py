"""Checks, before anything is exported, what a part that comes from ONNX graphs (graphs/) can have."""

from __future__ import annotations

from collections.abc import Iterator

from ..components import components, graphs
from ..errors import ExportError
from ..graphs import files
from ..onnx.graph import OPSET
from ..settings import Settings

_LLM = "a language model's graph keeps its cache in another way than GAMER's decoders: give its safetensors"


def check(settings: Settings, targets: tuple[str, ...]) -> tuple[str, ...]:
    """Lines about the targets that such parts leave out. Raises ExportError for what they do not have."""
    lines = []
    for part, found in _parts(settings):
        if part == "llm":
            raise ExportError(f"{found.source} ({files.WHY}): {_LLM}")
        _refuse(settings, found.source)
        if left := [target for target in targets if target != "onnx"]:
            lines.append(f"{part}: {found.source} is {files.WHY}: {', '.join(left)} left out: {files.ALONE}")
        if "onnx" not in targets:
            raise ExportError(
                f"{found.source} is {files.WHY}: add onnx to --targets; the others are not its: {files.ALONE}"
            )
    return tuple(lines)


def refuse(settings: Settings, option: str) -> None:
    """Raises ExportError if a part comes from graphs: `option` is given, and needs torch modules."""
    for _, found in _parts(settings):
        raise ExportError(_without(option, found.source))


def _parts(settings: Settings) -> Iterator[tuple[str, files.Graphs]]:
    for part in ("llm", "text", "image"):
        source = settings.source(part) if part in settings.chosen.parts() else None
        found = None if source is None else graphs.of(components.checkpoint(settings, part))
        if found is not None:
            yield part, found


def _refuse(settings: Settings, source: str) -> None:
    for option, given in (
        ("--image-input any", settings.image_input == "any"),
        ("--keep", bool(settings.keep)),
        ("--opset", settings.opset != OPSET),
    ):
        if given:
            raise ExportError(_without(option, source))


def _without(option: str, source: str) -> str:
    return f"{option}: not with {source}, which is {files.WHY}: leave it out"
