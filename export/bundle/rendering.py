"""Renders a checkpoint's chat template in a process of its own: the template is a stranger's program.

Jinja's sandbox keeps it from Python's objects; the process bounds its time and memory, because a few nested
loops take forever in any sandbox. Nothing of torch is imported here.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

MAX_TEMPLATE, MAX_TEXT = 200_000, 100_000  # characters of a template, and of what it gives
SECONDS, MEMORY = 20, 2 << 30
_CHILD = "from gamer.export.bundle.rendering import main; main()"


@dataclass(frozen=True)
class Dialogue:
    """(role, words) of each message, and whether the beginning of an answer follows.

    `parts`: contents are lists of parts, as models that see have them; the role "picture" is that of a user
    who shows one and says words of it.
    """

    messages: tuple[tuple[str, str], ...]
    answer: bool
    parts: bool = False


def render(template: str, bos: str, eos: str, dialogues: Sequence[Dialogue]) -> tuple[str | None, ...] | None:
    """The dialogues as the template writes them, None for those that it refuses.

    None for a template that is too long, takes too long, needs too much memory or is no template.
    """
    if len(template) > MAX_TEMPLATE:
        return None
    asked = {"template": template, "bos": bos, "eos": eos, "dialogues": [asdict(d) for d in dialogues]}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=json.dumps(asked).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
        )
        texts = json.loads(done.stdout) if done.returncode == 0 else None
    except (subprocess.TimeoutExpired, ValueError):
        return None
    return None if texts is None else tuple(texts)


def main() -> None:
    """The child: reads what is asked on standard input, writes a JSON list of texts."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    asked = json.load(sys.stdin)
    template = _environment().from_string(asked["template"])
    tokens = {"bos_token": asked["bos"], "eos_token": asked["eos"], "tools": None, "documents": None}
    json.dump([_one(template, tokens, dialogue) for dialogue in asked["dialogues"]], sys.stdout)


def _one(template: Any, tokens: dict[str, Any], dialogue: dict[str, Any]) -> str | None:
    messages = [_message(role, words, dialogue["parts"]) for role, words in dialogue["messages"]]
    text = ""
    try:
        for piece in template.generate(messages=messages, add_generation_prompt=dialogue["answer"], **tokens):
            text += piece
            if len(text) > MAX_TEXT:
                return None
    except Exception:  # a template raises what it likes
        return None
    return text


def _message(role: str, words: str, parts: bool) -> dict[str, Any]:
    if not parts:
        return {"role": role, "content": words}
    shown = [{"type": "image"}] if role == "picture" else []
    return {"role": "user" if shown else role, "content": [*shown, {"type": "text", "text": words}]}


def _environment() -> Any:
    """What transformers gives its templates, tools and documents aside."""
    from jinja2.exceptions import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> None:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment
