"""A beginning in closed form: from a few hundred pairs, gradients alone learn the pairs by heart.

The experts start as projections onto complementary principal components of the patches, with blocks that add
nothing yet, and a ridge regression of what they see onto two things side by side:

* the query encoder's states of the photo's own memories, without their mean;
* where the image tower knows labels, the photo's label scores. A query's side of that is attention over the
  labels' names (QueryHead), so that "my cat" asks for what a photo of a cat looks like.

Instead of blocks that add nothing, each expert can have the layers of the text tower's sentence encoder
(`layers`), as the paper's experts begin as pre-trained layers; the rest is the same.

On 546 photographs with half of the memories withheld, the first alone finds fewer photos than the labels do
from short queries, and both together 1.6 times as many (docs/train.md has figures).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from ..components import components
from ..errors import ExportError
from ..networks.bert import BertLayer, SentenceEncoder
from ..networks.dpe import QueryHead
from ..settings import Settings
from .features import Features
from .projection import Projection

Matrix = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Layers:
    """Pre-trained blocks: their attention's heads, and each one's parameters by name."""

    heads: int
    blocks: Sequence[dict[str, torch.Tensor]]

    @property
    def width(self) -> int:
        return int(self.blocks[0]["out.bias"].numel())


# Ridge penalties as shares of the number of rows, with rows of mean square length 1; the labels are many and
# exact, the memories few and loosely tied to the pixels.
_MEMORY_RIDGE, _LABEL_RIDGE = 0.03, 0.0005
_TEMPERATURE = 0.05  # of the attention over label names, of cosines
_LABEL_SHARE = 0.5  # spread of the label scores against that of the memories' in the sum
_PATCHES = 20_000  # patches that the principal components are computed from, at most
_BATCH = 64


@dataclass(frozen=True, eq=False)
class StartData:
    """What the start is made of.

    `states`: float32 [M, W], the query encoder's states of the memories; `owners`: [M], their photos' rows.
    `names`: float32 [C, W], the states of the labels' names, or None without labels. `texts`: [M], the
    memories, and `queries`: [M], how each one's photo was asked for, or ""; a language model that is trained
    reads them.
    """

    states: Matrix
    owners: Sequence[int]
    names: Matrix | None
    texts: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()


def pretrained(settings: Settings) -> Layers:
    """The layers of the recipe's sentence encoder as an expert's blocks; it may read a patch as a word.

    Raises ExportError for a text tower without layers of BERT's form and an expert's proportions.
    """
    tower = components.build(settings, "text_tower", "fp32").module
    encoder = next((part for part in tower.modules() if isinstance(part, SentenceEncoder)), None)
    layers = [layer for layer in encoder.layers if isinstance(layer, BertLayer)] if encoder else []
    if not layers or any(x.up.out_features != 4 * x.up.in_features or x.activation != F.gelu for x in layers):
        raise ExportError(
            f"recipe {settings.recipe}: its text tower has no layers that an expert can begin as: give "
            "--start closed or random"
        )
    return Layers(layers[0].attention.heads, [as_block(layer) for layer in layers])


def as_block(layer: BertLayer) -> dict[str, torch.Tensor]:
    """The parameters of a layer of BERT's, by an expert's names of them."""
    parts = (layer.attention.query, layer.attention.key, layer.attention.value)
    own = {"out": layer.attention_out, "attention_norm": layer.attention_norm, "norm": layer.norm}
    block = {f"qkv.{kind}": torch.cat([getattr(p, kind) for p in parts]) for kind in ("weight", "bias")}
    for name, part in (own | {"up": layer.up, "down": layer.down}).items():
        block |= {f"{name}.weight": part.weight, f"{name}.bias": part.bias}
    return {name: tensor.detach() for name, tensor in block.items()}


def initialise(model: Projection, features: Features, known: StartData, layers: Layers | None = None) -> None:
    """Sets all parameters of `model` in place, from `features` of the photos and what is known of them.

    `layers`: what its blocks begin as; else they add nothing.
    """
    usable = np.flatnonzero(features.readable)
    with torch.no_grad():
        whole = features.patches[usable]
        if model.sizes.pooled:
            whole = whole.mean(1, keepdims=True, dtype=np.float32)
        _spread(model, whole, layers)
        seen = _seen(model, features.patches)
        seen_mean = seen[usable].mean(0)
        seen = seen - seen_mean
        length = float(np.sqrt((seen[usable] ** 2).sum(1).mean()))
        seen = seen / length
        photo_side, query_side, bias, values = _blocks(model, features, known, seen, usable)
        _set_experts(model, photo_side / length, seen_mean)
        if model.dpe_query is not None:
            _set_head(model.dpe_query, query_side, bias, known, values)


def _spread(model: Projection, patches: NDArray[np.floating], layers: Layers | None) -> None:
    """Each expert gets every E-th principal component of the patches; the router weighs all alike."""
    flat = patches.reshape(-1, patches.shape[-1])
    flat = flat[:: max(1, len(flat) // _PATCHES)].astype(np.float32)
    mean = flat.mean(0)
    directions = np.linalg.svd(flat - mean, full_matrices=False)[2]
    model.dpe_router.out.weight.zero_()
    model.dpe_router.out.bias.zero_()
    for n, expert in enumerate(model.experts):
        own = directions[n :: len(model.experts)][: model.sizes.width]
        weight = np.zeros((model.sizes.width, flat.shape[1]), np.float32)
        weight[: len(own)] = own
        if layers is not None:  # which read numbers of this size
            weight /= max(float(((flat - mean) @ own.T).std()), 1e-6)
        expert.project_in.weight.copy_(torch.from_numpy(weight))
        expert.project_in.bias.copy_(torch.from_numpy(-weight @ mean))
        for number, block in enumerate(expert.blocks):
            if layers is not None:
                block.load_state_dict(layers.blocks[number])
                continue
            for layer in (block.out, block.down):
                layer.weight.zero_()
                layer.bias.zero_()


def _seen(model: Projection, patches: NDArray[np.float16]) -> Matrix:
    """float32 [N, E · width]: the mean over the patches of what each expert's last layer gets."""
    rows = []
    for start in range(0, len(patches), _BATCH):
        batch = torch.from_numpy(patches[start : start + _BATCH].astype(np.float32))
        rows.append(torch.cat([expert.inner(batch).mean(1) for expert in model.experts], dim=1).numpy())
    return np.concatenate(rows)


