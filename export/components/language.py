"""A recipe's decoder in fp32 torch over whole sentences: their states at [EOS], and their likelihood.

It computes what the runtime computes token by token on a phone, in batches and with gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from ..errors import ExportError
from ..networks import lora
from ..networks.decoder import DecoderStep
from ..networks.sequence import Cache, hidden_states
from ..settings import Settings
from . import components

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Stands between the soft prompts and a memory where no query is known; else the query's words do (Eq. 2).
ASKED = "This photo shows:"
Ids = Sequence[Sequence[int]]


class Language:
    """`step`: the decoder; `table`: its token table; `adapter`: its low-rank changes if they are trained."""

    def __init__(
        self,
        step: DecoderStep,
        table: nn.Module,
        tokenizer: Tokenizer,
        end: int,
        rank: int = 0,
        slots: int = 512,
    ) -> None:
        """`end`: the token [EOS]; `rank`: of the changes, 0 for none; `slots`: of the runtime's cache."""
        self._slots = slots
        self.step, self.table, self._tokenizer, self._end = step.requires_grad_(False), table, tokenizer, end
        self.adapter = lora.adapter(step, rank) if rank else None
        if self.adapter is not None:
            lora.attach(step, self.adapter)

    @classmethod
    def of(cls, settings: Settings, rank: int = 0) -> Language:
        """The recipe's. Raises ExportError for an encoder-decoder, which has no state at [EOS]."""
        from tokenizers import Tokenizer

        text, ends = components.llm_tokenizer(settings)
        step = components.build(settings, "llm_decoder", "fp32").module
        if not isinstance(step, DecoderStep):
            raise ExportError(
                f"recipe {settings.recipe}: no state at [EOS] of an encoder-decoder can be trained on"
            )
        table = components.build(settings, "llm_embed", "fp32").module
        return cls(step, table, Tokenizer.from_str(text), ends[-1], rank, settings.slots)

    def to(self, device: torch.device) -> Language:
        """Moves the decoder, its table and its adapter."""
        self.step.to(device)
        self.table.to(device)
        return self

    def ids(self, texts: Sequence[str], before: int = 0) -> list[list[int]]:
        """The tokens of each text, then [EOS]; without the start that some tokenizers put before a text.

        Of a text that is too long for the decoder's cache the beginning is taken, as the runtime does.
        `before`: positions before the text. Raises ExportError if these fill the cache.
        """
        room = self._room(before)
        return [[*self._tokenizer.encode(text).ids[:room], self._end] for text in texts]

    def _room(self, before: int) -> int:
        room = self._slots - 1 - before
        if room < 1:
            raise ExportError(
                f"{before} soft prompts and words do not fit into a decoder's cache of {self._slots} slots"
            )
        return room

    def asked(self, queries: Sequence[str]) -> list[list[int]]:
        """The tokens that stand between soft prompts and a memory: the query, or ASKED for an empty one.

        Of a query longer than a quarter of the decoder's cache the beginning is taken.
        """
        texts = [f"{query}\n" if query else ASKED for query in queries]
        return [list(self._tokenizer.encode(text).ids[: self._slots // 4]) for text in texts]

    def states(self, ids: Ids) -> Tensor:
        """float32 [B, H]: the normalised hidden state at [EOS] of each text (paper section 3.4)."""
        embeds, lengths = self._embedded(ids)
        hidden = hidden_states(self.step, embeds, lengths, recompute=True)
        return hidden[torch.arange(len(ids)), lengths - 1]

    def sample(
        self,
        prompt: Sequence[int],
        count: int,
        most: int,
        temperature: float,
        generator: torch.Generator,
        seen: Tensor | None = None,
    ) -> list[list[int]]:
        """`count` answers to a prompt, each of at most `most` tokens, up to [EOS] or the end of a line.

        A `temperature` of 0 takes the likeliest token. The last token of an answer is what ended it. `seen`:
        soft prompts float32 [P, H] before the prompt. Raises ExportError if these fill the decoder's cache.
        """
        answers: list[list[int]] = [[] for _ in range(count)]
        with torch.no_grad():
            cache, hidden = self._prompted(prompt, count, seen)
            for _ in range(most):
                tokens = _drawn(self.step.head(hidden).float().cpu(), temperature, generator)
                for answer, token in zip(answers, tokens, strict=True):
                    if not answer or not self._ends(answer[-1]):
                        answer.append(token)
                if all(self._ends(answer[-1]) for answer in answers):
                    break
                embeds, lengths = self._embedded([[token] for token in tokens])
                hidden = hidden_states(self.step, embeds, lengths, cache=cache)[:, -1]
        return answers

    def _prompted(
        self, prompt: Sequence[int], count: int, seen: Tensor | None = None
    ) -> tuple[Cache, Tensor]:
        """`count` sequences that begin with a prompt, run once, and their state float32 [B, H] at its end."""
        cache, (embeds, lengths) = Cache(), self._embedded([prompt])
        if seen is not None:
            embeds, lengths = torch.cat([seen[None], embeds], dim=1), lengths + len(seen)
            self._room(embeds.shape[1])
        hidden = hidden_states(self.step, embeds, lengths, cache=cache)
        cache.shared(count)
        return cache, hidden[:, -1].expand(count, -1)

    def text(self, answer: Sequence[int]) -> str:
        """An answer's words, without what ended it."""
        kept = answer[:-1] if answer and self._ends(answer[-1]) else answer
        return self._tokenizer.decode(list(kept)).split("\n")[0].strip()

    def _ends(self, token: int) -> bool:
        return token == self._end or "\n" in self._tokenizer.decode([token])

    def likelihood(self, prompt: Sequence[int], answers: Ids, seen: Tensor | None = None) -> Tensor:
        """float32 [B, S]: log-likelihood in nats of each token of `answers` after `prompt`; padding is 0.

        `seen`: soft prompts float32 [P, H] before the prompt.
        """
        cache, last = self._prompted(prompt, len(answers), seen)
        hidden = hidden_states(self.step, *self._embedded(answers), cache=cache)
        return self._scored(torch.cat([last[:, None], hidden[:, :-1]], dim=1), answers)

    def nll(self, prompts: Ids, answers: Ids, seen: Tensor | None = None) -> Tensor:
        """float32 [B]: the negative log-likelihood of each answer after a prompt, in nats.

        The sum over its tokens, as Eq. 2 has it. `seen`: soft prompts float32 [B, P, H] before the prompts.
        """
        whole = [[*prompt, *answer] for prompt, answer in zip(prompts, answers, strict=True)]
        embeds, lengths = self._embedded(whole)
        count = 0 if seen is None else seen.shape[1]
        if seen is not None:
            embeds = torch.cat([seen, embeds], dim=1)
        hidden = hidden_states(self.step, embeds, lengths + count, recompute=True)[:, count:]
        before = [
            row[len(prompt) - 1 : len(prompt) + len(answer) - 1]
            for row, prompt, answer in zip(hidden, prompts, answers, strict=True)
        ]
        return -self._scored(pad_sequence(before, batch_first=True), answers).sum(1)

    def _scored(self, hidden: Tensor, ids: Ids) -> Tensor:
        """float32 [B, S]: the log-likelihood of each token, foretold by the state before it [B, S, H]."""
        logits = self.step.head(hidden)
        wanted = pad_sequence([torch.tensor(row) for row in ids], batch_first=True, padding_value=-100)
        return -F.cross_entropy(
            logits.transpose(1, 2), wanted.to(logits.device), ignore_index=-100, reduction="none"
        )

    def _embedded(self, ids: Ids) -> tuple[Tensor, Tensor]:
        """The tokens' rows float32 [B, S, H], padded at the right with zeros, and the lengths int64 [B]."""
        where = next(self.step.parameters()).device
        rows = [self.table(torch.tensor(row, device=where)) for row in ids]
        lengths = torch.tensor([len(row) for row in ids], device=where)
        return pad_sequence(rows, batch_first=True), lengths


def _drawn(logits: Tensor, temperature: float, generator: torch.Generator) -> list[int]:
    if temperature <= 0:
        return [int(n) for n in logits.argmax(dim=-1)]
    shares = torch.softmax(logits / temperature, dim=-1)
    return [int(n) for n in torch.multinomial(shares, 1, generator=generator)[:, 0]]
