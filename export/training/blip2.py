"""r1 of the reward by a BLIP-2 that is given (Li et al. 2023, arXiv 2301.12597), as in the paper.

It is fine-tuned on the person's own photos and memories first: the two projections into the space of its
contrastive loss learn, vision model and Q-Former stay. The checkpoint is a directory as `transformers` saves
a Blip2ForImageTextRetrieval, with safetensors; nothing is downloaded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from gamer.index import IngestError, load_pixels
from gamer.runtime.models.image import prepare

from ..checked import read_object
from ..checkpoints import preprocessing
from ..errors import ExportError
from . import pairs, sft
from .loading import fingerprint
from .losses import paired
from .options import TAU
from .run_folder import save_tensors

KIND = "blip-2"
EPOCHS, BATCH, RATE, MOST = 5, 32, 1e-4, 64  # MOST: tokens of a text
_HEADS = ("vision_projection", "text_projection")


class Blip2Fit:
    """(1 + cosine) / 2 of a text and the query token of the photo that is nearest to it."""

    def __init__(self, folder: Path) -> None:
        """Raises ExportError for a directory that is no such checkpoint, or not whole."""
        from tokenizers import Tokenizer
        from transformers import Blip2ForImageTextRetrieval
        from transformers.utils import logging

        logging.disable_progress_bar()
        config = read_object(folder / "config.json") or {}
        if config.get("model_type") != KIND:
            raise ExportError(
                f"{folder}: no BLIP-2 checkpoint: give a directory with config.json, tokenizer.json, "
                "preprocessor_config.json and safetensors of a Blip2ForImageTextRetrieval"
            )
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._model, told = Blip2ForImageTextRetrieval.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
        except Exception as error:  # transformers and tokenizers raise whatever they like
            raise ExportError(
                f"{folder}: cannot be read as BLIP-2 ({' '.join(str(error).split())[:160]})"
            ) from None
        if told["missing_keys"] or told["mismatched_keys"]:
            lacking = sorted(map(str, [*told["missing_keys"], *told["mismatched_keys"]]))
            raise ExportError(f"{folder}: not a whole BLIP-2 for retrieval: no fitting {lacking[0]}")
        self._model.eval().requires_grad_(False)
        side = self._model.config.vision_config.image_size
        processor = read_object(folder / "preprocessor_config.json")
        self._spec = preprocessing.of_architecture(KIND, side, processor)
        self._photos: dict[Path, Tensor] = {}
        self.source = fingerprint(folder)
        self.heads = torch.nn.ModuleDict({name: getattr(self._model, name) for name in _HEADS})

    def __call__(self, text: str, photo: Path) -> float:
        with torch.no_grad():
            return (1 + float(self.cosines(self.photo(photo)[None], self.text(text)[None]))) / 2

    def cosines(self, photos: Tensor, texts: Tensor) -> Tensor:
        """[B, T] of photos [B, queries, H] and texts [T, H], by the query token that is nearest."""
        shown = F.normalize(self._model.vision_projection(photos), dim=-1)
        said = F.normalize(self._model.text_projection(texts), dim=-1)
        return torch.einsum("bqh,th->bqt", shown, said).amax(dim=1)

    def photo(self, path: Path) -> Tensor:
        """float32 [queries, H]: what the Q-Former says of a photo; kept. Raises IngestError."""
        if path not in self._photos:
            image = torch.from_numpy(prepare(load_pixels(path), self._spec))
            mean, std = (
                torch.tensor(values)
                for values in (self._spec.channel_mean or (0.0,), self._spec.channel_std or (1.0,))
            )
            model = self._model
            with torch.no_grad():
                pixels = ((image - mean) / std).permute(0, 3, 1, 2)
                patches = model.vision_model(pixel_values=pixels).last_hidden_state
                self._photos[path] = model.qformer(
                    query_embeds=model.query_tokens.expand(1, -1, -1),
                    encoder_hidden_states=patches,
                    encoder_attention_mask=torch.ones(patches.shape[:2], dtype=torch.long),
                ).last_hidden_state[0]
        return self._photos[path]

    def text(self, text: str) -> Tensor:
        """float32 [H]: what the Q-Former says of a text."""
        ids = torch.tensor([self._tokenizer.encode(text).ids[:MOST]])
        with torch.no_grad():
            embeds = self._model.embeddings(input_ids=ids)
            found = self._model.qformer(
                query_embeds=embeds, query_length=0, attention_mask=torch.ones_like(ids)
            )
        return torch.as_tensor(found.last_hidden_state[0, 0])


def fine_tune(fit: Blip2Fit, data: pairs.Pairs, folder: Path, stage: sft.Stage, say: sft.Say) -> None:
    """Trains the projections of `fit` on the pairs of an album, by Eq. 3-4 and its τ.

    They are kept in `folder`, and taken from there for the same model and pairs. Photos that cannot be read
    are left out. Raises ExportError.
    """
    from safetensors.torch import load_file

    key = hashlib.sha256(f"{fit.source} {data.digest()}".encode()).hexdigest()
    kept = folder / f"blip2-{key[:16]}.safetensors"
    if kept.is_file():
        fit.heads.load_state_dict(load_file(kept))
        return
    told = _readable(fit, data, stage)
    if len(told) < 2:
        raise ExportError("BLIP-2 learns from two photos with a memory or more, whose pixels can be read")
    with torch.enable_grad():
        fit.heads.requires_grad_(True)
        losses = _trained(fit, told, data.paths, stage)
        fit.heads.requires_grad_(False)
    say(f"BLIP-2 fine-tuned on {len(told)} memories: loss {losses[0]:.3f} → {losses[-1]:.3f}")
    save_tensors(kept, {name: value.contiguous() for name, value in fit.heads.state_dict().items()})


def _trained(
    fit: Blip2Fit, told: Sequence[tuple[str, int]], paths: Sequence[Path], stage: sft.Stage
) -> list[float]:
    """The mean loss of each epoch."""
    texts = list(dict.fromkeys(text for text, _ in told))
    states = torch.stack([fit.text(text) for text in texts])
    owners = torch.tensor([owner for _, owner in told])
    numbers = torch.tensor([texts.index(text) for text, _ in told])
    optimiser = torch.optim.AdamW(fit.heads.parameters(), lr=RATE, weight_decay=0.01)
    order, means = np.random.default_rng(0), list[float]()
    for epoch in range(EPOCHS):
        stage("fine-tuning BLIP-2", epoch, EPOCHS)
        losses = []
        for rows in np.array_split(order.permutation(len(told)), max(1, len(told) // BATCH)):
            photos = torch.stack([fit.photo(paths[told[n][1]]) for n in rows])
            scores = fit.cosines(photos, states[numbers[rows]]) / TAU
            loss = paired(scores, owners[rows], numbers[rows])
            if not bool(torch.isfinite(loss)):
                raise ExportError("BLIP-2's loss is not a number: its weights are damaged")
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(float(loss.detach()))
        means.append(float(np.mean(losses)))
    return means


def _readable(fit: Blip2Fit, data: pairs.Pairs, stage: sft.Stage) -> list[tuple[str, int]]:
    """Each memory with its photo's row, of those photos that can be read."""
    told, out = pairs.told(data.memories), []
    for n, (text, photo) in enumerate(told):
        stage("photos for BLIP-2", n, len(told))
        try:
            fit.photo(data.paths[photo])
        except IngestError:
            continue
        out.append((text, photo))
    return out
