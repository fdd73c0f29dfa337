"""`gamer generate`: a language model answers a prompt, printed as it comes.

The model is a bundle's, or that of a checkpoint: this file knows no exporter, but calls the one that the
program has put into click's context (src/gamer/main.py).
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from .console import json_line, one_line, passage
from .options import PATH, backend_option, memory_option, random_option, threads_option

if TYPE_CHECKING:
    from ..models.language.chat import Chat, Shown, Wish
    from ..models.language.llm import Generation


# (checkpoint, quantization, target) → the bundle of its language model.
Export = Callable[[Path, str, str], Path]


@click.command()
@click.argument("model", type=PATH)
@click.argument("prompt")
@click.option(
    "--quant",
    type=click.Choice(("int8", "int4")),
    default=None,
    help="What a checkpoint is quantized to when it is first exported. [default: int8]",
)
@click.option("--image", type=PATH, default=None, metavar="FILE", help="A picture that the prompt is about.")
@click.option(
    "--adapter", default="", metavar="NAME", help="Answer with this adapter (gamer export --adapter)."
)
@click.option("--system", default=None, metavar="TEXT", help="What the model is told before the prompt.")
@click.option("--raw", is_flag=True, help="Go on from the bare prompt, without the model's chat template.")
@click.option(
    "--max-new", type=click.IntRange(1, 1 << 17), default=256, show_default=True, help="New tokens at most."
)
@click.option(
    "--temperature",
    type=click.FloatRange(0, 100),
    default=0.0,
    show_default=True,
    help="0: always the likeliest token.",
)
@click.option(
    "--top-k", type=click.IntRange(0), default=0, show_default=True, help="Of the likeliest; 0: of all."
)
@click.option(
    "--top-p",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="Of the likeliest that have this share together.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, (1 << 63) - 1),
    default=0,
    show_default=True,
    help="The same seed gives the same text.",
)
@click.option("--stop", multiple=True, metavar="TEXT", help="End before this text; may be given repeatedly.")
@backend_option
@threads_option
@memory_option
@random_option
@click.option("-v", "--verbose", is_flag=True, help="Print tokens and times, on standard error.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end instead of the text.")
def generate(
    model: Path,
    prompt: str,
    quant: str | None,
    image: Path | None,
    adapter: str,
    system: str | None,
    raw: bool,
    max_new: int,
    temperature: float,
    top_k: int,
    top_p: float,
    seed: int,
    stop: tuple[str, ...],
    backend: str,
    threads: int | None,
    max_memory: int | None,
    allow_random: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Let the language model of MODEL answer PROMPT; "-" reads the prompt from standard input.

    MODEL is a bundle, a .gguf file, or a directory with config.json and safetensors. The last two are
    exported into gamer's cache first, once (needs the export extra).

    \b
    gamer generate out/pocket "Name three colours." --max-new 64
    gamer generate SmolLM2-135M-Instruct.gguf "Name three colours." --quant int4
    gamer generate SmolVLM-256M-Instruct "What is on the table?" --image photo.jpg
    gamer generate out/pocket - --system "Answer in one sentence." < question.txt
    gamer generate out/pocket "Once upon a time" --raw --temperature 0.8 --seed 7

    Ctrl-C ends the answer and keeps what was said.
    """
    with one_line("generate", extra="export"):
        from ..door.bundle import Bundle, Running
        from ..models.language.chat import Chat, Wish
        from ..models.language.sampling import Sampling

        wish = Wish(max_new, Sampling(temperature, top_k, top_p, seed), stop)
        running = Running(backend, threads, max_memory, allow_random)
        chat = Chat(Bundle(_bundle(model, quant, backend), running).models, adapter)
        ids = _ids(chat, _read(prompt), system, raw, image)
        done = _answer(chat, ids, wish, aloud=not as_json)
    if as_json:
        click.echo(json_line(generation_json(done)))
    if verbose:
        click.echo(_figures(done), err=True)
    if done.ended == "cancelled":
        raise SystemExit(130)


