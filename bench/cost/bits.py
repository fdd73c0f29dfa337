"""Bits chosen by matrix beside uniform bits in the same bytes: ONNX files of MiniLM and SmolLM2 on new text.

For each uniform quantization the file is written; then the bits are chosen for a file of at most its bytes,
on the exporter's own calibration inputs. Both files are compared with fp32 torch on these inputs, and on a
text that the choice has not seen.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray

from ..stats import cross_entropy
from ..study.declaration import About, Run, Tell, Work
from ..tables import Sheet, sheet

UNIFORM = ("int8", "int4/16", "int4/32", "int4/64")
SENTENCES = 40
PROSE = Path(__file__).parents[1] / "llm_prose.txt"
PARTS = {"text": "text_tower", "llm": "llm_decoder"}


@dataclass(frozen=True)
class Settings:
    recipe: Annotated[str, About("the recipe whose text tower and language model are exported")] = "pocket"
    uniform: Annotated[tuple[str, ...], About("the uniform bits to compare with", quick=("int8",))] = UNIFORM
    parts: Annotated[tuple[str, ...], About("text, llm", choices=tuple(PARTS), quick=("text",))] = tuple(
        PARTS
    )


@dataclass(frozen=True)
class File:
    """An ONNX file beside fp32 torch.

    `loss`: 1 - the mean cosine on the calibration inputs; `worst`: the least cosine there. `unseen`: the loss
    on text that no choice has seen. `top1`, `perplexity`: a decoder's, on that text.
    """

    bytes: int
    loss: float
    worst: float
    unseen: float
    top1: float | None
    perplexity: float | None


@dataclass(frozen=True)
class Pair:
    """`chosen` has at most the bytes of `uniform`; `share`: its unseen loss over that of `uniform`."""

    component: str
    quant: str
    uniform: File
    chosen: File
    share: float


@dataclass(frozen=True)
class Bits:
    """`perplexity_fp32`: of the decoder in fp32 on the unseen text; None without a decoder."""

    pairs: tuple[Pair, ...]
    perplexity_fp32: float | None


# (outputs on the calibration inputs and on the unseen text [n, D], logits of the unseen text [S, V] or None)
Outputs = tuple[FloatArray, FloatArray, FloatArray | None]


def measure(run: Run[Settings]) -> Bits:
    """Raises ExportError."""
    pairs, perplexity = list[Pair](), None
    for part in run.settings.parts:
        found, fp32 = _component(run, part)
        pairs += found
        perplexity = fp32 if fp32 is not None else perplexity
    return Bits(tuple(pairs), perplexity)


def _component(run: Run[Settings], part: str) -> tuple[list[Pair], float | None]:
    from gamer.export.settings import Settings as Export

    settings, role = Export(run.settings.recipe, parts=(part,)), PARTS[part]
    inputs = _Inputs(settings, role)
    want, pairs = inputs.of_torch(), list[Pair]()
    for quant in run.settings.uniform:
        run.tell(f"{role}: {quant} everywhere")
        head = ("head", "int8")  # as the exporter has it in int4, too
        uniform = _file(replace(settings, keep=(head, ("", quant))), inputs, want)
        chosen = _in_bytes(settings, role, uniform.bytes, partial(_file, inputs=inputs, want=want), run.tell)
        share = round(chosen.unseen / uniform.unseen, 3)
        pairs.append(Pair(role, quant, uniform, chosen, share))
    return pairs, None if want[2] is None else inputs.perplexity(want[2])


def _in_bytes(settings: Any, role: str, size: int, file: Callable[[Any], File], tell: Tell) -> File:
    """The file with chosen bits that has at most `size` bytes."""
    from gamer.export.budget.choose import choose
    from gamer.export.bundle.limits import Limits

    asked = size
    while True:
        chosen, _ = choose(settings, ("onnx",), Limits(sizes=((role, asked),)), 1, tell)
        written = file(chosen)
        if written.bytes <= size:
            return written
        asked -= written.bytes - size  # what the size was predicted too small


class _Inputs:
    """The inputs of a component, and its outputs by torch and by a written file."""

    def __init__(self, settings: Any, role: str) -> None:
        from gamer.export.components import components

        self.settings, self.role = settings, role
        self.item = components.build(settings, role, "fp32")
        self.unseen: Any = self._ids() if role == "llm_decoder" else self._sentences()

    def _ids(self) -> NDArray[np.int64]:
        from tokenizers import Tokenizer

        from gamer.export.components import components

        tokenizer = Tokenizer.from_str(components.llm_tokenizer(self.settings)[0])
        return np.array(tokenizer.encode(PROSE.read_text(encoding="utf-8")).ids)[: self.settings.slots - 64]

    def _sentences(self) -> list[tuple[NDArray[Any], ...]]:
        from tokenizers import Tokenizer

        from gamer.export.components import components, fixtures

        tokenizer = Tokenizer.from_str(components.text_tokenizer(self.settings))
        none = np.zeros_like(fixtures.samples(self.settings, self.item, False)[0][2])
        texts = re.split(r"(?<=[.!?]) ", " ".join(PROSE.read_text(encoding="utf-8").split()))[:SENTENCES]
        rows = (np.array([tokenizer.encode(text).ids], np.int64) for text in texts)
        return [(ids, np.ones_like(ids), none) for ids in rows]

    def of_torch(self) -> Outputs:
        from gamer.export.budget.measuring import states_and_logits
        from gamer.export.components.components import reference

        if self.role == "llm_decoder":
            step: Any = self.item.module
            (calibration, _), (unseen, logits) = (states_and_logits(step, x) for x in self._embeds())
            return calibration, unseen, logits
        rows = [[reference(self.item.module, x)[0] for x in inputs] for inputs in self._texts()]
        return np.concatenate(rows[0]), np.concatenate(rows[1]), None

    def of_file(self, session: Any) -> Outputs:
        from gamer.runtime.models.language.decoder import open_decoder

        if self.role == "llm_decoder":
            decoder: Any = open_decoder(session, self._language())
            states = []
            for x in self._embeds():
                decoder.reset()
                states.append(decoder.forward(x)[1].copy())
            decoder.reset()
            return states[0], states[1], decoder.rows(self._embeds()[1], None, len(self.unseen))
        names = [t.name for t in session.artifact.inputs]
        rows = [
            [session.run(dict(zip(names, x, strict=True)))["embedding"] for x in inputs]
            for inputs in self._texts()
        ]
        return np.concatenate(rows[0]), np.concatenate(rows[1]), None

    def perplexity(self, logits: FloatArray) -> float:
        """Of the unseen text, by the logits [S, V] after each of its tokens."""
        nats = cross_entropy(logits[:-1].astype(np.float64), self.unseen[1:])
        return round(float(np.exp(nats.mean())), 4)

    def _texts(self) -> tuple[list[Any], list[Any]]:
        from gamer.export.components import fixtures

        return fixtures.samples(self.settings, self.item, False), self.unseen

    def _embeds(self) -> tuple[FloatArray, FloatArray]:
        from gamer.export.components import components
        from gamer.export.parity import reference as parity

        table = components.build(self.settings, "llm_embed", "fp32").module.get_buffer("rows").numpy()
        return parity.prose(self.settings, parity.PROSE_TOKENS), np.asarray(table[self.unseen])

    def _language(self) -> Any:
        from gamer.export.components import components

        return components.language(self.settings)


def _file(settings: Any, inputs: _Inputs, want: Outputs) -> File:
    """Writes the component with the bits of `settings` and runs the file."""
    from gamer.export.components import components
    from gamer.export.onnx import to_onnx
    from gamer.export.target_options import target_options
    from gamer.runtime.backends import open_session
    from gamer.runtime.bundle.manifest import Artifact, Parity

    role, quant = inputs.role, settings.quant_of(inputs.role, "onnx")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        options = target_options(settings, None, role, "onnx")
        specs = to_onnx.write(inputs.item, quant, components.language(settings), [], path, options)  # type: ignore[arg-type]
        size = path.stat().st_size
        artifact = Artifact(role, "onnx", quant, "", size, "", *specs, Parity("", "", 0.0), 0.0)
        got = inputs.of_file(open_session("onnx", path, artifact, threads=1))
    return _compared(size, got, want, inputs)


def _compared(size: int, got: Outputs, want: Outputs, inputs: _Inputs) -> File:
    from gamer.export.parity.measure import cosines

    calibration, unseen = (1 - cosines(a, b) for a, b in zip(got[:2], want[:2], strict=True))
    top1 = perplexity = None
    if got[2] is not None and want[2] is not None:
        top1 = round(float((got[2].argmax(1) == want[2].argmax(1)).mean()), 4)
        perplexity = inputs.perplexity(got[2])
    return File(
        size,
        float(f"{calibration.mean():.4g}"),
        round(1 - float(calibration.max()), 6),
        float(f"{unseen.mean():.4g}"),
        top1,
        perplexity,
    )


def tables(result: Bits) -> list[Sheet | str]:
    """Uniform and chosen bits side by side, each pair on one row."""
    columns: dict[str, Callable[[Pair], str]] = {
        "component": lambda p: p.component,
        "uniform": lambda p: p.quant,
        "MB": lambda p: f"{p.uniform.bytes / 1e6:.2f} / {p.chosen.bytes / 1e6:.2f}",
        "1 - cosine": lambda p: f"{p.uniform.loss:.2g} / {p.chosen.loss:.2g}",
        "unseen": lambda p: f"{p.uniform.unseen:.2g} / {p.chosen.unseen:.2g}",
        "of it": lambda p: f"{p.share:.2f}",
        "worst cosine": lambda p: f"{p.uniform.worst:.5f} / {p.chosen.worst:.5f}",
        "top-1": lambda p: "" if p.chosen.top1 is None else f"{p.uniform.top1:.3f} / {p.chosen.top1:.3f}",
        "perplexity": lambda p: (
            "" if p.chosen.perplexity is None else f"{p.uniform.perplexity:.3f} / {p.chosen.perplexity:.3f}"
        ),
    }
    fp32 = [] if result.perplexity_fp32 is None else [f"perplexity in fp32: {result.perplexity_fp32:.3f}"]
    return [sheet("Uniform bits / bits by matrix, in the same bytes", result.pairs, columns), *fp32]


WORK = Work(Settings, measure, tables)
