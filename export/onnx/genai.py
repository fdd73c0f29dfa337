"""The language model as ONNX Runtime GenAI opens it, without our code: the folder `genai/` of a bundle.

Its graph is the bundle's token table and decoder put together: token ids and an attention mask go in, where
ours takes embeddings and lengths, and the logits of every position come out. A generation may have fewer
cache slots than the bundle. No weight changes, so parity is what was measured.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from gamer.runtime.bundle import manifest as mf

from ..checkpoints.chat_template import ChatTemplate
from .graph import MAX_EMBEDDED_BYTES, A, B

CONFIG = f"{mf.GENAI}/genai_config.json"
_MODEL, _DATA = "model.onnx", "model.onnx.data"
# GenAI chooses among its classes by this name alone. "llama" is its decoder that takes what the configuration
# names, of whatever family.
_TYPE = "llama"
# The third axis of the caches, by the first word of their names.
_SLOTS = {"past": "past_slots", "present": "present_slots"}


def write(
    stage: Path,
    artifacts: tuple[mf.Artifact, ...],
    language: mf.Language,
    tokenizer: str,
    template: ChatTemplate | None,
) -> list[str]:
    """Writes the folder into the unfinished bundle `stage` and returns the names of its files.

    `artifacts`: those of the bundle; `tokenizer`: the text of its tokenizer.json.
    """
    paths = {a.role: stage / a.path for a in artifacts if a.target == "onnx"}
    embed, decoder = (
        path / _MODEL if path.is_dir() else path for path in (paths["llm_embed"], paths["llm_decoder"])
    )
    folder = stage / mf.GENAI
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    graph = _write_graph(embed, decoder, folder)
    ends = tuple(language.eos_ids)
    texts = {
        Path(CONFIG).name: _config(language, graph, ends),
        "tokenizer.json": json.loads(tokenizer),
        "tokenizer_config.json": _tokenizer_config(json.loads(tokenizer), ends, template),
    }
    for name, content in texts.items():
        text = json.dumps(content, ensure_ascii=False, indent=1)
        (folder / name).write_text(f"{text}\n", encoding="utf-8")
    return sorted(f"{mf.GENAI}/{path.name}" for path in folder.iterdir())


def _write_graph(embed: Path, decoder: Path, folder: Path) -> Any:
    """Puts the graphs of two files into one, writes it into `folder`, and returns it."""
    import onnx
    from onnx import TensorProto, helper

    # Weights that lie beside the decoder are linked, not read.
    table, model = onnx.load(str(embed)).graph, onnx.load(str(decoder), load_external_data=False)
    own = model.graph
    _rename(table)
    caches = [x for x in (*own.input, *own.output) if x.name.partition("_")[0] in _SLOTS]
    for cache in caches:
        cache.type.tensor_type.shape.dim[2].dim_param = _SLOTS[cache.name.partition("_")[0]]
    logits = next(x for x in own.output if x.name == "logits")
    logits.type.tensor_type.shape.dim[1].dim_param = "tokens"
    ids, mask = (
        helper.make_tensor_value_info(name, TensorProto.INT64, [1, length])
        for name, length in (("input_ids", "tokens"), ("attention_mask", "total"))
    )
    graph = helper.make_graph(
        [*table.node, *_lengths(), *own.node],
        "gamer",
        [
            *(ids, mask, *(cache for cache in caches if cache.name.startswith("past"))),
            *(x for x in own.input if x.name.endswith((A, B))),  # of adapters, which GenAI activates, too
        ],
        [logits, *(cache for cache in caches if cache.name.startswith("present"))],
        # The number of slots is the bundle's in its own graph, here the generation's.
        [*table.initializer, *_constants(), *(t for t in own.initializer if t.name != "slots")],
    )
    model.graph.CopyFrom(graph)
    data = decoder.with_name(_DATA)
    if data.exists():
        _link(data, folder / _DATA)
    large = model.ByteSize() > MAX_EMBEDDED_BYTES
    onnx.save(model, str(folder / _MODEL), save_as_external_data=large, location=f"table.{_DATA}")
    return graph


def _rename(table: Any) -> None:
    """Gives the token table's values names that the decoder does not use, and its input GenAI's."""
    kept = {"embeds": "embeds", "ids": "input_ids"}
    for node in table.node:
        for names in (node.input, node.output):
            names[:] = [kept.get(name, f"table.{name}") for name in names]
    for tensor in table.initializer:
        tensor.name = f"table.{tensor.name}"


def _lengths() -> list[Any]:
    """The decoder's own inputs beside embeddings and caches, from token ids, mask and cache."""
    from onnx import TensorProto, helper

    return [
        helper.make_node("ReduceSum", ["attention_mask", "layout.axis"], ["layout.seen"], keepdims=0),
        helper.make_node("Sub", ["layout.seen", "layout.axis"], ["layout.before_last"]),
        helper.make_node("Cast", ["layout.seen"], ["total_seq_len"], to=TensorProto.INT32),
        helper.make_node("Cast", ["layout.before_last"], ["seqlens_k"], to=TensorProto.INT32),
        helper.make_node("Size", ["input_ids"], ["layout.tokens"]),
        helper.make_node("Range", ["layout.zero", "layout.tokens", "layout.one"], ["last"]),
        helper.make_node("Shape", ["past_key.0"], ["slots"], start=2, end=3),
    ]


