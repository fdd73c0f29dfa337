"""MODEL_CARD.md of a bundle: sources, licences, recipe, sizes, parity and limits, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gamer.runtime.bundle import manifest as mf

from ..graphs.files import WHY

NAME = "MODEL_CARD.md"
_ROLES = {
    "image_tower": "makes a vector of a photo",
    "text_tower": "makes a vector of a text",
    "llm_embed": "looks up tokens for the language model",
    "llm_vision": "reads a picture for the language model",
    "llm_encoder": "reads a prompt for the language model",
    "llm_decoder": "is the language model",
    "face_detector": "finds faces in a photo",
    "face_encoder": "makes a vector of a face",
    "ocr_detector": "finds lines of text in a photo",
    "ocr_recogniser": "reads a line of text",
    "dpe_router": "chooses experts for a photo",
    "dpe_query": "makes a query's vector for the experts",
}
_TARGETS = {"onnx": "ONNX Runtime", "executorch": "ExecuTorch", "coreml": "Core ML"}
# The title has the first two; the others are about the machine that made it.
_ASIDE = ("recipe", "quant", "trust_pickle", "calibrate", "parts")


def text(manifest: mf.Manifest) -> str:
    """The card's Markdown. It tells nothing that the manifest does not."""
    total = sum(entry.bytes for entry in manifest.entries)
    targets = [_TARGETS[t] for t in _TARGETS if any(a.target == t for a in manifest.artifacts)]
    parts = [
        f"# {manifest.recipe}, {manifest.quant}\n",
        f"A bundle of GAMER for {_list(targets)}: {total / 1e6:,.1f} MB in {len(manifest.entries)} files. "
        f"`manifest.json` lists each with its size and SHA-256; this page is made from it.\n",
        *_section("What is in it", _components(manifest)),
        *_section("How close it is to the original", [_PARITY, "", *_artifacts(manifest)]),
        *_section("Sources and licences", (f"- {name}: {line}" for name, line in manifest.licences.items())),
        *_section("How it was made", _made(manifest)),
        *_section("Limits", _limits(manifest)),
    ]
    return "\n".join(parts)


_PARITY = (
    "Each file was run on real inputs and compared with the fp32 network that it was made from. The cosine "
    "is of the worst input; in brackets, what it had to reach. The last column has the worst cosine of each "
    "further output."
)


def _section(title: str, lines: Iterable[str]) -> list[str]:
    return [f"## {title}\n", *lines, ""]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in cells]


def _components(manifest: mf.Manifest) -> list[str]:
    rows = [
        (
            c.role,
            _ROLES.get(c.role, "is one of the experts"),
            c.architecture,
            c.source if c.trained else f"{c.source}: random weights",
            f"{c.parameters / 1e6:,.1f} M",
            f"{c.macs / 1e6:,.0f} M for one {c.macs_per}",
        )
        for c in manifest.components
    ]
    return _table(("component", "it", "architecture", "source", "parameters", "multiply-adds"), rows)


def _artifacts(manifest: mf.Manifest) -> list[str]:
    rows = [
        (a.role, _TARGETS[a.target], a.quant, f"{a.bytes / 1e6:,.1f}", *_figures(a))
        for a in manifest.artifacts
    ]
    columns = (
        "component",
        "target",
        "quantization",
        "MB",
        "worst cosine",
        "likeliest token",
        "run by",
        "outputs",
    )
    return _table(columns, rows)


def _figures(artifact: mf.Artifact) -> tuple[str, str, str, str]:
    parity = artifact.parity
    cosine = "not run" if parity.minimum is None else f"{parity.minimum:.4f} ({parity.threshold:g})"
    first = "hidden" if parity.metric == "top1" else artifact.outputs[0].name
    others = (f"{name} {cosine:.4f}" for name, cosine in parity.outputs.items() if name != first)
    return cosine, top1(parity), parity.executed_by, ", ".join(others)


def top1(parity: mf.Parity) -> str:
    """A decoder's top-1 agreement, with the least if one is wanted; "" for other components."""
    wanted = "" if parity.top1_threshold is None else f" ({parity.top1_threshold:.0%})"
    return "" if parity.top1 is None else f"{parity.top1:.1%}{wanted}"


def _made(manifest: mf.Manifest) -> Iterator[str]:
    chosen = {
        name: value
        for name, value in (manifest.settings or {}).items()
        if name not in _ASIDE and value not in ("", "0")
    }
    yield f"- `gamer export {manifest.recipe}`, {', '.join(f'{n} {v}' for n, v in chosen.items())}"
    tools = {name: version for name, version in manifest.tools.items() if name != "fingerprint"}
    yield f"- with {', '.join(f'{name} {version}' for name, version in tools.items())}"


def _limits(manifest: mf.Manifest) -> Iterator[str]:
    """What the manifest says that a user may stumble over."""
    untrained = [c.role for c in manifest.components if not c.trained]
    if untrained:
        yield f"- {_list(untrained)}: random weights, for size and speed alone; what they give means nothing."
    unrun = sorted({_TARGETS[a.target] for a in manifest.artifacts if a.parity.minimum is None})
    if unrun:
        yield f"- {_list(unrun)}: not run where the bundle was made, so that there is no parity."
    read = [a for a in manifest.artifacts if a.parity.executed_by.startswith("MIL")]
    if read:
        yield "- Core ML: parity was measured by an interpreter of the saved programs, not on a device."
    if any(WHY in c.architecture for c in manifest.components):
        yield f"- {WHY}: compared with its own fp32 graph, not with torch; for ONNX Runtime alone."
    if manifest.language is not None:
        yield f"- The language model holds {manifest.language.max_seq:,} tokens, prompt and answer together."
    if "text_tower" not in {c.role for c in manifest.components}:
        yield "- There is no text encoder: texts and memories cannot be searched by meaning."
    if "image_tower" not in {c.role for c in manifest.components}:
        yield "- There is no image encoder: photos cannot be searched by what they show."
    yield "- Parity holds for the processor that it was measured on; on others, `gamer doctor` repeats it."


def _list(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
