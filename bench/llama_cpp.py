"""llama.cpp as a peer of the language model, driven by the C functions of the wheel `xllamacpp`.

The wheel's Python interface offers a server alone, whose times hold more than a step. Its library exports
llama.cpp's own functions. Their structs of parameters change between versions, so they are passed on as they
come, with llama.cpp's defaults: 512 slots, memory-mapped weights, no GPU in the CPU wheel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from gamer.index.records import FloatArray

from .retrieval.datasets import DatasetError

SLOTS = 512
_INSTALL = "llama.cpp is measured beside: pip install xllamacpp (no compiler needed)"
_Log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_silent = _Log(lambda level, text, data: None)


class _Parameters(ctypes.Structure):
    """A struct of parameters of any version; more room than one takes."""

    _fields_ = (("bytes", ctypes.c_uint8 * 1024),)


class _Batch(ctypes.Structure):
    _fields_ = (
        ("n_tokens", ctypes.c_int32),
        ("token", ctypes.POINTER(ctypes.c_int32)),
        ("embd", ctypes.c_void_p),
        ("pos", ctypes.POINTER(ctypes.c_int32)),
        ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
    )


def is_installed() -> bool:
    return find_spec("xllamacpp") is not None


def _library() -> Any:
    """Raises DatasetError if the wheel is missing or lacks what is called here."""
    found = find_spec("xllamacpp")
    if found is None or found.origin is None:
        raise DatasetError(_INSTALL)
    files = sorted(Path(found.origin).parent.glob("xllamacpp*.so"))
    if not files:
        raise DatasetError(f"{Path(found.origin).parent}: no library of xllamacpp: install it again")
    library: Any = ctypes.CDLL(str(files[0]))
    pointer, number = ctypes.c_void_p, ctypes.c_int32
    for name, result, given in (
        ("llama_log_set", None, (_Log, pointer)),
        ("llama_backend_init", None, ()),
        ("llama_model_default_params", _Parameters, ()),
        ("llama_model_load_from_file", pointer, (ctypes.c_char_p, _Parameters)),
        ("llama_model_free", None, (pointer,)),
        ("llama_context_default_params", _Parameters, ()),
        ("llama_init_from_model", pointer, (pointer, _Parameters)),
        ("llama_free", None, (pointer,)),
        ("llama_set_n_threads", None, (pointer, number, number)),
        ("llama_model_get_vocab", pointer, (pointer,)),
        ("llama_vocab_n_tokens", number, (pointer,)),
        ("llama_get_memory", pointer, (pointer,)),
        ("llama_memory_clear", None, (pointer, ctypes.c_bool)),
        ("llama_batch_init", _Batch, (number, number, number)),
        ("llama_batch_get_one", _Batch, (ctypes.POINTER(number), number)),
        ("llama_batch_free", None, (_Batch,)),
        ("llama_decode", number, (pointer, _Batch)),
        ("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), (pointer, number)),
    ):
        try:
            function = getattr(library, name)
        except AttributeError:
            raise DatasetError(f"this version of xllamacpp has no {name}: install another") from None
        function.restype, function.argtypes = result, given
    library.llama_log_set(_silent, None)
    library.llama_backend_init()
    return library


class LlamaRunner:
    """llama.cpp on one .gguf file; numpy picks the likeliest token, as for our own decoder.

    `megabytes`: of the file, which a step reads whole where the table of tokens is the head too. Raises
    DatasetError without the wheel, and for a file that it cannot open.
    """

    name = "llama.cpp"

    def __init__(self, gguf: Path, threads: int) -> None:
        if not gguf.is_file():
            raise DatasetError(f"{gguf}: no such file")
        self.weights, self.megabytes = gguf.name, gguf.stat().st_size / 1e6
        self._c = _library()
        self._model = self._c.llama_model_load_from_file(
            str(gguf).encode(), self._c.llama_model_default_params()
        )
        if not self._model:
            raise DatasetError(f"{gguf}: llama.cpp refuses it: give another .gguf file")
        self._context = self._c.llama_init_from_model(self._model, self._c.llama_context_default_params())
        if not self._context:
            raise DatasetError(f"{gguf}: llama.cpp has no memory for it: free some")
        self._c.llama_set_n_threads(self._context, threads, threads)
        self._vocab = int(self._c.llama_vocab_n_tokens(self._c.llama_model_get_vocab(self._model)))

    def close(self) -> None:
        self._c.llama_free(self._context)
        self._c.llama_model_free(self._model)

    def prefill(self, ids: Sequence[int]) -> int:
        self._clear()
        return self._read(ids)

    def step(self, token: int) -> int:
        return self._read([token])

    def scores(self, ids: Sequence[int]) -> FloatArray:
        """The logits [S, V] after each of at most SLOTS tokens."""
        self._clear()
        batch = self._c.llama_batch_init(len(ids), 0, 1)
        try:
            batch.n_tokens = len(ids)
            for n, token in enumerate(ids):
                batch.token[n], batch.pos[n], batch.logits[n] = token, n, 1
                batch.n_seq_id[n], batch.seq_id[n][0] = 1, 0
            self._decode(batch)
            return np.stack([self._logits(n).copy() for n in range(len(ids))])
        finally:
            self._c.llama_batch_free(batch)

    def _clear(self) -> None:
        self._c.llama_memory_clear(self._c.llama_get_memory(self._context), True)

    def _read(self, ids: Sequence[int]) -> int:
        tokens = (ctypes.c_int32 * len(ids))(*ids)
        self._decode(self._c.llama_batch_get_one(tokens, len(ids)))
        return int(np.argmax(self._logits(-1)))

    def _decode(self, batch: _Batch) -> None:
        if self._c.llama_decode(self._context, batch) != 0:
            raise DatasetError(f"{self.weights}: llama.cpp cannot read on: its {SLOTS} slots are full")

    def _logits(self, n: int) -> FloatArray:
        return np.ctypeslib.as_array(self._c.llama_get_logits_ith(self._context, n), shape=(self._vocab,))


def write_q4_0(source: Path, target: Path) -> None:
    """Writes `source` with the weights of its layers in Q4_0, the format that llama.cpp repacks for speed.

    They are quantized anew from what they are; the table of tokens and the head stay as they are.
    """
    from gguf import GGMLQuantizationType as Kind
    from gguf import GGUFReader, GGUFWriter, quants

    reader = GGUFReader(source)
    writer = GGUFWriter(target, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name not in ("general.architecture", "general.file_type"):
            inner = field.types[-1] if len(field.types) > 1 else None
            writer.add_key_value(name, field.contents(), field.types[0], inner)
    writer.add_file_type(2)  # mostly Q4_0
    for tensor in reader.tensors:
        data, kind = tensor.data, tensor.tensor_type
        plain = kind in (Kind.F32, Kind.F16, Kind.BF16)
        if not plain and tensor.name not in ("token_embd.weight", "output.weight"):
            data, kind = quants.quantize(quants.dequantize(data, kind), Kind.Q4_0), Kind.Q4_0
        writer.add_tensor(tensor.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
