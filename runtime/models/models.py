"""A bundle's models, opened on first use: image tower, text tower, DPE, language model.

Modules that only one model needs are imported with it, so that a text search does not load the code of the
language model.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray

from ..backends import Array, Session, free_cores, processor, split
from ..bundle import manifest as mf
from ..errors import BundleError, RuntimeFailure
from ..vectors import unit
from . import query_adapter
from .selfcheck import LOG, Verdict, open_checked
from .text import TextEncoder
from .tokenizers import open_tokenizer

if TYPE_CHECKING:
    from gamer.index import AlbumMeta

    from ..bundle.gazetteer import Gazetteer
    from .faces import FaceReader
    from .language.grammar import Vocabulary
    from .language.llm import LanguageModel
    from .language.reuse import Prefix
    from .printed import LineReader

# The threads and the allocation of each backend, for a trace.
SET_UP = {
    "onnx": "{threads} threads, no affinity, CPU arena",
    "executorch": "its own pool of threads",
    "coreml": "its own threads",
}
# The cached properties that hold a family's sessions, and are created again once these were unloaded.
_USERS = {"text": ("text",), "llm": ("language_model",), "face": ("faces",), "ocr": ("lines",)}


def _lacking(models: Models, does: str, part: str, first: str = "") -> BundleError:
    """The error of a bundle without an optional part, with the command that adds it."""
    adds = f"gamer export {models.manifest.recipe} --parts {part} -o {models.bundle}"
    return BundleError(f"{models.bundle}: has no networks that {does}: `{adds}` adds them{first}")


def _family(role: str) -> str:
    return role.split("_", 1)[0]


@dataclass(frozen=True, eq=False)
class ImageCode:
    """The image tower's outputs for a photo.

    `embedding`: [D], of unit length. `patches`: [P, F]. `labels`: (name, probability), best first.
    """

    embedding: FloatArray
    patches: FloatArray
    labels: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class SoftPrompts:
    """The DPE's outputs for a photo.

    `prompts`: [P, H]. `experts`, `weights`: the experts that ran, and their weights. `macs_saved`: the
    multiply-adds of the experts that did not run.
    """

    prompts: FloatArray
    experts: tuple[int, ...]
    weights: tuple[float, ...]
    macs_saved: int


class Models:
    """The sessions of one bundle on one backend.

    `backend`: its name, which is the artifacts' target. `chosen`: the name with the processors to use, if any
    were given ("coreml:cpu_and_ne"). `threads`: of each session, None for as many as are free when the first
    is opened. `max_memory`: bytes of artifacts that may be loaded at once, None for no limit. A session that
    does not fit beside the others first unloads the longest unused ones; those of one family, such as the
    language model's, are unloaded together. They are loaded again on their next use.
    """

    def __init__(
        self,
        bundle: Path,
        manifest: mf.Manifest,
        backend: str,
        threads: int | None = None,
        max_memory: int | None = None,
    ) -> None:
        self.bundle, self.manifest, self._threads, self.max_memory = bundle, manifest, threads, max_memory
        self.chosen, self.backend = backend, backend.partition(":")[0]
        self._sessions: dict[str, Session] = {}
        self.verdicts: dict[str, Verdict] = {}
        self._prefixes: dict[str, Prefix | None] = {}
        self._adapters: dict[str, dict[str, FloatArray]] = {}
        self._lock = Lock()
        # Threads index photos; only ONNX Runtime promises that they may share a session.
        self._alone: AbstractContextManager[object] = nullcontext() if self.backend == "onnx" else Lock()

    @classmethod
    def open(
        cls,
        bundle: Path,
        backend: str = "onnx",
        threads: int | None = None,
        max_memory: int | None = None,
        allow_random: bool = False,
    ) -> Models:
        """Opens a bundle; checks its files except the artifacts, which are checked when they are loaded.

        Raises BundleError for files that are missing or differ from the manifest, RuntimeFailure for an
        unknown backend or one of another system, and for a bundle of random weights unless `allow_random`.
        """
        split(backend)
        manifest = mf.read(bundle)
        if manifest.random_parts and not allow_random:
            parts = ", ".join(manifest.random_parts)
            raise RuntimeFailure(
                f"{bundle}: random weights ({parts}), for sizes and speed: it finds nothing; --allow-random "
                "uses it all the same"
            )
        mf.check_files(bundle, manifest)
        if manifest.schema_version == 1:
            LOG.warning(
                "%s: of version 1, without fixtures: whether its components are right on this processor is "
                "not checked; export it again",
                bundle,
            )
        return cls(bundle, manifest, backend, threads, max_memory)

    @cached_property
    def threads(self) -> int:
        """Of each session: as given, else decided when the first is opened (free_cores.py)."""
        return self._threads or free_cores.threads()

    def session(self, role: str) -> Session:
        """The session of a component, loaded on first use.

        Loading checks the artifact's hash and, if its parity was measured on other kernels than this
        machine's, its fixtures (selfcheck.py). Raises RuntimeFailure if its family alone exceeds
        `max_memory`, and if its results are wrong on this machine.
        """
        with self._lock:
            if role not in self._sessions:
                self._make_room(role)
                self._sessions[role], self.verdicts[role] = open_checked(
                    self.bundle, self.manifest, self.chosen, role, self.threads
                )
            self._sessions[role] = self._sessions.pop(role)  # moved to the end: the longest unused first
            return self._sessions[role]

    def held(self) -> dict[str, int]:
        """The bytes of the loaded artifacts, by role, the longest unused first."""
        return {role: self.manifest.artifact(role, self.backend).bytes for role in tuple(self._sessions)}

    def describe(self) -> str:
        """Backend, threads, allocation, arithmetic and loaded artifacts, for a trace."""
        bound = "" if self.max_memory is None else f" of at most {self.max_memory / 1e6:.0f}"
        loaded = ", ".join(f"{role} {size / 1e6:.0f}" for role, size in self.held().items())
        return (
            f"{self.chosen}, {SET_UP[self.backend].format(threads=self.threads)}; {self.arithmetic()}; in "
            f"memory, MB{bound}: {loaded or 'nothing'}"
        )

    def arithmetic(self) -> str:
        """The arithmetic of the loaded artifacts, each kind once: "int8, VNNI; int4, VNNI"."""
        kinds = (self.arithmetic_of(role) for role in sorted(self.held()))
        return "; ".join(dict.fromkeys(kinds)) or "nothing computed yet"

    def arithmetic_of(self, role: str) -> str:
        """The arithmetic of a component; once it is opened, on the units that its self-check chose."""
        verdict = self.verdicts.get(role)
        unfused = verdict is not None and verdict.units == "unfused"
        return processor.arithmetic(self.backend, self.manifest.artifact(role, self.backend).quant, unfused)

    def _make_room(self, role: str) -> None:
        if self.max_memory is None:
            return
        held, need = self.held(), self.manifest.artifact(role, self.backend).bytes
        resident = sum(size for name, size in held.items() if _family(name) == _family(role))
        if resident + need > self.max_memory:
            raise RuntimeFailure(
                f"{role} needs {(resident + need) / 1e6:.0f} MB, the budget is {self.max_memory / 1e6:.0f}: "
                "raise --max-memory"
            )
        for family in dict.fromkeys(_family(name) for name in held if _family(name) != _family(role)):
            if sum(self.held().values()) + need <= self.max_memory:
                return
            for name in [name for name in self._sessions if _family(name) == family]:
                del self._sessions[name]
            for user in _USERS.get(family, ()):
                self.__dict__.pop(user, None)

    @cached_property
    def text(self) -> TextEncoder:
        fixed = self.manifest.artifact("text_tower", self.backend).inputs[0].shape[1]
        return TextEncoder(
            self.session("text_tower"),
            self.data("text_tokenizer.json"),
            fixed if isinstance(fixed, int) else 128,
            self.manifest.text_prompts,
        )

    def query_adapter(self, own: Path) -> FloatArray | None:
        """What reads queries, float32 [layers, 2, rank, H]: the file `own`, if it exists, else the bundle's.

        None without either. An own one that does not fit the text tower is passed over, with a warning.
        """
        artifact = self.manifest.artifact("text_tower", self.backend)
        tower = self.manifest.component("text_tower").source
        if own.is_file():
            try:
                return query_adapter.read_for(own, artifact, tower)
            except RuntimeFailure as error:
                LOG.warning("%s; searching without it", error)
        if query_adapter.shape_of(artifact) is None or not self.manifest.has_file(mf.ADAPTER_FILE):
            return None
        return query_adapter.read_for(self.data(mf.ADAPTER_FILE), artifact, tower)

    @cached_property
    def gazetteer(self) -> Gazetteer:
        from ..bundle.gazetteer import Gazetteer

        return Gazetteer.open(self.data("gazetteer.sqlite"))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        # An image tower that shares the text tower's space needs no labels.
        if not self.manifest.has_file("labels.json"):
            return ()
        return tuple(json.loads(self.data("labels.json").read_text(encoding="utf-8")))

    @cached_property
    def language_model(self) -> LanguageModel:
        from .language.decoder import open_decoder
        from .language.llm import LanguageModel

        language = self.manifest.decoder()
        encoder = None if language.start_id is None else self.session("llm_encoder")
        decoder = open_decoder(self.session("llm_decoder"), language, encoder)
        return LanguageModel(
            self.session("llm_embed"),
            decoder,
            language,
            lambda ids: str(self.llm_tokenizer.decode(list(ids))),
            self._adapter,
        )

    @property
    def adapters(self) -> tuple[str, ...]:
        """The names of the adapters that the language model can be switched to."""
        if self.backend == "onnx":
            return tuple(self.manifest.adapters)
        found = (a for a in self.manifest.artifacts if (a.role, a.target) == ("llm_decoder", self.backend))
        return next((a.adapters for a in found), ())

    def check_adapter(self, name: str) -> None:
        """Raises RuntimeFailure for an adapter that the language model does not have."""
        if name not in self.adapters:
            have = ", ".join(self.adapters) or "none"
            raise RuntimeFailure(
                f"{self.bundle}: no adapter {name!r} for {self.backend}, but {have}: export it with "
                f"--adapter {name[:80]}=DIR, for onnx, or coreml with --coreml-cache state"
            )

    def _adapter(self, name: str) -> dict[str, FloatArray]:
        """The matrices of an adapter, read on first use; none of one that is in the decoder's own file.

        Raises RuntimeFailure for one that does not fit.
        """
        from ..backends.onnx_backend import read_adapter

        if name not in self._adapters:
            self.check_adapter(name)
            if self.backend != "onnx":
                return {}
            path = mf.inside(self.bundle, self.manifest.adapters[name].path)
            self._adapters[name] = read_adapter(path, self.session("llm_decoder"))
        return self._adapters[name]

    @cached_property
    def llm_tokenizer(self) -> Any:
        return open_tokenizer(self.data("llm_tokenizer.json"))

    @cached_property
    def llm_vocabulary(self) -> Vocabulary:
        """Raises RuntimeFailure for a model that no grammar can hold (`can_be_held`)."""
        from .language.grammar import Vocabulary

        return Vocabulary.read(self.data("llm_tokenizer.json").read_text(encoding="utf-8"))

    @cached_property
    def can_be_held(self) -> bool:
        """Whether a grammar can hold what the language model writes: its tokens must be known bytes."""
        try:
            _ = self.llm_vocabulary
        except RuntimeFailure:
            return False
        return True

    @property
    def has_faces(self) -> bool:
        """Whether the bundle has the networks that find faces, for this backend."""
        return self._has(mf.FACE_ROLES)

    @cached_property
    def faces(self) -> FaceReader:
        """Finds faces in photos. Raises BundleError for a bundle without face networks."""
        from . import landmarks
        from .faces import DETECTOR, ENCODER, FaceReader

        if not self.has_faces:
            raise _lacking(self, "find faces", "faces", " (first: make weights-faces)")
        for name in landmarks.FILES:
            self.data(name)
        return FaceReader(
            self.session(DETECTOR),
            self.session(ENCODER),
            landmarks.load(self.bundle),
            self.manifest.component(ENCODER).source,
        )

    @property
    def has_lines(self) -> bool:
        """Whether the bundle has the networks that read text, for this backend."""
        return self._has(mf.OCR_ROLES)

    def _has(self, roles: tuple[str, ...]) -> bool:
        have = {artifact.role for artifact in self.manifest.artifacts if artifact.target == self.backend}
        return have.issuperset(roles)

    @cached_property
    def lines(self) -> LineReader:
        """Reads text in photos. Raises BundleError for a bundle without the networks that do."""
        from .printed import CHARACTERS, DETECTOR, RECOGNISER, LineReader, characters

        if not self.has_lines:
            raise _lacking(self, "read text", "ocr")
        listed = characters(self.data(CHARACTERS))
        return LineReader(self.session(DETECTOR), self.session(RECOGNISER), listed)

    def prompt(self, name: str, query: str, notes: str = "") -> tuple[int, ...]:
        """The token ids of the bundle's prompt `name`, filled in.

        The language model is given the prompt's prefix cache, if there is one. Raises BundleError.
        """
        from .language import prefix

        fixed, rest = prefix.encode(self.llm_tokenizer, self.manifest.prompt(name), query, notes)
        stored = self.prefix(name)
        if stored is not None:
            self.language_model.reuse.offer(stored)
        return fixed + rest

    def prefix(self, name: str) -> Prefix | None:
        """The stored cache of the beginning of the bundle's prompt `name`, if it has one.

        Raises BundleError.
        """
        from .language import prefix

        if name not in self._prefixes:
            fixed, _ = prefix.encode(self.llm_tokenizer, self.manifest.prompt(name), "")
            self._prefixes[name] = prefix.load(self.bundle, self.manifest, self.backend, name, fixed)
        return self._prefixes[name]

    def data(self, name: str) -> Path:
        """The path of a data file of the bundle."""
        return mf.inside(self.bundle, self.manifest.file(name).path)

    def encode_image(self, pixels: NDArray[np.uint8]) -> ImageCode:
        """The embedding, patches and five likeliest labels of a photo, uint8 RGB [H, W, 3].

        A label is the first lemma of its entry; a tower without labels gives none.
        """
        from .image import tower_input

        tower = self.session("image_tower")
        given = tower_input(tower, pixels, self.manifest.pixels())
        with self._alone:
            out = tower.run(given)
        embedding = out["embedding"][0].astype(np.float32)
        labels = self._best(out["label_probs"][0].astype(np.float32)) if "label_probs" in out else ()
        return ImageCode(
            unit(embedding),
            out["patches"][0].astype(np.float32),
            labels,
        )

    def _best(self, probs: FloatArray) -> tuple[tuple[str, float], ...]:
        best = [int(i) for i in np.argsort(-probs, kind="stable")[:5]]
        return tuple((self.labels[i].split(",")[0].strip(), float(probs[i])) for i in best)

    def project(self, patches: FloatArray, rho: float | None = None) -> SoftPrompts:
        """Soft prompts [P, H] in the language model's space, from patches [P, F]; [1, H] by pooled experts.

        Runs the router, then only the experts that Eq. 1 chooses. `rho`: instead of the bundle's ρ.
        """
        from .router import choose

        rho = self.manifest.thresholds.rho if rho is None else rho
        router = self.session("dpe_router")
        given: dict[str, Array] = {"patches": patches[None]}
        with self._alone:
            weights = router.run(given)["weights"][0].astype(np.float32)
        experts, shares = choose(weights, rho)
        chosen = [self.session(f"dpe_expert_{e}") for e in experts]
        with self._alone:
            outputs = [expert.run(given)["prompts"][0] for expert in chosen]
        prompts = sum(w * output for w, output in zip(shares, outputs, strict=True))
        saved = sum(
            self.manifest.component(f"dpe_expert_{e}").macs for e in range(len(weights)) if e not in experts
        )
        return SoftPrompts(np.asarray(prompts, np.float32), experts, tuple(float(w) for w in shares), saved)

    def picture_prompts(self, pixels: NDArray[np.uint8]) -> FloatArray:
        """Soft prompts [P, H] that stand for a photo, uint8 RGB [H, W, 3], in the language model's prompt.

        Raises BundleError for a bundle whose language model sees no pictures.
        """
        from .image import tower_input

        spec = mf.picture_pixels(self.bundle, self.manifest)
        reader = self.session(mf.VISION)
        given = tower_input(reader, pixels, spec)
        with self._alone:
            prompts = np.asarray(reader.run(given)["prompts"][0], np.float32)
        if prompts.ndim != 2 or prompts.shape[1] != self.manifest.decoder().hidden:
            raise BundleError(
                f"{self.bundle}: a picture becomes {list(prompts.shape)}, the decoder takes rows of "
                f"{self.manifest.decoder().hidden}: export it again"
            )
        return prompts

    def photo_vector(self, patches: FloatArray) -> FloatArray:
        """v_I, float32 [H] of unit length: the mean of a photo's soft prompts over its patches [P, F].

        The paper (section 3.3) does not say how it pools.
        """
        return unit(self.project(patches).prompts.mean(axis=0))

    def query_vector(self, channel: mf.Channel, text: str, vector: FloatArray) -> FloatArray:
        """v_Q, float32 [H] of unit length, for a channel of the bundle.

        `text`: the refined query; `vector`: its vector by the text tower, float32 [D].
        """
        state = vector if channel.query == "text" else self.end_state(text)
        if any(component.role == "dpe_query" for component in self.manifest.components):
            state = self.session("dpe_query").run({"state": state[None]})["vector"][0]
        return unit(state)

    def end_state(self, text: str) -> FloatArray:
        """The decoder's hidden state at [EOS] after a text, float32 [H] (paper section 3.4).

        [EOS] is the last of the tokens that end an answer; of a text too long for the cache, the beginning
        is read.
        """
        model = self.language_model
        ids = self.llm_tokenizer.encode(text).ids[: model.language.max_seq - 1]
        return model.state((*ids, model.language.eos_ids[-1]))


def check_encoders(models: Models, meta: AlbumMeta, album: Path) -> None:
    """Raises RuntimeFailure, naming the command to run, if the album's vectors are from other encoders."""
    for in_bundle, in_album in (
        (models.manifest.text_encoder, meta.text_encoder),
        (models.manifest.image_encoder, meta.image_encoder),
    ):
        if in_bundle != in_album:
            raise RuntimeFailure(
                f"{album}: made by {in_album}, the bundle has {in_bundle}: "
                f"run `gamer index update {album} -b {models.bundle}`"
            )
