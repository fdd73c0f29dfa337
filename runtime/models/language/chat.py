"""Text from a bundle's language model: a dialogue or a bare text in, the answer out, piece by piece.

A dialogue is written in the model's own format, which the manifest has as prompts, one for each role, with
{query} where the words of a message go. A model without a turn for the system, such as Gemma, reads what it
would say at the beginning of the first user's turn. The words are tokenized apart from the marks around
them, so that no message can end its turn: a "<|im_end|>" in it is text.

    chat = Chat(Models.open(Path("out/pocket")))
    ids = chat.ids([Message("user", "Name three colours.")])
    chat.generate(ids, Wish(max_new=64), tell=lambda piece: print(piece.text, end="", flush=True))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Event
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray

from ...bundle import manifest as mf
from ...errors import BundleError, RuntimeFailure
from ..models import Models
from ..tokenizers import open_tokenizer
from .grammar import Constraint
from .llm import Generation, Piece, Request
from .sampling import GREEDY, Sampling

Role = Literal["system", "user", "assistant"]
TURN = "chat_"  # how the manifest's prompts begin that dialogues are written with
# Role → the manifest's prompt that is its turn.
TURNS: dict[Role, str] = {"system": "chat_system", "user": "chat_user", "assistant": "chat_assistant"}
BEGIN = "chat_begin"  # the prompt that stands once, before the first turn
PICTURE = "chat_picture"  # a user's turn that begins with a picture
MAX_NEW = 256
MAX_TEXT = 1_000_000  # characters of a prompt; more than any decoder's cache holds
_PLACE, _SHOWN = "{query}", "{image}"


@dataclass(frozen=True)
class Message:
    """What one side of a dialogue says."""

    role: Role
    content: str


@dataclass(frozen=True)
class Wish:
    """How to answer.

    `max_new`: the greatest number of new tokens. `stop`: strings that end the answer and are cut off.
    """

    max_new: int = MAX_NEW
    sampling: Sampling = GREEDY
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.max_new < 1 or "" in self.stop:
            raise RuntimeFailure(
                f"max_new {self.max_new}, stop {list(self.stop)}: one token or more, no empty stop string"
            )


@dataclass(frozen=True, eq=False)
class Shown:
    """A dialogue about a picture: its soft prompts [P, H] stand after the first `at` of `ids`."""

    ids: tuple[int, ...]
    soft: FloatArray | None
    at: int


class Chat:
    """Threads may share it: `generate` runs one call at a time."""

    def __init__(self, models: Models, adapter: str = "") -> None:
        """`adapter`: the name of the bundle's adapter that answers, "" for the model as it is.

        Raises BundleError for a bundle without a language model, and RuntimeFailure for one without this
        adapter.
        """
        if models.manifest.language is None:
            raise BundleError(
                f"bundle {models.manifest.recipe} has no language model: export a recipe that has one"
            )
        if adapter:
            models.check_adapter(adapter)
        self._models, self._adapter = models, adapter

    @property
    def name(self) -> str:
        """The source of the model's weights; with an adapter, MODEL:ADAPTER."""
        source = self._models.manifest.component("llm_decoder").source
        return f"{source}:{self._adapter}" if self._adapter else source

    @property
    def has_template(self) -> bool:
        """Whether the bundle says how the model reads dialogues."""
        return {TURNS["user"], TURNS["assistant"]} <= self._models.manifest.prompts.keys()

    def ids(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """The token ids of a dialogue, up to where the model's answer begins.

        Raises BundleError for a bundle whose model has no format for dialogues, and RuntimeFailure for a
        dialogue that the user does not end, that says nothing, or that is too long.
        """
        return self._ids(messages, TURNS["user"])[0]

    def shown(self, messages: Sequence[Message], pixels: NDArray[np.uint8]) -> Shown:
        """A dialogue whose last question is about a picture, uint8 RGB [H, W, 3], which stands before it.

        Raises BundleError for a model that sees no pictures, and as `ids` does.
        """
        mf.picture_pixels(self._models.bundle, self._models.manifest)
        if PICTURE not in self._models.manifest.prompts:
            raise BundleError(
                f"bundle {self._models.manifest.recipe} does not say how its model is shown a picture: "
                "export a checkpoint that has its chat template"
            )
        ids, at = self._ids(messages, PICTURE)
        return Shown(ids, self._models.picture_prompts(pixels), at)

    def _ids(self, messages: Sequence[Message], last: str) -> tuple[tuple[int, ...], int]:
        """The tokens of a dialogue whose last turn the prompt `last` writes; how many are before {image}."""
        if not self.has_template:
            raise BundleError(
                f"bundle {self._models.manifest.recipe} has no chat template: give --raw, or export a model "
                "for dialogues again"
            )
        if not messages or messages[-1].role != "user" or not messages[-1].content.strip():
            raise RuntimeFailure("the prompt is empty: a dialogue ends with words of the user's")
        _bound(sum(len(message.content) for message in messages))
        ids = [*self._models.llm_tokenizer.encode("").ids]  # the marks that begin every text, if any
        ids += self._marks(self._models.manifest.prompts.get(BEGIN, ""))
        said, at = [*_said(messages, TURNS["system"] in self._models.manifest.prompts)], 0
        for n, message in enumerate(said, 1):
            before, _, after = self._turn(last if n == len(said) else TURNS[message.role])
            first, _, second = before.rpartition(_SHOWN)
            ids += self._marks(first)
            at = len(ids)
            # A space before the words is of their first token, in a vocabulary of bytes.
            space = " " if second.endswith(" ") else ""
            ids += self._marks(second.removesuffix(space))
            ids += [*self._words(space + message.content), *self._marks(after)]
        return (*ids, *self._marks(self._turn(TURNS["assistant"])[0])), at

    def raw(self, text: str) -> tuple[int, ...]:
        """The token ids of a bare text. Raises RuntimeFailure for one that is empty or too long."""
        _bound(len(text))
        ids = tuple(self._models.llm_tokenizer.encode(_encodable(text)).ids)
        if not ids:
            raise RuntimeFailure("the prompt is empty")
        return ids

    def generate(
        self,
        ids: Sequence[int] | Shown,
        wish: Wish,
        tell: Callable[[Piece], None] | None = None,
        cancel: Event | None = None,
    ) -> Generation:
        """The answer to `ids`, or to what `shown` gave.

        `tell` hears each piece as it comes, `cancel` ends the answer when set.
        Raises RuntimeFailure for a prompt that does not fit the decoder's cache.
        """
        about = ids if isinstance(ids, Shown) else Shown(tuple(ids), None, 0)
        request = Request(
            about.ids,
            wish.max_new,
            about.soft,
            wish.sampling,
            wish.stop,
            cancel=cancel,
            soft_at=about.at,
            adapter=self._adapter,
        )
        return self._models.language_model.generate(request, tell)

    def _turn(self, name: str) -> tuple[str, str, str]:
        before, place, after = self._models.manifest.prompt(name).partition(_PLACE)
        if not place:
            raise BundleError(
                f"bundle {self._models.manifest.recipe}: the prompt {name!r} has no {_PLACE}: export it again"
            )
        return before, place, after

    def _marks(self, text: str) -> list[int]:
        return list(self._models.llm_tokenizer.encode(text, add_special_tokens=False).ids)

    def _words(self, text: str) -> list[int]:
        return list(self._plain_tokenizer.encode(_encodable(text), add_special_tokens=False).ids)

    @cached_property
    def _plain_tokenizer(self) -> Any:
        """The tokenizer again, to which the names of special tokens are text."""
        tokenizer = open_tokenizer(self._models.data("llm_tokenizer.json"))
        tokenizer.encode_special_tokens = True
        return tokenizer


def _said(messages: Sequence[Message], has_system: bool) -> Iterator[Message]:
    """The messages; without a turn for the system, its message begins the user's turn after it."""
    waiting = ""
    for message in messages:
        if message.role == "system" and not has_system:
            waiting += message.content + "\n\n"
        elif message.role == "user":
            yield Message("user", waiting + message.content)
            waiting = ""
        else:
            yield message


def _bound(characters: int) -> None:
    if characters > MAX_TEXT:
        raise RuntimeFailure(f"the prompt has {characters} characters, at most {MAX_TEXT} are read")


def _encodable(text: str) -> str:
    """Half characters, which a shell passes on where bytes are no UTF-8, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def completed(
    models: Models, prompt: str, most: int, stop: tuple[str, ...] = (), constraint: Constraint | None = None
) -> Generation | None:
    """How a bundle's language model goes on from a text, which has its own marks of turns.

    At most `most` tokens; None if they do not fit into the decoder's cache after it. Raises BundleError for a
    bundle without a language model.
    """
    ids = tuple(models.llm_tokenizer.encode(prompt, add_special_tokens=False).ids)
    if len(ids) + most > models.manifest.decoder().max_seq:
        return None
    return models.language_model.generate(Request(ids, most, stop=stop, constraint=constraint))
