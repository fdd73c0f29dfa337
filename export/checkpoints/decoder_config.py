"""Converts a language model's Hugging Face configuration to the sizes that its modules are built from.

A configuration that asks for something the modules do not implement (scaled rotary angles, capped logits,
another activation) is refused with an error that names it: ignoring it would give wrong outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from gamer.index.json_checked import Between, Items
from gamer.runtime.bundle.manifest import Language

from ..checked import read_as, whole
from ..errors import ExportError
from ..networks.decoder import DecoderShape
from ..networks.t5 import T5Shape
from .catalogue import SENTENCE_TYPES

Config = dict[str, Any]
_Ends = Annotated[tuple[Annotated[int, Between(0, 1 << 31)], ...], Items(most=64)]
LLAMA_LIKE = ("llama", "qwen2", "qwen3", "gemma3_text", "gemma3")
DECODERS = (*LLAMA_LIKE, "gpt2")
SEEING = ("idefics3", "smolvlm")  # a Llama under text_config, behind a tower for pictures (tower_config.py)
ENCODER_DECODERS = ("t5",)
MAX_LAYERS = 512  # what the manifest of a bundle admits
# By a part of a key's name: the greatest size that is read. The first that fits counts.
_MOST = {
    "layer": MAX_LAYERS,
    "head_dim": 1024,
    "d_kv": 1024,
    "head": 512,
    "vocab": 1 << 21,
    "inter": 1 << 20,
    "inner": 1 << 20,
    "d_ff": 1 << 20,
    "": 1 << 16,
}
_ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "relu": "relu",
}


def sees(config: Config) -> bool:
    """Whether a config.json is of a vision-language model that is supported."""
    return config.get("model_type") in SEEING


def text_config(config: Config) -> Config:
    """The language model's configuration, which multimodal models nest under `text_config`.

    Raises ExportError for an unknown model_type.
    """
    kind = config.get("model_type")
    if kind == "gemma3":
        inner = config.get("text_config")
        config = {**(inner if isinstance(inner, dict) else {}), "model_type": "gemma3"}
    if kind in SEEING:
        config = _seeing(config)
        kind = config["model_type"]
    if kind not in (*DECODERS, *ENCODER_DECODERS):
        raise ExportError(
            f"language model of type {str(kind)[:60]!r} is not supported; supported are: "
            f"{', '.join((*DECODERS, *ENCODER_DECODERS))}; with pictures: {', '.join(SEEING)}; as text "
            f"tower: {', '.join(SENTENCE_TYPES)}"
        )
    return config


def _seeing(config: Config) -> Config:
    """The Llama of a vision-language model. What ends an answer, and whether head and table are tied, is said
    of the whole model.
    """
    inner: Config = read_as(Config, config.get("text_config") or {}, "config.json: text_config")
    kind = inner.get("model_type", "llama")
    if kind != "llama":
        raise ExportError(
            f"{config['model_type']}: a decoder of type {str(kind)[:60]!r} is not supported behind a tower "
            "for pictures; supported is: llama"
        )
    tied = config.get("tie_word_embeddings", False)
    ends = config.get("eos_token_id", inner.get("eos_token_id"))
    return {**inner, "model_type": "llama", "tie_word_embeddings": tied, "eos_token_id": ends}


def decoder_shape(config: Config, max_seq: int) -> DecoderShape:
    """The sizes of a decoder-only model. Raises ExportError naming a missing or unsupported field."""
    config = text_config(config)
    with one_line_errors(config):
        shape = _gpt2(config, max_seq) if config["model_type"] == "gpt2" else _llama_like(config)
        if (
            shape.heads % shape.kv_heads
            or (shape.rope_theta and shape.head_dim % 2)
            or len(shape.local) not in (0, shape.layers)
        ):
            raise ValueError(
                f"{shape.layers} layers, {shape.heads} heads and {shape.kv_heads} of keys do not fit together"
            )
    return shape


def t5_shape(config: Config) -> T5Shape:
    """The sizes of T5. Raises ExportError naming a missing or unsupported field."""
    config = text_config(config)
    with one_line_errors(config):
        shape = _t5(config)
        if shape.buckets < 4 or shape.distance <= shape.buckets // 4:
            raise ValueError(f"{shape.buckets} buckets of relative positions up to {shape.distance}")
    return shape


def _t5(config: Config) -> T5Shape:
    feed = str(_required(config, "feed_forward_proj"))
    if feed not in ("relu", "gated-gelu", "gated-silu"):
        raise ExportError(
            f"t5: feed_forward_proj {feed!r:.60} is not supported; supported are: "
            "relu, gated-gelu, gated-silu"
        )
    layers = read_size(config, "num_layers")
    return T5Shape(
        vocab=read_size(config, "vocab_size"),
        hidden=read_size(config, "d_model"),
        encoder_layers=layers,
        layers=read_size(config, "num_decoder_layers", layers),
        heads=read_size(config, "num_heads"),
        head_dim=read_size(config, "d_kv"),
        intermediate=read_size(config, "d_ff"),
        eps=float(config.get("layer_norm_epsilon", 1e-6)),
        activation={"relu": "relu", "gated-gelu": "gelu_tanh", "gated-silu": "silu"}[feed],
        gated=feed.startswith("gated"),
        buckets=int(config.get("relative_attention_num_buckets", 32)),
        distance=int(config.get("relative_attention_max_distance", 128)),
    )


def listed_ends(config: Config) -> tuple[int, ...]:
    """The ids that end an answer as the configuration lists them, if it does. Raises ExportError."""
    ends = config.get("eos_token_id")
    ids: tuple[int, ...] = read_as(
        _Ends, ends if isinstance(ends, list) else [] if ends is None else [ends], "config.json: eos_token_id"
    )
    return ids


def language(config: Config, max_seq: int) -> Language:
    """The manifest's entry for the decoder; `eos_ids` are those of the configuration."""
    config = text_config(config)
    eos = listed_ends(config)
    if config["model_type"] in ENCODER_DECODERS:
        t5 = t5_shape(config)
        start = int(config.get("decoder_start_token_id") or config.get("pad_token_id") or 0)
        return Language(
            layers=t5.layers,
            kv_heads=t5.heads,
            head_dim=t5.head_dim,
            hidden=t5.hidden,
            max_seq=max_seq,
            rope_theta=0.0,
            eos_ids=eos,
            buckets=t5.buckets,
            distance=t5.distance,
            start_id=start,
        )
    shape = decoder_shape(config, max_seq)
    return Language(
        layers=shape.layers,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        hidden=shape.hidden,
        max_seq=max_seq,
        rope_theta=shape.rope_theta,
        eos_ids=eos,
        window=shape.window,
        rope_theta_local=shape.rope_theta_local,
    )


