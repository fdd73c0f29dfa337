"""Finds the chat template that a checkpoint brings: a Jinja program that writes dialogues.

It is only read here. bundle/templates.py says what it makes of a dialogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..checked import read_object

MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class ChatTemplate:
    """`bos`, `eos`: the texts of the tokens that begin and end a text, "" for none."""

    text: str
    bos: str = ""
    eos: str = ""


@dataclass(frozen=True)
class Picture:
    """What a template writes for a picture, and what the model reads instead: {image} is its soft prompts."""

    mark: str
    written: str


# Of Idefics3 and SmolVLM, for one view (their processors in transformers).
PICTURE = Picture("<image>", "<fake_token_around_image><global-img>{image}<fake_token_around_image>")


def of_directory(folder: Path, config: dict[str, Any] | None) -> ChatTemplate | None:
    """The template of a Hugging Face directory; `config`: the contents of its tokenizer_config.json."""
    known, file = config or {}, folder / "chat_template.jinja"
    if file.is_file() and file.stat().st_size <= MAX_BYTES:
        text: object = file.read_text(encoding="utf-8", errors="replace")
    else:
        text = known.get("chat_template") or _of_processor(folder)
    if isinstance(text, list):  # several, by name
        named = {t.get("name"): t.get("template") for t in text if isinstance(t, dict)}
        text = named.get("default")
    if not isinstance(text, str) or not text:
        return None
    return ChatTemplate(text, _token(known.get("bos_token")), _token(known.get("eos_token")))


def _of_processor(folder: Path) -> object:
    """The template of chat_template.json, where the processors of models that see keep theirs."""
    return (read_object(folder / "chat_template.json", most=MAX_BYTES) or {}).get("chat_template")


def of_gguf(reader: Any) -> ChatTemplate | None:
    """The template in the header of a GGUF file."""
    text = _field(reader, "tokenizer.chat_template")
    if not isinstance(text, str) or not text:
        return None
    return ChatTemplate(text, _named(reader, "bos"), _named(reader, "eos"))


def _token(value: object) -> str:
    inner = value.get("content") if isinstance(value, dict) else value
    return inner if isinstance(inner, str) else ""


def _named(reader: Any, name: str) -> str:
    number, tokens = _field(reader, f"tokenizer.ggml.{name}_token_id"), "tokenizer.ggml.tokens"
    field = reader.get_field(tokens)
    if not isinstance(number, int) or field is None or not 0 <= number < len(field.data):
        return ""
    return str(field.contents(number))


def _field(reader: Any, name: str) -> object:
    field = reader.get_field(name)
    return None if field is None else field.contents()
