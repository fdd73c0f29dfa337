"""Kills every command that writes at its system calls, and looks at what is left:
`python -m tools.kills OUT.json BUNDLE PHOTOS.jsonl [KILLS [SEED [COMMAND…]]]`; with no names, every command.

A command runs once to its end, under strace, which counts the calls by which it changes files. Then it runs
again and again on the files as they were before, and is killed at one of these calls, drawn with a seed. The
album that is left must verify, and so must a bundle; the same command must then finish, and what it leaves
must be what the unharmed run left: the same photos and vectors, people, memories, artifacts and checkpoints,
the same files. A turn of a conversation that was answered must be stored. The language model that is
exported and trained is a made-up one of 0.1 M parameters. Needs strace, and a system that can fork.
"""

from __future__ import annotations

import faulthandler
import hashlib
import importlib
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer import main as gamer
from gamer.bench import machine
from gamer.bench.files import write_atomically
from gamer.index import Album, AlbumWriter, OpenedLog
from gamer.index.album.export_jsonl import export_jsonl
from gamer.index.memory.store import MemoryStore
from gamer.index.people import reading, writing
from gamer.index.people.records import LookedAt, NewFace
from gamer.runtime.bundle import manifest
from gamer.runtime.memory.update import OWNER

# The calls that change files, or make what was written last.
CALLS = (
    "write,writev,pwrite64,pwritev,fsync,fdatasync,ftruncate,fallocate,rename,renameat,renameat2,unlink,"
    "unlinkat,link,linkat,mkdir,mkdirat,chmod,fchmod,fcntl"
)
ALBUM, MORE, OUTPUT, QUERIES = "a.gamer", "more.jsonl", "out.jsonl", "queries.jsonl"
READ, FEW = "read", "few.jsonl"  # what a command reads; the fewest queries that are learned from
BUNDLE, TRAINED, PACKED, BASE = "bundle", "dpe", "bundle.gamerpack", "base"
TINY, SMALL = "tiny", "small"  # the language model's folder, and the bundle's that has it
MOST_SECONDS = 1200  # of a command; it then prints where it stands and ends with an error
NAME, HOME, CHAT = "Ottilie", "Porto", "talk"  # of a person; what the album remembers; of a conversation
KILLED = "a worker was killed"  # what a long command says then
TRACER_OF_ANY, ANY = 0x59616D61, -1  # prctl: strace is no ancestor of the command that it is to follow


@dataclass(frozen=True)
class Command:
    """`words`: those after `gamer`, with names in braces (Case). `done`: part of its error if it is run on an
    album on which it had ended. `is_long`: an export or a training, whose workers are killed, too. `gone`:
    what it leaves in no file. `rest`: the command that finishes it then, if `words` cannot be run again.
    `turns`: the lines that it reads.
    """

    words: str
    done: str = ""
    is_long: bool = False
    gone: str = ""
    rest: str = ""
    turns: tuple[str, ...] = ()