@contextmanager
def one_line_errors(config: Config) -> Iterator[None]:
    """Turns exceptions from malformed values of a configuration into an ExportError."""
    try:
        yield
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ExportError(
            f"{config.get('model_type')}: the configuration cannot be read ({str(error)[:120]}): is it the "
            "model's own config.json?"
        ) from None


def read_size(config: Config, key: str, default: int | None = None) -> int:
    """A positive size of the configuration, at most what a model of its kind may have.

    Checked before anything is built from it: a crafted file could ask for ten million layers. Raises
    ExportError.
    """
    value = default if default is not None and not config.get(key) else _required(config, key)
    most = next(most for part, most in _MOST.items() if part in key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return whole(value, f"{config.get('model_type')}: {key}", most)


def _required(config: Config, key: str) -> Any:
    if config.get(key) is None:
        raise ExportError(
            f"{config.get('model_type')}: the configuration has no {key}: is it the model's own config.json?"
        )
    return config[key]


def _reject(config: Config, *keys: str) -> None:
    for key in keys:
        if config.get(key):
            raise ExportError(f"{config['model_type']}: {key} {config[key]!r:.60} is not supported")


def _activation(config: Config, name: str) -> str:
    if name not in _ACTIVATIONS:
        raise ExportError(
            f"{config['model_type']}: activation {name!r:.60} is not supported; supported are: "
            f"{', '.join(_ACTIVATIONS)}"
        )
    return _ACTIVATIONS[name]


def _rope(config: Config, layer_kind: str, old_key: str, default: float) -> float:
    """The rotary base of a kind of layer. Raises ExportError for scaled rotation.

    It is read from the newer form of the configuration (rope_parameters, per kind of layer) or from the older
    one (rope_theta, rope_scaling).
    """
    parameters: Config = config.get("rope_parameters") or {}
    parameters = parameters.get(layer_kind, parameters)
    scaled: Config = config.get("rope_scaling") or {}
    for scaling in (parameters, scaled):
        kind = scaling.get("rope_type", scaling.get("type", "default"))
        if kind != "default":
            raise ExportError(f"{config['model_type']}: rope scaling {kind!r:.60} is not supported")
    theta: Any = parameters.get("rope_theta", config.get(old_key, default))
    return float(theta)


def _llama_like(config: Config) -> DecoderShape:
    kind, gemma = config["model_type"], config["model_type"].startswith("gemma3")
    _reject(
        config,
        "mlp_bias",
        "use_sliding_window",
        "final_logit_softcapping",
        "attn_logit_softcapping",
        "use_bidirectional_attention",
    )
    if kind != "llama":
        _reject(config, *(() if kind == "qwen2" else ("attention_bias",)))
    hidden, heads, layers = (
        read_size(config, key) for key in ("hidden_size", "num_attention_heads", "num_hidden_layers")
    )
    activation = (
        config.get("hidden_activation", config.get("hidden_act")) if gemma else config.get("hidden_act")
    )
    head_dim = read_size(config, "head_dim", hidden // heads)
    return DecoderShape(
        vocab=read_size(config, "vocab_size"),
        hidden=hidden,
        layers=layers,
        heads=heads,
        kv_heads=read_size(config, "num_key_value_heads", heads),
        head_dim=head_dim,
        intermediate=read_size(config, "intermediate_size"),
        eps=float(config.get("rms_norm_eps", 1e-6)),
        rope_theta=_rope(config, "full_attention", "rope_theta", 1e6 if gemma else 1e4),
        activation=_activation(config, str(activation or ("gelu_pytorch_tanh" if gemma else "silu"))),
        qkv_bias=kind == "qwen2" or bool(config.get("attention_bias")),
        out_bias=kind == "llama" and bool(config.get("attention_bias")),
        head_norm=kind == "qwen3" or gemma,
        post_norms=gemma,
        scale=float(config.get("query_pre_attn_scalar", 256)) ** -0.5 if gemma else None,
        window=int(_required(config, "sliding_window")) if gemma else 0,
        rope_theta_local=_rope(config, "sliding_attention", "rope_local_base_freq", 1e4) if gemma else 0.0,
        local=_local(config, layers) if gemma else (),
    )


def _local(config: Config, layers: int) -> tuple[bool, ...]:
    """For each layer, whether it attends to a window only: by layer_types, else by sliding_window_pattern."""
    kinds = config.get("layer_types")
    if kinds:
        return tuple(kind == "sliding_attention" for kind in kinds)
    pattern = int(config.get("sliding_window_pattern") or config.get("_sliding_window_pattern") or 6)
    return tuple((n + 1) % pattern != 0 for n in range(layers))


def _gpt2(config: Config, max_seq: int) -> DecoderShape:
    _reject(config, "scale_attn_by_inverse_layer_idx", "add_cross_attention")
    hidden, heads, positions = (
        read_size(config, "n_embd"),
        read_size(config, "n_head"),
        int(_required(config, "n_positions")),
    )
    if max_seq > positions:
        raise ExportError(
            f"gpt2: {max_seq} positions are wanted, the model has learned {positions}: give a smaller "
            "--max-seq-len"
        )
    return DecoderShape(
        vocab=read_size(config, "vocab_size"),
        hidden=hidden,
        layers=read_size(config, "n_layer"),
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads,
        intermediate=read_size(config, "n_inner", 4 * hidden),
        eps=float(config.get("layer_norm_epsilon", 1e-5)),
        rope_theta=0.0,
        norm="layer",
        activation=_activation(config, str(config.get("activation_function", "gelu_new"))),
        gated=False,
        qkv_bias=True,
        out_bias=True,
        bias=True,
        scale=None if config.get("scale_attn_weights", True) else 1.0,
        positions=max_seq,
    )