def _constants() -> list[Any]:
    from onnx import numpy_helper

    values = {"layout.axis": np.ones(1, np.int64), "layout.zero": np.int64(0), "layout.one": np.int64(1)}
    return [numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()]


def _link(data: Path, to: Path) -> None:
    """The same bytes under a second name; a copy where the file system has no hard links."""
    try:
        os.link(data, to)
    except OSError:
        shutil.copyfile(data, to)


def _config(language: mf.Language, graph: Any, ends: tuple[int, ...]) -> dict[str, Any]:
    attention = next(node for node in graph.node if node.op_type == "GroupQueryAttention")
    heads = next(a.i for a in attention.attribute if a.name == "num_heads")
    caches = {side: {f"{side}_{x}_names": f"{side}_{x}.%d" for x in ("key", "value")} for side in _SLOTS}
    return {
        "model": {
            "type": _TYPE,
            "context_length": language.max_seq,
            "vocab_size": graph.output[0].type.tensor_type.shape.dim[2].dim_value,
            "bos_token_id": ends[0],  # required by GenAI, and put before no prompt
            "eos_token_id": list(ends),
            "pad_token_id": ends[-1],
            "decoder": {
                "filename": _MODEL,
                "session_options": {"provider_options": []},
                "head_size": language.head_dim,
                "hidden_size": language.hidden,
                "num_attention_heads": heads,
                "num_hidden_layers": language.layers,
                "num_key_value_heads": language.kv_heads,
                "inputs": {"input_ids": "input_ids", "attention_mask": "attention_mask", **caches["past"]},
                "outputs": {"logits": "logits", **caches["present"]},
            },
        },
        # The cache is written in place: without this, GenAI would give one that grows.
        "search": {"do_sample": False, "max_length": language.max_seq, "past_present_share_buffer": True},
    }


def _tokenizer_config(
    tokenizer: dict[str, Any], ends: tuple[int, ...], template: ChatTemplate | None
) -> dict[str, Any]:
    """What GenAI wants to know beside tokenizer.json: its class, and how dialogues are written."""
    model = tokenizer["model"]
    pieces = model["type"] == "Unigram" or model.get("byte_fallback")
    written = {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
    end = (template.eos if template else "") or written.get(ends[0], "")
    name = "LlamaTokenizer" if pieces else "GPT2Tokenizer"
    config = {"tokenizer_class": name, "eos_token": end, "pad_token": end}
    if template is not None:
        config |= {"bos_token": template.bos, "chat_template": template.text}
    return config