# Imported before the forks, each of which would import them again.
PREPARED = (
    "index.cli", "runtime.cli.chat", "runtime.cli.events", "runtime.cli.index", "runtime.cli.memory",
    "runtime.cli.things", "runtime.indexing.build", "runtime.indexing.captions", "runtime.models.models",
)  # fmt: skip
PREPARED_LONG = ("torch", "gamer.export.cli", "gamer.export.training.cli")  # of exports and trainings
LLM = "--weights llm={tiny}"
COMMANDS = {
    "build": Command("index build {more} -b {bundle} -o {album}"),
    "add": Command("index add {album} {more} -b {bundle}"),
    "update": Command("index update {album} -b {bundle}"),
    "caption": Command("index caption {album} -b {bundle}"),
    "events": Command("index events {album} --build -b {bundle}"),
    "remove": Command("index remove {album} {photo}", "no photo with id"),
    "prefer": Command("index prefer {album} {photo} {other}"),
    "merge": Command("index merge {album} Anna Berta", "one entity already"),
    "split": Command("index split {album} Carla", "no alias"),
    "compact": Command("index compact {album}"),
    "repair": Command("index verify {album} --repair"),
    "export-jsonl": Command("index export-jsonl {album} -o {out}"),
    "event rename": Command("index event rename {album} {event} Outing"),
    "event merge": Command("index event merge {album} {event} {next}", "no event"),
    "event split": Command("index event split {album} {event} {later}", "can be split at"),
    "things merge": Command("things merge {album} th1 th2", "are one thing already"),
    "things split": Command("things split {album} th3", "nothing to split"),
    "things forget": Command("things forget {album} th1", "there is no thing"),
    "opened delete": Command("index opened {album} --delete"),
    "opened keep": Command("index opened {album} --keep"),
    "memory add": Command("memory add {album} Tea --key drink"),
    "memory edit": Command("memory edit {album} m1 Lisbon"),
    "memory forget": Command("memory forget {album} m1", "m1", gone=HOME),
    "memory forget all": Command("memory forget {album} --all", gone=HOME),
    "memory personality": Command("memory personality {album} on"),
    "memory export": Command("memory export {album} {out} --all"),
    "memory update": Command("memory update {album} -b {bundle}"),
    "chat": Command(
        f"chat {{album}} -b {{bundle}} --name {CHAT} --json",
        turns=("I moved to Lisbon.", "My dentist is Dr. Weber.", "Where do I live?", "My tea is green."),
    ),
    "people name": Command("people name {album} p1 Anna -b {bundle}"),
    "people merge": Command("people merge {album} p1 p3 -b {bundle}", "nobody called"),
    "people split": Command("people split {album} p1 f2 -b {bundle}", "has the faces"),
    "people forget": Command(
        "people forget {album} p1 -b {bundle}",
        "nobody called",
        gone=NAME,
        rest="people forget {album} -b {bundle}",
    ),
    "people forget all": Command("people forget {album} --all -b {bundle}", gone=NAME),
    "unpack": Command("unpack {source} -o {made}", "there is something already"),
    "pack": Command("pack {bundle} -o {packed} --targets onnx --without llm"),
    "export": Command("export -m {tiny} --targets onnx --jobs 1 -o {made}", is_long=True),
    "train": Command(f"train pocket -a {{album}} -o {{trained}} --epochs 3 --batch 8 {LLM}", is_long=True),
    "train --align": Command(
        "train pocket -a {album} --align --queries {queries} --epochs 10 --rate 0.01", is_long=True
    ),
    "train --align --lora": Command(
        "train pocket -a {album} -o {trained} --align --queries {queries} --epochs 10 --rate 0.01 "
        f"--lora 2 {LLM}",
        is_long=True,
    ),
    "train --update": Command(
        f"train pocket -a {{album}} -o {{trained}} --update {{base}} --epochs 20 --rate 0.003 {LLM}",
        is_long=True,
    ),
    "train --reinforce": Command(
        "train pocket -a {album} -o {trained} --reinforce {base} -b {small} --queries {few} --epochs 1 "
        f"--lora 2 {LLM}",
        is_long=True,
    ),
}


@dataclass(frozen=True)
class Case:
    """What the commands are run on: a folder with the album and the file to add, and the bundle, if any.

    `photos`: the ids of two photos of the album; `events`: of two of its events, if it has any, and the id of
    the last photo of the first; `packed`: the bundle as one file; `base`: a checkpoint of the album;
    `language`: one of a made-up language model; `small`: a bundle that has this.
    """

    folder: Path
    photos: tuple[str, str]
    events: tuple[str, str, str] = ("", "", "")
    bundle: Path | None = None
    packed: Path | None = None
    base: Path | None = None
    language: Path | None = None
    small: Path | None = None

    def arguments(self, command: Command, folder: Path) -> list[str]:
        names = {"album": ALBUM, "more": MORE, "out": OUTPUT, "queries": QUERIES, "few": FEW}
        names |= {"made": BUNDLE, "trained": TRAINED, "packed": PACKED}
        values: dict[str, object] = {word: folder / name for word, name in names.items()}
        values |= {"photo": self.photos[0], "other": self.photos[1], "bundle": self.bundle}
        values |= dict(zip(("event", "next", "later"), self.events, strict=True))
        values |= {"source": self.packed, "base": self.base, "small": self.small, "tiny": self.language}
        return [word.format_map(values) for word in command.words.split()]


