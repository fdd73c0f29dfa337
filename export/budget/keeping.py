"""A choice for every matrix as few pairs of --keep: a pair for each kind, and those that differ before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ..quantize.quantization_policy import override_for
from .sensitivity import Keep


def compact(choice: Mapping[str, str]) -> Keep:
    """Matrix → quantization, as pairs whose first that matches a name is its own."""
    kinds = dict[str, list[str]]()
    for name in choice:
        kinds.setdefault(kind(name), []).append(name)
    special, general = list[tuple[str, str]](), list[tuple[str, str]]()
    for key, names in kinds.items():
        usual, _ = Counter(choice[name] for name in names).most_common(1)[0]
        special += [(name, choice[name]) for name in names if choice[name] != usual]
        general.append((key, usual))
    # "out" is in "attention_out": longer parts first
    pairs = (*special, *sorted(general, key=lambda pair: -len(pair[0])))
    if {name: override_for(pairs, f"{name}.weight") for name in choice} != dict(choice):  # as writers look
        pairs = tuple(sorted(choice.items(), key=lambda pair: -len(pair[0])))
    return pairs


def kind(name: str) -> str:
    """ "layers.3.attention.query" → "attention.query": what is behind the last number."""
    parts = name.split(".")
    last = max((n for n, part in enumerate(parts) if part.isdecimal()), default=-1)
    return ".".join(parts[last + 1 :])


def placed(pairs: Keep, place: str) -> Keep:
    """The pairs for a component only: `place` is "text_tower/" or "onnx/text_tower/"."""
    return tuple((place + name, quant) for name, quant in pairs)


def text(pairs: Keep) -> str:
    """The value of --keep: "a,b=int8,c=int4/64"."""
    out = list[str]()
    for n, (name, quant) in enumerate(pairs):
        follows = n + 1 < len(pairs) and pairs[n + 1][1] == quant
        out.append(name if follows else f"{name}={quant}")
    return ",".join(out)
