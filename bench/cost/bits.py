"""What bits cost: files of towers and of a language model beside fp32 torch, on inputs that are new to them.

For each target, each uniform quantization and each type of a decoder's cache the file is written as an export
writes it, and run as parity runs it. Beside a uniform file, bits are chosen by matrix for at most its bytes,
on the exporter's own calibration inputs. Neither the choice, nor calibrated codes, nor the scales of a cache
have seen the text; of pictures there are others of the same photographs, their halves.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
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
PARTS = {"image": "image_tower", "text": "text_tower", "llm": "llm_decoder"}
TARGETS = ("onnx", "executorch", "coreml")
CACHES = ("fp32", "fp16", "int8")
SPARE = 64  # slots of the recipe's cache that the text leaves free


@dataclass(frozen=True)
class Settings:
    recipe: Annotated[str, About("the recipe whose towers and language model are exported")] = "pocket"
    weights: Annotated[tuple[str, ...], About("[PART=]SOURCE of weights, as export takes them")] = ()
    uniform: Annotated[
        tuple[str, ...], About("quantizations of --quant, with /SIZE in blocks of that size", quick=("int8",))
    ] = UNIFORM
    parts: Annotated[
        tuple[str, ...],
        About("what to write; image: of a transformer", choices=tuple(PARTS), quick=("text",)),
    ] = ("text", "llm")
    targets: Annotated[tuple[str, ...], About("of the language model", choices=TARGETS)] = ("onnx",)
    caches: Annotated[tuple[str, ...], About("types of the language model's cache", choices=CACHES)] = (
        "fp32",
    )
    chosen: Annotated[bool, About("also choose bits by matrix in the bytes of each uniform file")] = True
    text: Annotated[Path, About("the text that a language model reads")] = PROSE
    lengths: Annotated[
        tuple[int, ...], About("tokens of it after which the perplexity is taken", least=2)
    ] = ()


@dataclass(frozen=True)
class File:
    """A file beside fp32 torch; `chosen`: its bits are chosen by matrix, in the bytes of `quant`.

    `loss`: 1 - the mean cosine on the calibration inputs; `worst`: the least cosine there. `unseen`: the loss
    on the others, the text or halves of pictures. `top1`: a decoder's share of equal likeliest tokens there,
    and `perplexity` its perplexity after each of the lengths; None and () for a tower.
    """

    component: str
    target: str
    quant: str
    cache: str
    chosen: bool
    bytes: int
    loss: float
    worst: float
    unseen: float
    top1: float | None
    perplexity: tuple[float, ...]


@dataclass(frozen=True)
class Bits:
    """`lengths`: tokens; `fp32`: the perplexities of torch's decoder, () without a decoder."""

    lengths: tuple[int, ...]
    fp32: tuple[float, ...]
    files: tuple[File, ...]


@dataclass(frozen=True)
class Outputs:
    """Of a component: its rows [n, D] on the calibration inputs and on the others.

    Of a decoder also the likeliest token [S] after each of the text, and the nats [S - 1] of each next one.
    """

    calibration: FloatArray
    unseen: FloatArray
    likeliest: NDArray[np.int64]
    nats: NDArray[np.float64]

    def perplexity(self, lengths: tuple[int, ...]) -> tuple[float, ...]:
        return tuple(round(float(np.exp(self.nats[: n - 1].mean())), 4) for n in lengths if len(self.nats))


def measure(run: Run[Settings]) -> Bits:
    """Raises ExportError."""
    files, fp32, lengths = list[File](), tuple[float, ...](), tuple[int, ...]()
    for part in run.settings.parts:
        component = _Component(run.settings, part)
        if part == "llm":
            lengths, fp32 = component.lengths, component.torch.perplexity(component.lengths)
        files += _files(run, component)
    return Bits(lengths, fp32, tuple(files))


def _files(run: Run[Settings], component: _Component) -> Iterator[File]:
    asked, decodes = run.settings, component.role == "llm_decoder"
    for target in asked.targets if decodes else ("onnx",):
        for quant in asked.uniform:
            for cache in asked.caches if decodes else ("fp32",):
                run.tell(f"{component.role} for {target}: {quant} everywhere, cache {cache}")
                settings = replace(component.settings, kv_cache=cache)
                uniform = component.file(component.uniform(settings, quant), target, quant)
                yield uniform
                if asked.chosen:
                    yield _in_bytes(component, settings, uniform, run.tell)