@dataclass(frozen=True)
class Killed:
    """How often a command was killed, and how many calls it had to be killed at. `finished`: runs that made
    fewer calls than the first and ended unharmed. `commit`: of the checkout.
    """

    command: str
    commit: str
    calls: int
    kills: int
    finished: int


@dataclass(frozen=True)
class Run:
    """A command's exit status, or minus the signal that ended it; each call of it (its name, and the how
    many it was of this name in its process); what it said.
    """

    status: int
    calls: tuple[tuple[str, int], ...]
    said: str


def kill(case: Case, name: str, times: int, chance: random.Random) -> Killed:
    """Kills the command `times` times. Raises AssertionError if a kill did any harm."""
    command, kills, finished = COMMANDS[name], 0, 0
    with tempfile.TemporaryDirectory(prefix="kills") as scratch:
        folder = _copied(case, Path(scratch) / "copy")  # of one name each time: checkpoints tell it
        first = run(case.arguments(command, folder), Path(scratch), turns=command.turns)
        assert first.status == 0, f"{name}: {first.said}"
        wanted, files = contents(folder), _files(folder)
        shutil.rmtree(folder)
        for _ in range(times):
            _copied(case, folder)
            call, turn = chance.choice(first.calls)
            harm = f"inject={call}:signal=KILL:when={turn}"
            harmed = run(case.arguments(command, folder), Path(scratch), harm, turns=command.turns)
            where = f"{name}, killed at {call} number {turn}"
            killed = harmed.status == -signal.SIGKILL or (command.is_long and KILLED in harmed.said)
            kills += killed
            finished += harmed.status == 0
            assert killed or harmed.status == 0, f"{where}: {harmed.said}"
            contents(folder)  # it verifies
            lost = _lost(folder / ALBUM, command.turns, harmed.said)
            assert not lost, f"{where}: answered and not stored: {lost}"
            again = run(case.arguments(command, folder), Path(scratch), traced=False, turns=command.turns)
            done = bool(command.done) and command.done in again.said
            if done and command.rest:
                again = run(case.arguments(Command(command.rest), folder), Path(scratch), traced=False)
            assert again.status == 0 or done, f"{where}, then again: {again.said}"
            left = contents(folder)
            other = [line for line in left.splitlines() if line not in wanted.splitlines()]
            assert left == wanted, f"{where}: other contents: {other}"
            if command.gone:
                files_with = [
                    path.name for path in folder.rglob("*") if command.gone.encode() in path.read_bytes()
                ]
                assert not files_with, f"{where}: {command.gone} is left in {files_with}"
            assert _files(folder) == files or done, f"{where}: {_files(folder)}, not {files}"
            shutil.rmtree(folder)
    return Killed(name, machine.read().build_commit, len(first.calls), kills, finished)


def contents(folder: Path) -> str:
    """What a folder holds: the album's photos, as JSON lines, events and people, the artifacts of a bundle,
    and the hashes of other files. The album is clean by `verify`, and so is the bundle.
    """
    with tempfile.TemporaryDirectory(prefix="kills") as scratch, Album.open(folder / ALBUM) as album:
        assert album.verify() == [], album.verify()
        export_jsonl(album, Path(scratch) / OUTPUT)
        photos = (Path(scratch) / OUTPUT).read_text(encoding="utf-8")
        events = repr([(event.name, event.photos) for event in album.events()])
        vectors = repr([(name, _digest(*album.vectors(name))) for name in sorted(album.channels())])
    whole = [
        photos,
        events,
        vectors,
        _people(folder / ALBUM),
        _memories(folder / ALBUM),
        _bundle(folder / BUNDLE),
    ]
    trained = (f"{TRAINED}/config.json", f"{TRAINED}/model.safetensors")
    for name in (PACKED, *trained, f"{ALBUM}.adapter", f"{ALBUM}.opened"):
        data = (folder / name).read_bytes() if (folder / name).is_file() else b""
        whole.append(f"{name} {len(data)} {hashlib.sha256(data).hexdigest()}")
    return "\n".join(whole)


