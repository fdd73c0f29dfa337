"""The shipped prefix cache: a prompt's fixed beginning as the decoder's keys and values, so that a query
costs only its own tokens.

A file is raw float32 (.npy, no pickle). The manifest holds its hash and `made_from`: a hash over the
decoder's and the token table's files and the token ids. One that was made from other weights, another prompt
or another tokenizer is refused, for it would answer another question.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..bundle import manifest as mf
from ..errors import BundleError
from .llm import Prefix

_PLACE = re.compile(r"\{(query|notes)\}")


def split(prompt: str) -> tuple[str, str]:
    """A prompt template → (what never changes, the rest from the first placeholder on).

    Raises BundleError for one without {query}.
    """
    first = _PLACE.search(prompt)
    if first is None or "{query}" not in prompt:
        raise BundleError(f"the bundle's prompt {prompt[:40]!r} has no {{query}}: export it again")
    return prompt[: first.start()], prompt[first.start() :]


def encode(
    tokenizer: Any, prompt: str, query: str, notes: str = ""
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(ids of the fixed part, ids of the rest, filled in). Always cut there, so that a cache changes no
    token.

    Filled in one pass: a placeholder's name inside a value stays what it is.
    """
    fixed, rest = split(prompt)
    rest = _PLACE.sub(lambda found: query if found[1] == "query" else notes, rest)
    return tuple(tokenizer.encode(fixed).ids), tuple(tokenizer.encode(rest).ids)


def made_from(manifest: mf.Manifest, target: str, ids: Sequence[int]) -> str:
    """SHA-256 over what decides a prefix cache: the decoder's file, the token table's file, the token ids."""
    sha = hashlib.sha256()
    for role in ("llm_decoder", "llm_embed"):
        sha.update(bytes.fromhex(manifest.artifact(role, target).sha256))
    sha.update(np.asarray(ids, "<i8").tobytes())
    return sha.hexdigest()


def load(bundle: Path, manifest: mf.Manifest, target: str, prompt: str, ids: Sequence[int]) -> Prefix | None:
    """The prefix of the prompt called `prompt`, whose fixed ids are `ids`; None if the bundle has none for
    this target. Raises BundleError.
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
    if cache.dtype != np.float32 or cache.shape != want:
        raise BundleError(
            f"{path}: {cache.dtype} {list(cache.shape)}, the decoder wants float32 {list(want)}: export the "
            "bundle again"
        )
    return Prefix(tuple(ids), cache)
