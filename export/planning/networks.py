"""The networks of an export without their weights, for a dry run: names, shapes and numbers of tensors.

They are built on the meta device, which takes no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import nn

from gamer.runtime.models.faces import DETECTOR, ENCODER

from ..checkpoints import catalogue, pocket
from ..checkpoints.weights import NoWeights
from ..components import components, decoders, experts, printed, sentence, towers
from ..networks.decoder import Embedding
from ..networks.dpe import QueryHead
from ..networks.efficientnet_lite import LABELS, ConseTower, EfficientNetLite0
from ..networks.faces import FaceDetector, FaceEncoder
from ..recipe import OCR_ROLES, VISION
from ..settings import Settings

TABLE = "llm_embed"
FACES: dict[str, Callable[[], nn.Module]] = {DETECTOR: FaceDetector, ENCODER: FaceEncoder}
PRINTED: dict[str, Callable[[str | None], nn.Module]] = dict(
    zip(OCR_ROLES, (printed.detector, printed.recogniser), strict=True)
)


def networks(settings: Settings) -> Iterator[tuple[str, Callable[[], nn.Module]]]:
    """(role, what builds its network) of each component.

    Raises ExportError for a source that cannot be opened.
    """
    roles = components.roles(settings)
    if TABLE in roles:
        steps = decoders.networks(components.checkpoint(settings, "llm").config, settings.slots)
        yield TABLE, partial(_table, steps["llm_decoder"])
        for role, network in steps.items():
            yield role, partial(_as_it_is, network)
    if VISION in roles:
        yield VISION, partial(_picture, settings)
    for role in roles:
        if role.startswith("dpe_"):
            yield role, partial(_expert, settings, role)
    if "image_tower" in roles:
        yield "image_tower", partial(_image, settings)
    if "text_tower" in roles:
        yield "text_tower", partial(_text, settings)
    for role, kind in FACES.items():
        if role in roles:
            yield role, partial(_face, kind)
    for role, read in PRINTED.items():
        if role in roles:  # a file says what the network is: 31 MB are read
            yield role, partial(read, settings.source("ocr"))


def parameters(network: nn.Module) -> int:
    """How many parameters a network has; of a token table, which is a buffer, its numbers."""
    counted = network.buffers() if isinstance(network, Embedding) else network.parameters()
    return sum(tensor.numel() for tensor in counted)


def _as_it_is(network: nn.Module) -> nn.Module:
    return network


def _table(decoder: nn.Module) -> nn.Module:
    shape: tuple[int, ...] = decoder.get_parameter("head.weight").shape
    return Embedding(torch.empty(shape, device="meta"))


def _expert(settings: Settings, role: str) -> nn.Module:
    sizes, source = components.dpe_sizes(settings), settings.source("dpe")
    if source is not None and not catalogue.is_random(source):
        experts.check(components.checkpoint(settings, "dpe"), sizes)
    with torch.device("meta"):
        if role == experts.HEAD:
            side = components.query_side(settings)
            return QueryHead(side.width, side.slots, sizes.hidden)
        return experts.module(role, sizes)


def _image(settings: Settings) -> nn.Module:
    if settings.model("image") == components.CONSE:
        width = components.checkpoint(settings, "text").config["hidden_size"]
        with torch.device("meta"):
            vectors = torch.empty(LABELS, width)
            network = pocket.folded(EfficientNetLite0().eval())
            return ConseTower(network, vectors, components.MEAN, components.STD)
    return towers.image_tower(components.checkpoint(settings, "image").config, NoWeights()).module


def _picture(settings: Settings) -> nn.Module:
    opened = components.checkpoint(settings, "llm")
    return towers.picture_reader(opened.config, NoWeights(), opened.processor).module


def _face(kind: Callable[[], nn.Module]) -> nn.Module:
    with torch.device("meta"):
        return kind()


def _text(settings: Settings) -> nn.Module:
    opened = components.checkpoint(settings, "text")
    if catalogue.is_sentence_encoder(opened.config):
        return sentence.network(opened.config, NoWeights(), opened.sentence, settings.chosen.max_text)
    return towers.text_tower(opened.config, NoWeights()).module