def _digest(*parts: NDArray[Any]) -> str:
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def _people(album: Path) -> str:
    found = reading.read(album)
    return "" if found is None else repr((found.faces, sorted(found.names.items()), found.vectors.tolist()))


def _memories(album: Path) -> str:
    """What is remembered and still true, and what was said: each once, because who says it again after a kill
    may say it twice.
    """
    with MemoryStore.open(album, write=False) as store:
        items = {(item.value.kind, item.value.text) for item in store.items(past=False)}
        return repr((sorted(items), sorted(_told(store))))


def _lost(album: Path, turns: tuple[str, ...], said: str) -> list[str]:
    """The turns that were answered, a line of JSON each, and are not stored."""
    answered = sum(line.startswith("{") for line in said.splitlines())
    with MemoryStore.open(album, write=False) as store:
        return [turn for turn in turns[:answered] if turn not in _told(store)]


def _told(store: MemoryStore) -> set[str]:
    return {row.turn.text for row in store.all_turns() if row.turn.speaker == OWNER}


def _bundle(folder: Path) -> str:
    """The artifacts of a bundle, whose files are as its manifest says; "" for none."""
    if not folder.exists():
        return ""
    made = manifest.read(folder)
    manifest.check(folder, made)
    return repr([(artifact.role, artifact.target, artifact.sha256) for artifact in made.artifacts])


def _copied(case: Case, folder: Path) -> Path:
    shutil.copytree(case.folder, folder)
    return folder


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def run(
    words: list[str], scratch: Path, harm: str = "", traced: bool = True, turns: tuple[str, ...] = ()
) -> Run:
    """Runs a command in a fork of this process. `harm`: what strace shall do to one of its calls. `turns`:
    the lines that it reads.
    """
    said, trace = scratch / "said", scratch / "trace"
    (scratch / READ).write_text("".join(f"{line}\n" for line in turns), encoding="utf-8")
    wait, go = os.pipe()
    child = os.fork()
    if not child:
        os.close(go)
        _command(words, said, wait)
    os.close(wait)
    tracer = _attached(child, trace, harm) if traced else None
    os.close(go)
    status = _ended(child)
    if tracer is not None:
        tracer.communicate(timeout=MOST_SECONDS)
    calls = _calls(trace) if traced else ()
    return Run(status, calls, said.read_text(encoding="utf-8", errors="replace")[-4_000:])


def _ended(child: int) -> int:
    """The exit status of a child. Kills it and raises TimeoutError if it does not even end itself in time."""
    process = os.pidfd_open(child)
    try:
        if not select.select([process], [], [], 2 * MOST_SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
            raise TimeoutError(f"process {child} did not end in {2 * MOST_SECONDS} s")
    finally:
        os.close(process)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _calls(trace: Path) -> tuple[tuple[str, int], ...]:
    """The calls of all threads and processes, each with how many of its name its own thread had made."""
    lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()
    made = [(found[1], found[2]) for line in lines if (found := re.match(r"(\d+) +(\w+)\(", line))]
    turns: dict[tuple[str, str], int] = {}
    calls = []
    for one in made:
        turns[one] = turns.get(one, 0) + 1
        calls.append((one[1], turns[one]))
    return tuple(calls)


def _command(words: list[str], said: Path, wait: int) -> None:
    """The child: waits until the tracer is attached, runs the command, ends without returning."""
    status = 1
    try:
        _let_anybody_trace()
        while os.read(wait, 1):
            pass
        os.dup2(os.open(said.with_name(READ), os.O_RDONLY), 0)
        sys.stdin = os.fdopen(0, encoding="utf-8")
        out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True, file=2)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)
        sys.argv = ["gamer", *words]
        gamer.run()
        status = 0
    except SystemExit as exit_:
        status = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _let_anybody_trace() -> None:
    """Where Yama allows only ancestors to trace; elsewhere the call fails, which does no harm."""
    import ctypes

    ctypes.CDLL(None).prctl(TRACER_OF_ANY, ANY, 0, 0, 0)


