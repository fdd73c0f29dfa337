"""Reads what sentence-transformers stores beside an encoder: pooling, longest text, prompts.

Without these files the tokens' mean is the vector, as sentence-transformers decides too. Whether a directory
asks for normalisation makes no difference: vectors are compared by their cosine, and all have unit length.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from gamer.index.json_checked import Between

from ..checked import read, read_as, read_object
from ..errors import ExportError

_MODULES = ("Transformer", "Pooling", "Normalize")
# The name in 1_Pooling/config.json → the pooling of networks/pooling.py. A mean over the root of the length
# has the direction of the mean.
_POOLINGS = {"mean": "mean", "mean_tokens": "mean", "mean_sqrt_len_tokens": "mean"} | {
    "cls": "cls",
    "cls_token": "cls",
    "lasttoken": "lasttoken",
}
# Names of flags that say how to pool; others, such as include_prompt, do not.
_KNOWN = (*_POOLINGS, "max_tokens", "weightedmean_tokens")
_MOST = 1 << 20  # bytes of one of these files
# The names under which published encoders keep the words before a query, and before what it is compared with.
_QUERY = ("query", "search_query", "retrieval.query", "s2p_query")
_MEMORY = ("passage", "document", "search_document", "retrieval.passage", "corpus")


@dataclass(frozen=True)
class SentenceModules:
    """`pooling`: of networks/pooling.py. `longest`: tokens of a text, 0 if no file says so.

    `prompts`: (name, words that stand before a text of this kind) pairs, without empty ones. `lower`: texts
    are put in lower case.
    """

    pooling: str = "mean"
    longest: int = 0
    prompts: tuple[tuple[str, str], ...] = ()
    lower: bool = False

    @property
    def before_query(self) -> str:
        """The words that stand before a query."""
        return self._first(_QUERY)

    @property
    def before_memory(self) -> str:
        """The words that stand before a text that queries are compared with."""
        return self._first(_MEMORY)

    def _first(self, names: tuple[str, ...]) -> str:
        known = dict(self.prompts)
        return next((known[name] for name in names if name in known), "")


AS_IT_IS = SentenceModules()  # of a directory without these files


def of_directory(folder: Path) -> SentenceModules:
    """What the files in an encoder's directory say.

    Raises ExportError for a module or a pooling that is not supported, and for files that cannot be read.
    """
    path = folder / "sentence_bert_config.json"
    settings = _object(path)
    most = settings.get("max_seq_length") or 0
    longest = read_as(Annotated[int, Between(0)], most, f"{path}: max_seq_length")
    prompts = _object(folder / "config_sentence_transformers.json").get("prompts")
    named = prompts.items() if isinstance(prompts, dict) else ()
    return SentenceModules(
        _pooling(folder),
        longest,
        tuple((str(name)[:40], str(text)[:200]) for name, text in named if text),
        settings.get("do_lower_case") is True,
    )


def _pooling(folder: Path) -> str:
    file, path = folder / "modules.json", "1_Pooling"
    for entry in read(file, tuple[dict[str, Any], ...], most=_MOST) if file.is_file() else ():
        kind = str(entry.get("type")).rpartition(".")[2]
        if kind not in _MODULES:
            raise ExportError(
                f"{folder.name}/modules.json: a module of type {kind[:60]!r} is not supported; supported "
                f"are: {', '.join(_MODULES)}"
            )
        path = str(entry.get("path")) if kind == "Pooling" else path
    where = Path(Path(path).name.strip(".")) / "config.json"  # never outside the directory
    config = _object(folder / where)
    chosen = [name.removeprefix("pooling_mode_") for name, on in config.items() if on is True]
    chosen = [str(config["pooling_mode"])] if "pooling_mode" in config else [n for n in chosen if n in _KNOWN]
    if len(chosen) > 1 or not set(chosen) <= set(_POOLINGS):
        raise ExportError(
            f"{folder.name}/{where}: pooling {' with '.join(chosen)[:80]} is not supported; supported is one "
            f"of: {', '.join(dict.fromkeys(_POOLINGS.values()))}"
        )
    return _POOLINGS[chosen[0]] if chosen else "mean"


def _object(path: Path) -> dict[str, Any]:
    return read_object(path, most=_MOST) or {}
