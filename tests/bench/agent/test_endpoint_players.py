"""A mind behind an endpoint in the benchmark: its tokens, its runs, and the whole album in its prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from gamer.bench.agent import players
from gamer.bench.agent.meter import Meter
from gamer.bench.agent.players import TEMPERATURE, Player, Remote
from gamer.bench.agent.tasks import Attempt, Task, solve
from gamer.bench.agent.usage import usage
from gamer.bench.agent.whole_prompt import prompt, unfit
from gamer.index import image_id
from gamer.runtime.agent.recording import TraceError, dumps
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.search.engine import Engine
from tests.runtime.agent.fake_endpoint import FINAL, Fake, Reply, says
from tests.runtime.agent.leaving.secrets_album import engine_in, leaks

NOW = datetime(2026, 6, 1)
TASK = Task("1", "where are the boats?", frozenset({"harbour", "boat"}), "set")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engine_in(tmp_path_factory.mktemp("album")) as opened:
        yield opened


def remote(fake: Fake, *replies: Reply) -> Remote:
    fake.replies = replies
    return Remote("small", fake.url)


def solved(engine: Engine, player: Player, *tasks: Task, run: int = 0) -> list[Attempt]:
    return solve(engine, player, tasks or [TASK], "set", NOW, "album", lambda _: None, run)


def test_calls_tokens_and_turns_are_counted(engine: Engine, fake: Fake) -> None:
    player = players.player("openai", remote(fake, says("on", ("grep", {"words": "boats"})), says(FINAL)))
    (done,) = solved(engine, player)
    assert set(done.ids) == TASK.relevant
    assert done.trace is not None
    assert done.trace.leaving
    used = usage([done])
    assert used.tokens == "estimated"
    assert used.by_turn == ({"grep": 1},)
    assert used.turns == 1
    assert done.trace.turns[0].cost.read > 1000  # the tools' definitions are read, too
    assert done.trace.cost.read > done.trace.turns[0].cost.read
    assert used.written > 0
    assert leaks(fake.traffic) == []


def test_a_repetition_draws_and_the_first_run_does_not(engine: Engine, fake: Fake) -> None:
    for run in (0, 2):
        solved(engine, players.player("openai", remote(fake, says(FINAL)), run), run=run)
    first, again = (body for _, _, body in fake.requests)
    assert first["temperature"] == 0
    assert "seed" not in first
    assert again["temperature"] == TEMPERATURE
    assert again["seed"] == 2


def test_a_model_that_cannot_be_reached_ends_the_measurement(engine: Engine) -> None:
    nowhere = players.player("openai", Remote("small", "http://127.0.0.1:9/v1"))
    with pytest.raises(RuntimeFailure, match="cannot be reached"):
        solved(engine, nowhere)


def test_a_mind_behind_an_endpoint_needs_a_model() -> None:
    with pytest.raises(RuntimeFailure, match="give --model"):
        players.player("openai", None)


def test_its_trace_is_played_again_without_it(engine: Engine, fake: Fake, tmp_path: Path) -> None:
    player = players.player("openai", remote(fake, says("on", ("grep", {"words": "boats"})), says(FINAL)))
    (done,) = solved(engine, player)
    assert done.trace is not None
    (tape := tmp_path / "tape.jsonl").write_text(dumps([done.trace]), encoding="utf-8")
    fake.requests.clear()
    (replay,) = players.players((), None, players.Tape(tape), "album", run=0)
    (again,) = solved(engine, replay)
    assert again.given == done.given
    assert again.replayed
    assert again.differences == ()
    assert not fake.requests
    assert again.trace is not None
    assert again.trace.cost == done.trace.cost
    tape.write_text(dumps([done.trace] * 2), encoding="utf-8")
    with pytest.raises(TraceError, match="two traces of album:1"):
        players.Tape(tape)


def test_a_run_that_was_not_recorded_is_named(engine: Engine, fake: Fake, tmp_path: Path) -> None:
    (done,) = solved(engine, players.player("openai", remote(fake, says(FINAL))))
    assert done.trace is not None
    (tape := tmp_path / "tape.jsonl").write_text(dumps([done.trace]), encoding="utf-8")
    with pytest.raises(TraceError, match="no traces of album run 2"):
        players.players((), None, players.Tape(tape), "album", run=1)


def test_the_whole_album_is_read_in_one_prompt_of_what_may_leave(engine: Engine, fake: Fake) -> None:
    player = players.reading_all(players.player("openai", remote(fake, says(f"{FINAL} img_0000000000"))))
    (done,) = solved(engine, player)
    assert set(done.ids) == TASK.relevant
    assert done.tools == ()
    assert done.ended == "answer"
    ((_, _, body),) = fake.requests
    told = body["messages"][0]["content"]
    assert image_id("harbour") in told
    assert TASK.text in told
    assert leaks(fake.traffic) == []


def test_an_album_that_does_not_fit_is_told_with_its_tokens(engine: Engine, fake: Fake) -> None:
    for context, fits in ((4_096, True), (1_050, False)):
        player = players.player("openai", replace(remote(fake, says(FINAL)), context=4_096))
        toolbox: Any = player.opens(engine, NOW, player.leaving)
        assert player.reader is not None
        reader: Any = replace(player.reader(toolbox, Meter()), context=context)  # type: ignore[type-var]
        missing = unfit("album", player.name, toolbox, reader, ["short?", TASK.text])
        assert (missing is None) == fits
    assert missing is not None
    assert missing.context == 1_050 < missing.needed
    assert missing.needed == reader.answer + -(-len(prompt(toolbox, TASK.text)) // 4)
    assert fake.requests == []
