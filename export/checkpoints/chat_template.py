"""Finds the chat template that a checkpoint brings: a Jinja program that writes dialogues.

It is only read here. bundle/templates.py says what it makes of a dialogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class ChatTemplate:
    """`bos`, `eos`: the texts of the tokens that begin and end a text, "" for none."""

    text: str
    bos: str = ""
    eos: str = ""


def of_directory(folder: Path, config: dict[str, Any] | None) -> ChatTemplate | None:
    """The template of a Hugging Face directory; `config`: the contents of its tokenizer_config.json."""
    known, file = config or {}, folder / "chat_template.jinja"
    if file.is_file() and file.stat().st_size <= MAX_BYTES:
        text: object = file.read_text(encoding="utf-8", errors="replace")
    else:
        text = known.get("chat_template")
    if isinstance(text, list):  # several, by name
        named = {t.get("name"): t.get("template") for t in text if isinstance(t, dict)}
        text = named.get("default")
    if not isinstance(text, str) or not text:
        return None
    return ChatTemplate(text, _token(known.get("bos_token")), _token(known.get("eos_token")))


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
