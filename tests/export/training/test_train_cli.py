"""`gamer train` on packaged photographs with the packaged models, once as a process, and its errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

torch = pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.components import components, fixtures, states
from gamer.export.settings import Settings
from gamer.export.training import cli, pairs
from gamer.index import Album, AlbumWriter, Encoded, Memory, OpenedLog, Photo
from tests.albums import album_of

WORDS = {"chelsea.png": "my cat looks at me", "coffee.png": "a cup of coffee", "china.jpg": "the old temple"}


def files() -> list[Path]:
    """Ten of the packaged photographs."""
    return [*fixtures.paths()[:8], *fixtures.paths()[-2:]]


def album(folder: Path, words: dict[str, str] = WORDS) -> Path:
    """An album of the packaged photographs; those in `words` have a memory. It has no vectors."""
    notes = {name: (Memory("note", text),) for name, text in words.items()}
    photos = [Photo(file.name, str(file), memories=notes.get(file.name, ())) for file in files()]
    return album_of(folder / "a.gamer", photos)


def train(*args: object) -> Result:
    """The command in this process, which opens the packaged models once."""
    return CliRunner().invoke(cli.train, [*map(str, args)])


@pytest.mark.slow
def test_a_checkpoint_is_trained_and_exported_as_a_channel(tmp_path: Path) -> None:
    path, out = album(tmp_path), tmp_path / "dpe"
    command = ("train", "pocket", "-a", str(path), "-o", str(out), "--epochs", "2", "--json")
    done = subprocess.run(
        [sys.executable, "-m", "gamer.main", *command], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["photos"], told["memories"], told["missing"], len(told["epochs"])) == (10, 3, 0, 2)
    assert "epoch 2 of 2" in done.stderr
    settings = Settings("pocket", sources=(("dpe", str(out)),))
    assert components.roles(settings).count("dpe_query") == 1
    channel = components.channel(settings)
    assert channel is not None
    assert (channel.query, channel.dim) == ("text", 576)
    head = components.build(settings, "dpe_query", "fp32")
    vectors = states.of_queries(settings, "text", list(WORDS.values()))
    with torch.no_grad():
        asked = torch.cat([head.module(torch.from_numpy(row[None])) for row in vectors])
        shown = []
        for (patches,) in fixtures.patches(settings, tuple(WORDS)):
            experts = [components.build(settings, f"dpe_expert_{n}", "fp32").module for n in range(3)]
            shares = components.build(settings, "dpe_router", "fp32").module(torch.from_numpy(patches))[0]
            prompts = [expert(torch.from_numpy(patches)).mean(1)[0] for expert in experts]
            shown.append(sum(share * prompt for share, prompt in zip(shares, prompts, strict=True)))
    scores = asked @ torch.nn.functional.normalize(torch.stack(shown), dim=-1).T
    assert scores.argmax(dim=1).tolist() == [0, 1, 2]
    few = train("pocket", "-a", path, "-o", tmp_path / "new", "--update", out)
    assert few.exit_code == 1
    assert "0 searches with a photo that was opened, 8 are needed" in few.stderr
    log = OpenedLog(path)
    log.keep()
    others = [file.name for file in fixtures.paths()[:8] if file.name not in WORDS]
    for n in range(4):
        for file, words in zip(others, ("my cat", "the coffee", "a temple"), strict=False):
            log.add(f"{words}, elsewhere", file, at=n)
    go_on = ("pocket", "-a", path, "--update", out)
    worse = train(*go_on, "-o", tmp_path / "worse", "--epochs", 1, "--rate", 0)
    assert worse.exit_code == 1
    assert "what came out finds no more, or forgets" in worse.stderr
    assert not (tmp_path / "worse" / "config.json").exists()
    updated = train(*go_on, "-o", tmp_path / "new", "--epochs", 20, "--rate", 0.003, "--json")
    assert updated.exit_code == 0, updated.stderr
    told = json.loads(updated.stdout)
    assert told["installed"]
    assert told["learned"] == 9
    assert told["after"]["opened"]["queries"] == 3
    assert told["before"]["known"]["queries"] == 3
    assert (tmp_path / "new" / "config.json").exists()
    again = train("pocket", "-a", path, "-o", out, "--epochs", 3)
    assert again.exit_code == 1
    assert "a training with another epochs is there" in again.stderr


@pytest.mark.parametrize(
    ("recipe", "name", "words", "message"),
    [
        ("clip-vit-b32", "a.gamer", WORDS, "has no part 'dpe'|has no experts"),
        ("nonsense", "a.gamer", WORDS, "unknown recipe 'nonsense'"),
        ("pocket", "a.gamer", {}, "no photo with a memory has its pixels here"),
        ("pocket", "none.gamer", WORDS, "no such album"),
    ],
)
def test_what_cannot_be_trained_on_is_said_in_one_line(
    tmp_path: Path, recipe: str, name: str, words: dict[str, str], message: str
) -> None:
    path = album(tmp_path, words).with_name(name)
    done = train(recipe, "-a", path, "-o", tmp_path / "dpe")
    assert done.exit_code == 1
    assert not done.stdout
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert any(part in done.stderr for part in message.split("|"))
    assert not (tmp_path / "dpe").exists()


def test_photos_without_pixels_are_counted_and_later_memories_withheld(tmp_path: Path) -> None:
    path = album(tmp_path)
    with AlbumWriter.extend(path) as writer:
        gone = Photo("gone", str(tmp_path / "gone.jpg"), memories=(Memory("note", "it was here"),))
        file = fixtures.paths()[0]
        late = Photo(
            "late",
            str(file),
            taken_at=2000,
            memories=(Memory("note", "日の出, спасибо"), Memory("label", "x")),
        )
        writer.add([Encoded(gone, {}, ()), Encoded(late, {}, ())])
        writer.finish(lambda names: np.zeros((len(names), 4), np.float32))
    whole, until = pairs.read(path), pairs.read(path, until=1000)
    assert (whole.missing, len(whole.paths), len(whole.texts)) == (1, 11, 4)
    assert "日の出, спасибо" in whole.texts
    assert "x" not in whole.texts
    assert len(until.texts) == 3
    assert len(until.paths) == 11
    assert whole.digest() != until.digest()
    with Album.open(path) as opened:
        assert len(opened) == 12
    searches = [pairs.Search("sunrise", ("late", "?")), pairs.Search("dawn", ("late",))]
    asked = pairs.read(path, searches=searches)
    assert asked.queries == tuple("sunrise" if text == "日の出, спасибо" else "" for text in asked.texts)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--update", "x", "--until", "2020-01-01"), "--until changes nothing with --update"),
        (("--update", "x", "--lora", "8"), "--lora changes nothing with --update"),
        (("--update", "x", "--reinforce", "y"), "--reinforce changes nothing with --update"),
        (("--reinforce", "x", "--batch", "8"), "--batch changes nothing with --reinforce"),
        (("--alpha", "0.3"), "--alpha changes nothing without --reinforce"),
        (("--queries", "x"), "--queries changes nothing without --reinforce or --likelihood"),
        (("--likelihood", "1", "--queries", "none.jsonl"), 'must be lines of {"query"'),
        (("--reinforce", "x"), "give -b DIR"),
        (("--lora", "8"), "nothing here uses"),
        (("--whole",), "nothing here uses"),
        (("--lora", "8", "--whole"), "--lora changes nothing with --whole"),
        (("--seed", "-1"), "range"),
    ],
)
def test_options_that_would_be_ignored_are_refused(words: tuple[str, ...], message: str) -> None:
    done = train("pocket", "-a", "none.gamer", "-o", "none", *words)
    assert done.exit_code in (1, 2), done.output
    assert message in done.output, done.output