def _in_bytes(component: _Component, settings: Any, uniform: File, tell: Tell) -> File:
    """The file with chosen bits that has at most the bytes of `uniform`."""
    from gamer.export.budget.choose import choose
    from gamer.export.bundle.limits import Limits
    from gamer.export.recipe import CALIBRATED
    from gamer.export.settings import JOBS

    if uniform.quant.partition("/")[0] == CALIBRATED:  # so are the codes of chosen bits
        settings = replace(settings, quant=CALIBRATED)
    asked = uniform.bytes
    while True:
        limits = Limits(sizes=((component.role, asked),))
        chosen, _ = choose(settings, (uniform.target,), limits, JOBS, tell)
        written = component.file(chosen, uniform.target, uniform.quant, chosen=True)
        if written.bytes <= uniform.bytes:
            return written
        asked -= written.bytes - uniform.bytes  # what the size was predicted too small


class _Component:
    """A component, its inputs, and what torch and written files make of them."""

    def __init__(self, asked: Settings, part: str) -> None:
        from gamer.export.components import components
        from gamer.export.parity.reference import PROSE_TOKENS
        from gamer.export.settings import Settings as Export
        from gamer.export.settings import parse_sources

        self.role, self.text = PARTS[part], asked.text.read_text(encoding="utf-8")
        sources = parse_sources(asked.recipe, None, asked.weights)
        self.settings = Export(
            asked.recipe,
            sources=tuple(s for s in sources if s[0] == part),
            parts=(part,),
            max_seq=max(*asked.lengths, PROSE_TOKENS) if asked.lengths else 0,
        )
        self.lengths = asked.lengths or (self.settings.slots - SPARE,)
        self.item = components.build(self.settings, self.role, "fp32")

    def uniform(self, settings: Any, quant: str) -> Any:
        """`settings` with `quant`, such as "int4/32", everywhere but in the head, which stays in int8."""
        base, _, size = quant.partition("/")
        # --quant int8 leaves packaged weights of 4 bits as they are.
        if self.role == "llm_decoder" and base != "int8":
            return replace(settings, quant=base, group_size=int(size or settings.group_size))
        return replace(settings, keep=(("head", "int8"), ("", quant)))

    def file(self, settings: Any, target: str, quant: str, *, chosen: bool = False) -> File:
        """Writes the component as `settings` say, and runs the file."""
        from gamer.export.bundle.write import suffix, written
        from gamer.export.components import components
        from gamer.export.parity.measure import cosines, executors
        from gamer.runtime.bundle.manifest import Artifact, Parity, digest

        used = settings.quant_of(self.role, target)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"model{suffix(settings, target)}"
            specs = written(settings, components.build(settings, self.role, used), target, used, path)
            size, checksum = digest(path)
            artifact = Artifact(self.role, target, used, "", size, checksum, *specs, Parity("", "", 0.0), 0.0)
            _, session, _ = next(executors(settings, artifact, path))
            got = self._outputs(session)
        want = self.torch
        calibration, unseen = (
            1 - cosines(a, b) for a, b in ((got.calibration, want.calibration), (got.unseen, want.unseen))
        )
        return File(
            component=self.role,
            target=target,
            quant=quant,
            cache=settings.cache_of(target),
            chosen=chosen,
            bytes=size,
            loss=float(f"{calibration.mean():.4g}"),
            worst=round(1 - float(calibration.max()), 6),
            unseen=float(f"{unseen.mean():.4g}"),
            top1=round(float((got.likeliest == want.likeliest).mean()), 4) if len(got.likeliest) else None,
            perplexity=got.perplexity(self.lengths),
        )

    @cached_property
    def torch(self) -> Outputs:
        from gamer.export.budget.measuring import states_and_logits
        from gamer.export.components.components import reference

        if self.role != "llm_decoder":
            return self._rows(lambda x: reference(self.item.module, x)[0])
        step: Any = self.item.module
        calibration, text = self._embeds
        return self._read(states_and_logits(step, calibration)[0], *states_and_logits(step, text))

    def _outputs(self, session: Any) -> Outputs:
        from gamer.export.parity.reference import language_of, trace
        from gamer.runtime.models.language.decoder import open_decoder

        if self.role == "llm_decoder":
            decoder = open_decoder(session, language_of(self.settings))
            calibration, text = self._embeds
            return self._read(trace(decoder, calibration)[0], *trace(decoder, text))
        names = [t.name for t in session.artifact.inputs]
        return self._rows(lambda x: session.run(dict(zip(names, x, strict=True)))["embedding"])

    def _rows(self, run: Callable[[Any], FloatArray]) -> Outputs:
        calibration, unseen = (np.concatenate([run(x) for x in inputs]) for inputs in self._inputs)
        return Outputs(calibration, unseen, np.zeros(0, np.int64), np.zeros(0))

    def _read(self, calibration: FloatArray, states: FloatArray, logits: FloatArray) -> Outputs:
        following = self._ids[1:]
        nats = [
            cross_entropy(row[None].astype(np.float64), following[n : n + 1])
            for n, row in enumerate(logits[:-1])
        ]
        return Outputs(calibration, states, logits.argmax(1), np.concatenate(nats))

    @cached_property
    def _ids(self) -> NDArray[np.int64]:
        """Of the text. Raises ExportError if it is shorter than the lengths."""
        from tokenizers import Tokenizer

        from gamer.export.components import components
        from gamer.export.errors import ExportError

        tokenizer = Tokenizer.from_str(components.llm_tokenizer(self.settings)[0])
        ids = np.array(tokenizer.encode(self.text).ids)[: max(self.lengths)]
        if len(ids) < max(self.lengths):
            raise ExportError(
                f"text: {len(ids)} tokens, and lengths asks for {max(self.lengths)}: give a longer one"
            )
        return ids

    @cached_property
    def _inputs(self) -> tuple[list[Any], list[Any]]:
        """A tower's calibration inputs, and others: halves of its photographs, or sentences of the prose."""
        from gamer.export.components import fixtures
        from gamer.runtime.models.image import prepare

        calibration = fixtures.samples(self.settings, self.item, False)
        if self.role == "image_tower":
            spec = fixtures.image_spec(self.settings)
            halves = (half for photo in fixtures.photographs() for half in np.array_split(photo, 2, axis=1))
            return calibration, [(prepare(half, spec),) for half in halves]
        texts = re.split(r"(?<=[.!?]) ", " ".join(PROSE.read_text(encoding="utf-8").split()))[:SENTENCES]
        rows = fixtures.texts(self.settings, self.item, texts, False)
        return calibration, rows[:: len(rows) // len(texts)]  # each as a memory, where it is a query, too

    @cached_property
    def _embeds(self) -> tuple[FloatArray, FloatArray]:
        """A decoder's calibration inputs and the text, float32 [S, H] each."""
        from gamer.export.components import components
        from gamer.export.parity.reference import PROSE_TOKENS, prose

        table = components.build(self.settings, "llm_embed", "fp32").module.get_buffer("rows").numpy()
        return prose(self.settings, PROSE_TOKENS), np.asarray(table[self._ids])


def tables(result: Bits) -> list[Sheet | str]:
    """The files, those with chosen bits under the uniform ones whose bytes they have."""
    lost = {(f.component, f.target, f.quant, f.cache): f.unseen for f in result.files if not f.chosen}
    columns: dict[str, Callable[[File], str]] = {
        "component": lambda f: f.component,
        "target": lambda f: f.target,
        "bits": lambda f: f"chosen, as {f.quant}" if f.chosen else f.quant,
        "cache": lambda f: f.cache,
        "MB": lambda f: f"{f.bytes / 1e6:.2f}",
        "1 - cosine": lambda f: f"{f.loss:.2g}",
        "unseen": lambda f: f"{f.unseen:.2g}",
        "of uniform": lambda f: (
            f"{f.unseen / lost[f.component, f.target, f.quant, f.cache]:.2f}" if f.chosen else ""
        ),
        "worst cosine": lambda f: f"{f.worst:.5f}",
        "top-1": lambda f: "" if f.top1 is None else f"{f.top1:.3f}",
    }
    columns |= {
        f"perplexity of {length}": lambda f, at=at: f"{f.perplexity[at]:.3f}" if f.perplexity else ""  # type: ignore[misc]
        for at, length in enumerate(result.lengths)
    }
    fp32 = ", ".join(f"{p:.3f}" for p in result.fp32)
    return [
        sheet("Files beside torch in fp32", result.files, columns),
        *([f"perplexity of torch in fp32: {fp32}"] if fp32 else []),
    ]


WORK = Work(Settings, measure, tables)
