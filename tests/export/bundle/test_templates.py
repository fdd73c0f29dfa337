"""Turns derived from the chat templates of real model families, and templates that are hostile."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("jinja2", reason="needs the export extra")
pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.bundle import rendering
from gamer.export.bundle.prompts import prompts
from gamer.export.bundle.rendering import Dialogue
from gamer.export.bundle.templates import derive, written
from gamer.export.checkpoints.chat_template import ChatTemplate, of_directory
from tests.export import tiny

LLAMA3 = ChatTemplate(
    "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = "
    "'<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + "
    "'<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
    "{% endif %}",
    "<|begin_of_text|>",
    "<|eot_id|>",
)
MISTRAL = ChatTemplate(
    "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) "
    "%}{{ raise_exception('roles must alternate user/assistant/...') }}{% endif %}{% if message['role'] == "
    "'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}"
    "{{ ' ' + message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant') }}"
    "{% endif %}{% endfor %}",
    "<s>",
    "</s>",
)
PHI3 = ChatTemplate(
    "{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>\n' + message['content'] "
    "+ '<|end|>\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}"
    "{% elif message['role'] == 'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}"
    "{% endif %}",
    "<s>",
    "<|endoftext|>",
)
ZEPHYR = ChatTemplate(
    "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] "
    "+ eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + "
    "eos_token }}\n{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + "
    "eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n"
    "{% endif %}\n{% endfor %}",
    "<s>",
    "</s>",
)
LLAMA2 = ChatTemplate(
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = "
    "messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}"
    "{% endif %}{% for message in loop_messages %}{% if loop.index0 == 0 and system_message != false %}"
    "{% set content = '<<SYS>>\n' + system_message + '\n<</SYS>>\n\n' + message['content'] %}{% else %}"
    "{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + "
    "'[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + "
    "content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}",
    "<s>",
    "</s>",
)
QWEN = ChatTemplate(
    "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>"
    "\n' }}{% endif %}{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
    "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SAID = (
    *(("system", "Be brief."), ("user", "hi"), ("assistant", "Hello!"), ("user", "why so?")),
    *(("assistant", "Because."), ("user", "thanks")),
)


@pytest.mark.parametrize("template", [LLAMA3, PHI3, ZEPHYR, QWEN], ids=["llama3", "phi3", "zephyr", "qwen"])
def test_the_turns_write_what_the_template_writes(template: ChatTemplate) -> None:
    turns = derive(template, begins=True).turns
    (own,) = rendering.render(template.text, template.bos, template.eos, [Dialogue(SAID, True)]) or ("",)
    assert own is not None
    assert written(turns, SAID) == own.removeprefix(template.bos)


@pytest.mark.parametrize("template", [MISTRAL, LLAMA2], ids=["mistral", "llama2"])
def test_without_a_system_turn_the_rest_is_as_the_template_writes_it(template: ChatTemplate) -> None:
    found = derive(template, begins=True)
    assert found.turns["user"] == "[INST] {query} [/INST]"
    (own,) = rendering.render(template.text, template.bos, template.eos, [Dialogue(SAID[1:], True)]) or ("",)
    # The space before an answer is the model's own first token.
    assert own is not None
    assert written(found.turns, SAID[1:]) == own.removeprefix(template.bos).replace("[/INST] ", "[/INST]")
    assert bool(found.notes) == (template is LLAMA2)
    assert "system" not in found.turns


def test_a_template_that_adds_a_system_message_of_its_own_is_used_without() -> None:
    found = derive(QWEN, begins=False)
    assert found.turns["user"] == "<|im_start|>user\n{query}<|im_end|>\n"
    assert found.notes == ("the chat template's own system message is left out",)


@pytest.mark.parametrize(
    "text",
    [
        "{% for m in messages %}{{ m['role'] }}{{ loop.index }}: {{ m['content'] }}\n{% endfor %}",
        "{{ messages[-1]['content'] }}",
        "{% for m in messages %}{% if",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{% for m in messages %}{{ 'a' * 9000000000 }}{% endfor %}",
        "x" * (rendering.MAX_TEMPLATE + 1),
        "{% for m in messages %}{{ '{query}' + m['content'] }}{% endfor %}",
    ],
)
def test_a_template_that_cannot_be_expressed_is_told_in_one_line(text: str) -> None:
    found = derive(ChatTemplate(text), begins=False)
    assert found.turns == {}
    assert len(found.notes) == 1
    assert "use --raw" in found.notes[0]


def test_a_template_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "SECONDS", 1)
    loops = "".join("{% for _ in range(90000) %}" for _ in range(4)) + "{% endfor %}" * 4
    assert derive(ChatTemplate(loops), begins=False).turns == {}


def test_a_checkpoints_own_template_comes_before_the_marks_of_its_tokenizer(tmp_path: Path) -> None:
    tokenizer = tiny.tokenizer("<|begin_of_text|>", "<|eot_id|>", ("<|im_start|>",))
    own, marked = prompts(tokenizer, LLAMA3), prompts(tokenizer)
    assert own["chat_user"] == "<|start_header_id|>user<|end_header_id|>\n\n{query}<|eot_id|>"
    assert own["refine"].startswith("<|start_header_id|>system<|end_header_id|>\n\nYou rewrite")
    assert marked["chat_user"].startswith("<|im_start|>user")
    assert prompts(tokenizer, ChatTemplate("{{ messages[-1]['content'] }}")) == marked
    config = {"bos_token": {"content": "<s>"}, "eos_token": "</s>", "chat_template": MISTRAL.text}
    assert of_directory(tmp_path, config) == MISTRAL
    assert of_directory(tmp_path, None) is None
    several = [{"name": "tool_use", "template": "x"}, {"name": "default", "template": MISTRAL.text}]
    assert of_directory(tmp_path, config | {"chat_template": several}) == MISTRAL
    (tmp_path / "chat_template.jinja").write_text("own", encoding="utf-8")
    assert of_directory(tmp_path, config) == ChatTemplate("own", "<s>", "</s>")
