"""The language model as ExecuTorch's own LLM runner runs it, without our code: the folder `runner/`.

Its program takes a token int64 [1, 1] and its position int64 [1] and returns the logits [1, V] alone: the
token table, the tables of positions and the cache, which our decoder gets from the host, are in it. Prompts
are read token by token (`enable_dynamic_shape` is false), as by our decoder. Other methods are the constants
that extension/llm/runner/constants.h of pytorch/executorch names. The weights are those of the bundle's
decoder once more, quantized alike; the two are compared before the program is taken.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from gamer.runtime.backends import open_session
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.models.language.decoder import StepDecoder, rotary

from ..checkpoints.decoder_config import text_config
from ..components import components
from ..components.export_module import ExportModule
from ..errors import ExportError
from ..quantize import calibrated
from ..settings import Settings
from ..target_options import target_options
from . import to_executorch

PROGRAM = f"{mf.RUNNER}/model.pte"
TOKENIZER = f"{mf.RUNNER}/tokenizer.json"
_TOKENS = 24  # that are compared
_LEAST = 0.9999  # cosine of logits; only the order of additions may differ


class RunnerStep(nn.Module):
    """A decoder's step with what the host gives it: tokens int64 [1, 1], input_pos int64 [1] → logits [1, V].

    It keeps the cache. What an earlier text left behind the position is never read.
    """

    def __init__(self, item: ExportModule, table: nn.Module, language: mf.Language) -> None:
        super().__init__()
        self.step, self.table = item.module, table
        self._names = [spec.name for spec in item.inputs if not spec.name.startswith("past_")]
        slots = np.arange(language.max_seq)
        for end in ("", "_local") if language.window else ("",) if language.rope_theta else ():
            for name, rows in zip(("cos", "sin"), rotary(language, slots, bool(end)), strict=True):
                self.register_buffer(f"{name}{end}", torch.from_numpy(rows))
        self.register_buffer("slots", torch.from_numpy(slots))
        self._window, self._caches = language.window, 2 * language.layers
        for n in range(self._caches):
            self.register_buffer(
                f"cache_{n}", torch.zeros(language.kv_heads, language.max_seq, language.head_dim)
            )

    def forward(self, tokens: Tensor, input_pos: Tensor) -> Tensor:
        slots = self.get_buffer("slots")
        before = (slots < input_pos).to(torch.float32)[:, None]
        given = {
            "embeds": self.table(tokens[0]),
            "place": (slots == input_pos).to(torch.float32)[:, None],
            "mask": _mask(slots <= input_pos),
            "mask_local": _mask((slots <= input_pos) & (slots > input_pos - self._window)),
        }
        for name in self._names:
            if name.startswith(("cos", "sin")):
                given[name] = torch.index_select(self.get_buffer(name), 0, input_pos)[None]
        caches = [self.get_buffer(f"cache_{n}") for n in range(self._caches)]
        past = [cache * before for cache in caches]
        logits, _, *new = self.step(*(given[name] for name in self._names), *past)
        for cache, row in zip(caches, new, strict=True):
            cache.index_copy_(1, input_pos, row)
        return torch.as_tensor(logits)


def _mask(seen: Tensor) -> Tensor:
    return torch.where(seen, 0.0, -1e4)[None, None]


def write(settings: Settings, stage: Path, artifacts: tuple[mf.Artifact, ...], tokenizer: str) -> list[str]:
    """Writes the folder into the unfinished bundle `stage` and returns the names of its files.

    `artifacts`: those of the bundle; `tokenizer`: the text of its tokenizer.json. Raises ExportError if the
    program does not compute what the bundle's decoder computes.
    """
    (stage / mf.RUNNER).mkdir(exist_ok=True)
    artifact = next(a for a in artifacts if (a.role, a.target) == ("llm_decoder", "executorch"))
    language = components.language(settings)
    assert language is not None
    item = components.build(settings, "llm_decoder", artifact.quant)
    options = target_options(settings, None, "llm_decoder", "executorch")
    options = replace(options, given=calibrated.codes(settings, item, "executorch", artifact.quant))
    table = components.build(settings, "llm_embed", settings.quant_of("llm_embed", "executorch")).module
    to_executorch.quantized(item, artifact.quant, [], options)
    step = RunnerStep(item, table, language).eval()
    example = torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    whole = replace(item, module=step, example=example)
    ends = components.llm_tokenizer(settings)[1]
    bos = text_config(components.checkpoint(settings, "llm").config).get("bos_token_id")
    constants = {
        "get_max_seq_len": language.max_seq,
        "get_max_context_len": language.max_seq,
        "get_vocab_size": artifact.outputs[0].shape[-1],
        "get_bos_id": bos if isinstance(bos, int) else ends[0],
        "get_eos_ids": list(ends),
        "use_kv_cache": True,
        "use_sdpa_with_kv_cache": False,
        "enable_dynamic_shape": False,
    }
    lowered, _ = to_executorch.lowered(whole, step, artifact.quant, options, constants)
    with (stage / PROGRAM).open("wb") as stream:
        lowered.write_to_file(stream)
    _compare(settings, stage, artifact, table)
    (stage / TOKENIZER).write_text(tokenizer, encoding="utf-8")
    return [PROGRAM, TOKENIZER]


def _compare(settings: Settings, stage: Path, artifact: mf.Artifact, table: nn.Module) -> None:
    """Raises ExportError if the program's logits are not those of the bundle's decoder."""
    from executorch.runtime import Runtime

    language = components.language(settings)
    assert language is not None
    decoder = StepDecoder(open_session("executorch", stage / artifact.path, artifact, threads=1), language)
    program = Runtime.get().load_program(str(stage / PROGRAM))
    forward = program.load_method("forward")
    assert forward is not None
    for position in range(min(_TOKENS, language.max_seq)):
        # Without token 0, whose embedding some models leave at zero.
        token = 1 + 7 * position % (int(artifact.outputs[0].shape[-1]) - 1)
        got = forward.execute([torch.tensor([[token]]), torch.tensor([position])])[0].numpy()[0]
        want, _ = decoder.forward(table(torch.tensor([token])).numpy())
        cosine = float(got @ want / max(np.linalg.norm(got) * np.linalg.norm(want), 1e-30))
        if not cosine >= _LEAST:
            raise ExportError(
                f"--layout {mf.RUNNER}: at position {position} its logits have a cosine of {cosine:.5f} with "
                f"the decoder's, below {_LEAST}: not written; leave the layout out"
            )
