"""Converts the config.json of a sentence encoder to the shape of its network."""

from __future__ import annotations

from typing import Any

from ..checked import whole
from ..errors import ExportError
from ..networks.bert import BertShape
from ..networks.encoder import ACTIVATIONS
from ..networks.modernbert import ModernBertShape
from .catalogue import Config
from .decoder_config import one_line_errors, read_size
from .sentence_modules import AS_IT_IS, SentenceModules

# Distances are put into this many buckets, the last of them for DISTANCE and more; transformers reads neither
# from the config.
BUCKETS, DISTANCE = 32, 128
_PAD = 1  # of RoBERTa and MPNet


def first_position(config: Config) -> int:
    """The row of the table of positions that the first token gets: the one after the padding id's."""
    match config.get("model_type"):
        case "bert" | "modernbert":
            return 0
        case "mpnet":
            return _PAD + 1
    where = f"{config.get('model_type')}: pad_token_id"
    return whole(config.get("pad_token_id", _PAD), where, (1 << 16) - 1, least=0) + 1


def longest(config: Config, modules: SentenceModules, most: int = 0) -> int:
    """Tokens of the longest text: the table's positions, or fewer if the directory or `most` says so.

    `most`: 0 for no such limit. Raises ExportError.
    """
    with one_line_errors(config):
        positions = read_size(config, "max_position_embeddings") - first_position(config)
    if positions < 1:
        raise ExportError(
            f"{config.get('model_type')}: max_position_embeddings leaves no position for a token"
        )
    return min(limit for limit in (positions, modules.longest, most) if limit)


def bert_shape(config: Config, modules: SentenceModules, most: int = 0) -> BertShape:
    """The sizes of a BERT, RoBERTa or MPNet. Raises ExportError for impossible or unsupported ones.

    `most`: tokens of the longest text that MPNet's bias must reach, 0 for the model's own limit.
    """
    kind = config.get("model_type")
    with one_line_errors(config):
        shape = BertShape(
            vocab=read_size(config, "vocab_size"),
            hidden=read_size(config, "hidden_size"),
            layers=read_size(config, "num_hidden_layers"),
            heads=read_size(config, "num_attention_heads"),
            intermediate=read_size(config, "intermediate_size"),
            positions=longest(config, AS_IT_IS),
            eps=float(config.get("layer_norm_eps", 1e-12)),
            types=0 if kind == "mpnet" else read_size(config, "type_vocab_size", 2),
            relative=longest(config, modules, most) if kind == "mpnet" else 0,
            activation=str(config.get("hidden_act", "gelu")),
            pooling=modules.pooling,
        )
        if shape.hidden % shape.heads or not 0 < shape.eps < 1:
            raise ValueError(f"{shape.hidden} units in {shape.heads} heads, eps {shape.eps}")
    _known_activation(kind, shape.activation)
    if (scheme := config.get("position_embedding_type", "absolute")) != "absolute":
        raise ExportError(f"{kind}: position_embedding_type {str(scheme)[:60]!r} is not supported")
    if kind == "mpnet" and config.get("relative_attention_num_buckets", BUCKETS) != BUCKETS:
        raise ExportError(f"{kind}: relative_attention_num_buckets must be {BUCKETS}")
    return shape


def modernbert_shape(config: Config, modules: SentenceModules, most: int = 0) -> ModernBertShape:
    """The sizes of a ModernBERT. Raises ExportError for impossible or unsupported ones.

    `most`: tokens of the longest text, 0 for the model's own limit.
    """
    kind = config.get("model_type")
    with one_line_errors(config):
        layers = read_size(config, "num_hidden_layers")
        theta = _theta(config, "full_attention", "global_rope_theta", 160_000.0)
        shape = ModernBertShape(
            vocab=read_size(config, "vocab_size"),
            hidden=read_size(config, "hidden_size"),
            heads=read_size(config, "num_attention_heads"),
            intermediate=read_size(config, "intermediate_size"),
            longest=longest(config, modules, most),
            eps=float(config.get("norm_eps", 1e-5)),
            local=_local(config, layers),
            window=read_size(config, "local_attention", 128) // 2,
            theta=theta,
            theta_local=_theta(config, "sliding_attention", "local_rope_theta", 10_000.0, without=theta),
            activation=str(config.get("hidden_activation", "gelu")),
            attention_bias=config.get("attention_bias", False) is True,
            mlp_bias=config.get("mlp_bias", False) is True,
            norm_bias=config.get("norm_bias", False) is True,
            pooling=modules.pooling,
        )
        if shape.hidden % (2 * shape.heads) or not 0 < shape.eps < 1:
            raise ValueError(f"{shape.hidden} units in {shape.heads} heads, eps {shape.eps}")
    _known_activation(kind, shape.activation)
    return shape


def _local(config: Config, layers: int) -> tuple[bool, ...]:
    """For each layer whether it attends nearby only; older configs say every how many layers one does not."""
    kinds = config.get("layer_types")
    if kinds is None:
        every = read_size(config, "global_attn_every_n_layers", 3)
        return tuple(bool(n % every) for n in range(layers))
    if len(kinds) != layers or not set(kinds) <= {"full_attention", "sliding_attention"}:
        raise ValueError(f"layer_types {str(kinds)[:60]} for {layers} layers")
    return tuple(kind == "sliding_attention" for kind in kinds)


def _theta(config: Config, layers: str, old: str, default: float, without: Any = None) -> float:
    """The base of the angles in one kind of layers. `old`: its name in older configs; null is `without`."""
    by_kind = config.get("rope_parameters") or {}
    told: dict[str, Any] = by_kind.get(layers) or {}
    if (scheme := told.get("rope_type", "default")) != "default" or config.get("rope_scaling"):
        raise ValueError(f"rotary positions of type {str(scheme)[:40]!r}")
    value: Any = told.get("rope_theta", config.get(old, default))
    theta = float(without if value is None else value)
    if not 1 < theta < 1e12:
        raise ValueError(f"rope_theta {theta}")
    return theta


def _known_activation(kind: object, name: str) -> None:
    if name not in ACTIVATIONS:
        raise ExportError(
            f"{kind}: activation {name[:60]!r} is not supported; supported are: {', '.join(ACTIVATIONS)}"
        )