def _attached(child: int, trace: Path, harm: str) -> subprocess.Popen[str]:
    """strace, once it follows the child and its threads."""
    tracer = subprocess.Popen(
        [
            "strace",
            "-f",
            "-p",
            str(child),
            "-e",
            f"trace={CALLS}",
            *(["-e", harm] * bool(harm)),
            "-o",
            str(trace),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert tracer.stderr is not None
    line = tracer.stderr.readline()
    if "attached" not in line:
        os.kill(child, signal.SIGKILL)
        raise RuntimeError(f"strace cannot follow a command here: {line.strip()}")
    return tracer


TOLD = (
    "Anna met Berta and Carla. My red bag lay beside my blue mug. "
    "My green umbrella stood beside my old bicycle."
)
# Queries that nobody reads right, each opened often enough to be learned.
WORDS = ("zorp", "blick", "quaggle", "mimsy")
PEOPLE = json.dumps({"id": "people.jpg", "memories": [{"source": "note", "text": TOLD}]}) + "\n"


def prepared(bundle: Path, photos: Path, folder: Path) -> Case:
    """A case of all commands: an album of half the photos, with merges, events and memories."""
    folder.mkdir()
    lines = [PEOPLE, *photos.read_text(encoding="utf-8").splitlines(keepends=True)]
    (folder / MORE).write_text("".join(lines), encoding="utf-8")
    half = folder.parent / "half.jsonl"
    half.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
    _run_whole(f"index build {half} -b {bundle} -o {folder / ALBUM}", folder.parent)
    _run_whole(f"index events {folder / ALBUM} --build -b {bundle}", folder.parent)
    packed = folder.parent / "packed.zip"
    _run_whole(f"pack {bundle} -o {packed} --targets onnx --without llm", folder.parent)
    return replace(furnished(folder, bundle), packed=packed)


def furnished(folder: Path, bundle: Path | None = None) -> Case:
    """A case of an album in `folder` that has the photo of PEOPLE: gives it an alias, a memory, the faces of
    two people, and queries with the photos that were opened.
    """
    for name in PREPARED:
        importlib.import_module(f"gamer.{name}")
    _run_whole(f"index merge {folder / ALBUM} Anna Carla", folder.parent)
    _run_whole(f"things merge {folder / ALBUM} th3 th4", folder.parent)
    _run_whole(f"memory add {folder / ALBUM} {HOME} --key home", folder.parent)
    with Album.open(folder / ALBUM) as opened:
        ids = [photo.id for photo in opened.photos(range(len(opened)))]
        events = sorted(opened.events(), key=lambda event: -len(event.photos))
    named = (events[0].id, events[1].id, events[0].photos[-1]) if events else ("", "", "")
    first, second = ids[:2]
    _give_faces(folder / ALBUM, first, second)
    opened_photos = ids[1 :: max(1, len(ids) // len(WORDS))]
    asked = list(zip(WORDS, opened_photos, strict=False)) * 4
    lines = [json.dumps({"query": words, "photos": [photo]}) + "\n" for words, photo in asked]
    (folder / QUERIES).write_text("".join(lines), encoding="utf-8")
    (folder / FEW).write_text("".join(lines[: len(WORDS)]), encoding="utf-8")
    log = OpenedLog(folder / ALBUM)
    log.keep()
    for at, (words, photo) in enumerate(asked):
        log.add(words, photo, at)
    if bundle is not None:
        _run_whole(f"people name {folder / ALBUM} p1 {NAME} -b {bundle}", folder.parent)
    return Case(folder, (first, second), named, bundle)


def based(case: Case) -> Case:
    """The case with a made-up language model and a checkpoint of its album, for exports and trainings."""
    for name in PREPARED_LONG:
        importlib.import_module(name)
    scratch = case.folder.parent
    base, language, small = scratch / BASE, tiny_language(scratch / TINY), scratch / SMALL
    _run_whole(
        f"train pocket -a {case.folder / ALBUM} -o {base} --epochs 0 --weights llm={language}", scratch
    )
    _run_whole(
        f"export pocket --parts image,text,llm --targets onnx --jobs 1 -o {small} --weights llm={language}",
        scratch,
    )
    return replace(case, base=base, language=language, small=small)


def tiny_language(folder: Path) -> Path:
    """A checkpoint of a llama of two layers with random weights, whose tokens are bytes."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<end>"]
    tokenizer = Tokenizer(models.BPE({letter: n for n, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(letters[-1:])
    width, inner, layers, chance = 64, 96, 2, np.random.default_rng(4)
    shapes: dict[str, tuple[int, ...]] = {"embed_tokens": (len(letters), width), "norm": (width,)}
    for at in (f"layers.{n}." for n in range(layers)):
        shapes |= {f"{at}{which}_layernorm": (width,) for which in ("input", "post_attention")}
        shapes |= {f"{at}self_attn.{which}_proj": (width, width) for which in "qkvo"}
        shapes |= {f"{at}mlp.{which}_proj": (inner, width) for which in ("gate", "up")}
        shapes[f"{at}mlp.down_proj"] = (width, inner)
    drawn = {
        f"model.{name}.weight": chance.normal(0, 0.1, of) + (len(of) == 1) for name, of in shapes.items()
    }
    sizes = {"vocab_size": len(letters), "hidden_size": width, "intermediate_size": inner}
    heads = {"num_hidden_layers": layers, "num_attention_heads": 4, "num_key_value_heads": 4}
    others = {"max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 1e4, "hidden_act": "silu"}
    told = {"model_type": "llama", "tie_word_embeddings": True, "eos_token_id": len(letters) - 1}
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file({name: of.astype(np.float32) for name, of in drawn.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(sizes | heads | others | told), encoding="utf-8")
    return folder


def _give_faces(album: Path, first: str, second: str) -> None:
    """p1 in both photos, p3 in the second."""
    faces = [NewFace((0.1, 0.1, 0.2, 0.2), 1.0, row) for row in np.eye(2, 128, dtype=np.float32)]
    looked = (LookedAt(first, None, (faces[0],)), LookedAt(second, None, (faces[0], faces[1])))
    with AlbumWriter.extend(album) as writer:
        writer.change_optional(lambda db, _: writing.begin(db, album, "kills"))
        writer.change_optional(lambda db, _: writing.store(db, looked))
        writer.change_optional(lambda db, _: writing.regroup(db, album))


def _run_whole(words: str, scratch: Path) -> None:
    done = run(words.split(), scratch, traced=False)
    assert done.status == 0, f"{words}: {done.said}"


def main() -> None:
    numbers, names = sys.argv[4:6], sys.argv[6:]
    if len(sys.argv) < 4 or not all(word.isdigit() for word in numbers) or set(names) - set(COMMANDS):
        sys.exit("usage: python -m tools.kills OUT.json BUNDLE PHOTOS.jsonl [KILLS [SEED [COMMAND…]]]")
    out, bundle, photos = (Path(word).resolve() for word in sys.argv[1:4])
    kills, seed = (int(word) for word in (numbers + ["500", "4"][len(numbers) :]))
    rows = (
        {row["command"]: row for row in json.loads(out.read_text())["commands"]}
        if names and out.is_file()
        else {}
    )
    with tempfile.TemporaryDirectory(prefix="kills") as scratch:
        case = prepared(bundle, photos, Path(scratch) / "case")
        if any(COMMANDS[name].is_long for name in names or COMMANDS):
            case = based(case)
        for name in names or COMMANDS:
            each = -(-kills // len(COMMANDS))
            found = kill(case, name, each, random.Random(f"{seed} {name}"))
            print(found, flush=True)
            rows[name] = asdict(found)
            shown = [rows[name] for name in COMMANDS if name in rows]
            result = {"machine": asdict(machine.read()), "seed": seed, "commands": shown}
            write_atomically(out, json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