def generation_json(done: Generation) -> dict[str, Any]:
    """A generation as JSON: the text, why it ended, tokens, and their speed."""
    return {
        "text": done.text,
        "ended": done.ended,
        "prompt_tokens": done.prompt_tokens,
        "new_tokens": len(done.ids),
        "first_token_ms": round(done.first_ns / 1e6, 3),
        "tokens_per_second": _speed(done),
    }


def _bundle(model: Path, quant: str | None, backend: str) -> Path:
    """`model` itself if it is a bundle, or nothing else that is known; else the bundle of the checkpoint."""
    from ..bundle.manifest import MANIFEST_NAME
    from ..errors import RuntimeFailure

    directory = (model / "config.json").is_file() and not (model / MANIFEST_NAME).is_file()
    if not directory and not model.is_file():
        if quant is not None and model.is_dir():
            raise RuntimeFailure(f"--quant is for checkpoints, and {model} is a bundle: leave it out")
        return model
    export: Export | None = click.get_current_context().obj
    if export is None:
        raise RuntimeFailure(f"{model} must be a bundle: export it first, gamer export -m {model} -o DIR")
    return export(model, quant or "int8", backend.partition(":")[0])


def _read(prompt: str) -> str:
    """The prompt; from standard input without its last line break, as a shell's $(…) gives it."""
    from ..models.language.chat import MAX_TEXT

    if prompt != "-":
        return prompt
    given = sys.stdin.buffer.read(4 * MAX_TEXT + 8).decode("utf-8", "replace")
    return given.removesuffix("\n").removesuffix("\r")


def _ids(
    chat: Chat, prompt: str, system: str | None, raw: bool, image: Path | None
) -> tuple[int, ...] | Shown:
    from gamer.index import load_pixels

    from ..errors import RuntimeFailure
    from ..models.language.chat import Message

    if not raw:
        told = [] if system is None else [Message("system", system)]
        said = [*told, Message("user", prompt)]
        return chat.ids(said) if image is None else chat.shown(said, load_pixels(image))
    if image is not None:
        raise RuntimeFailure("--image needs the chat template: leave --raw out")
    if system is not None:
        raise RuntimeFailure("--system needs the chat template: leave --raw out, or write it into the prompt")
    return chat.raw(prompt)


def _answer(chat: Chat, ids: Sequence[int] | Shown, wish: Wish, aloud: bool) -> Generation:
    with _cancelled_by_ctrl_c() as cancel:
        try:
            done = chat.generate(
                ids,
                wish,
                (lambda piece: click.echo(passage(piece.text), nl=False)) if aloud else None,
                cancel,
            )
            if aloud:
                click.echo()
        except BrokenPipeError:  # `gamer generate … | head`: main.py ends quietly, one_line would not
            raise click.exceptions.Exit(0) from None
    return done


@contextmanager
def _cancelled_by_ctrl_c() -> Iterator[Event]:
    """An event that Ctrl-C sets, so that the answer so far is not lost; a second Ctrl-C ends at once."""
    cancel = Event()

    def handler(signum: int, frame: FrameType | None) -> None:
        cancel.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, handler)
    try:
        yield cancel
    finally:
        signal.signal(signal.SIGINT, before)


def _figures(done: Generation) -> str:
    speed = _speed(done)
    return (
        f"gamer generate: {done.prompt_tokens} tokens of prompt, the first answered after "
        f"{done.first_ns / 1e6:.0f} ms; {len(done.ids)} new"
        + ("" if speed is None else f", {speed} a second")
        + f"; ended by {done.ended}"
    )


def _speed(done: Generation) -> float | None:
    """Tokens a second after the first; None for an answer without a second one."""
    if len(done.ids) < 2 or not done.decode_ns:
        return None
    return round((len(done.ids) - 1) * 1e9 / done.decode_ns, 2)