def _blocks(
    model: Projection, features: Features, known: StartData, seen: Matrix, usable: NDArray[np.intp]
) -> tuple[Matrix, Matrix, Matrix, Matrix | None]:
    """(photo side [E · width, H], query side [H, W], its bias [H], label values [H, C] or None)."""
    hidden, slots = model.sizes.hidden, model.side.slots
    labelled = slots > 0 and features.labels is not None and known.names is not None
    room = min(seen.shape[1], hidden // 3) if labelled else 0
    mean = known.states.mean(0)
    basis = _basis(known.states - mean, min(known.states.shape[1], hidden - room))
    photo_side = np.zeros((seen.shape[1], hidden), np.float32)
    query_side = np.zeros((hidden, known.states.shape[1]), np.float32)
    owned = seen[np.asarray(known.owners)]
    told = _ridge(owned, (known.states - mean) @ basis.T, _MEMORY_RIDGE)
    told /= _length(seen[usable] @ told)
    memory_scores = (known.states - mean) @ basis.T @ (seen[usable] @ told).T
    spread = 1.0 / max(float(memory_scores.std()), 1e-6)
    photo_side[:, : len(basis)], query_side[: len(basis)] = told, spread * basis
    values = None
    if labelled and features.labels is not None and known.names is not None:
        likely, to_labels = _label_block(features.labels, seen, usable, room)
        photo_side[:, len(basis) : len(basis) + room] = likely
        values = np.zeros((hidden, slots), np.float32)
        scores = attention(known.states, known.names) @ to_labels.T @ (seen[usable] @ likely).T
        weight = _LABEL_SHARE / max(float(scores.std(axis=1).mean()), 1e-6)
        values[len(basis) : len(basis) + room] = weight * to_labels
    return photo_side, query_side, -query_side @ mean, values


def _label_block(labels: Matrix, seen: Matrix, usable: NDArray[np.intp], room: int) -> tuple[Matrix, Matrix]:
    """(what is seen → `room` dimensions, the same dimensions of each label [room, C]).

    The dimensions are those in which the label scores that can be predicted from what is seen differ most.
    """
    scores = np.log(labels[usable] + 1e-12)
    scores -= scores.mean(1, keepdims=True)
    scores -= scores.mean(0)
    scores /= np.maximum(np.linalg.norm(scores, axis=1, keepdims=True), 1e-9)
    to_scores = _ridge(seen[usable], scores, _LABEL_RIDGE)
    basis = _basis(to_scores, room)
    likely = to_scores @ basis.T
    return likely / _length(seen[usable] @ likely), basis


def attention(states: Matrix, names: Matrix) -> Matrix:
    """float32 [M, C]: the softmax over label names of each state's products with them (QueryHead's keys)."""
    scores = states @ keys(names).T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(weights / weights.sum(1, keepdims=True), np.float32)


def keys(names: Matrix) -> Matrix:
    """float32 [C, W]: the keys; for states of unit length, cosines over the temperature."""
    return np.asarray(names / (_TEMPERATURE * float((names**2).sum(1).mean())), np.float32)


def _basis(rows: Matrix, count: int) -> Matrix:
    """float32 [count, D], orthonormal: the directions in which `rows` vary most; all of them if D = count."""
    if count >= rows.shape[1]:
        return np.eye(rows.shape[1], dtype=np.float32)
    found = np.linalg.svd(rows, full_matrices=False)[2][:count]
    out = np.zeros((count, rows.shape[1]), np.float32)
    out[: len(found)] = found
    return out


def _ridge(inputs: Matrix, wanted: Matrix, penalty: float) -> Matrix:
    left = inputs.T @ inputs + penalty * len(inputs) * np.eye(inputs.shape[1], dtype=np.float32)
    return np.asarray(np.linalg.solve(left, inputs.T @ wanted), np.float32)


def _length(rows: Matrix) -> float:
    return max(float(np.sqrt((rows**2).sum(1).mean())), 1e-6)


def _set_experts(model: Projection, photo_side: Matrix, mean: Matrix) -> None:
    count, width = len(model.experts), model.sizes.width
    for n, expert in enumerate(model.experts):
        own = slice(n * width, (n + 1) * width)
        weight = count * photo_side[own]  # the router gives each expert 1 / count
        expert.project_out.weight.copy_(torch.from_numpy(np.ascontiguousarray(weight.T)))
        expert.project_out.bias.copy_(torch.from_numpy(-mean[own] @ weight))


def _set_head(
    head: QueryHead, query_side: Matrix, bias: Matrix, known: StartData, values: Matrix | None
) -> None:
    head.direct.weight.copy_(torch.from_numpy(query_side))
    head.direct.bias.copy_(torch.from_numpy(np.asarray(bias, np.float32)))
    if head.keys is None or head.values is None:
        return
    if values is None or known.names is None:
        head.values.weight.zero_()
        return
    head.keys.weight.copy_(torch.from_numpy(keys(known.names)))
    head.keys.bias.zero_()
    head.values.weight.copy_(torch.from_numpy(values))
