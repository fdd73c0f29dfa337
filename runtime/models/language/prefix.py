"""The bundle's prefix cache: the decoder's keys and values of a prompt's fixed beginning.

It is the first that is stored of what need not be computed again (reuse.py). A file is raw float32 (.npy, no
pickle). The manifest has its hash and `made_from`: a hash over the files of the decoder and the token table
and the token ids. A cache from other weights, another prompt or another tokenizer is refused, because it
would not be the cache of this prompt.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...bundle import manifest as mf
from ...errors import BundleError
from .kv_cache import cache_type
from .reuse import Prefix

_PLACEHOLDER = re.compile(r"\{(query|notes)\}")


def split(prompt: str) -> tuple[str, str]:
    """(fixed beginning, the rest from the first placeholder on) of a prompt template.

    Raises BundleError for a template without {query}.
    """
    first = _PLACEHOLDER.search(prompt)
    if first is None or "{query}" not in prompt:
        raise BundleError(f"the bundle's prompt {prompt[:40]!r} has no {{query}}: export it again")
    return prompt[: first.start()], prompt[first.start() :]


def encode(
    tokenizer: Any, prompt: str, query: str, notes: str = ""
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(token ids of the fixed beginning, token ids of the rest with its placeholders filled in).

    The two are always tokenized separately, so that using a cache changes no token. All placeholders are
    filled in one pass: a placeholder's name inside a value is not replaced.
    """
    fixed, rest = split(prompt)
    rest = _PLACEHOLDER.sub(lambda match: query if match[1] == "query" else notes, rest)
    return tuple(tokenizer.encode(fixed).ids), tuple(tokenizer.encode(rest).ids)


def made_from(manifest: mf.Manifest, target: str, ids: Sequence[int]) -> str:
    """SHA-256 over what a prefix cache depends on: the files of decoder and token table, the token ids."""
    sha = hashlib.sha256()
    for role in ("llm_decoder", "llm_embed"):
        sha.update(bytes.fromhex(manifest.artifact(role, target).sha256))
    sha.update(np.asarray(ids, "<i8").tobytes())
    return sha.hexdigest()


def load(bundle: Path, manifest: mf.Manifest, target: str, prompt: str, ids: Sequence[int]) -> Prefix | None:
    """The prefix cache of the prompt called `prompt`, whose fixed beginning has the token ids `ids`.

    None if the bundle has no such cache for this target. Raises BundleError if it is damaged or belongs to
    other weights or another prompt.
    """
    entry = next((p for p in manifest.prefixes if (p.prompt, p.target) == (prompt, target)), None)
    if entry is None:
        return None
    if entry.made_from != made_from(manifest, target, ids):
        raise BundleError(
            f"{bundle / entry.path}: made from other weights or another prompt than the bundle's: export "
            "the bundle again"
        )
    path = mf.check_one(bundle, entry)
    try:
        cache = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise BundleError(f"{path}: no array ({str(error)[:80]}): export the bundle again") from None
    s = manifest.decoder()
    want = (s.layers, 2, s.kv_heads, len(ids), s.head_dim)
    kind = cache_type(manifest.artifact("llm_decoder", target))
    if cache.dtype != kind or cache.shape != want:
        raise BundleError(
            f"{path}: {cache.dtype} {list(cache.shape)}, the decoder wants {kind} {list(want)}: export the "
            "bundle again"
        )
    return Prefix(tuple(ids), cache)
