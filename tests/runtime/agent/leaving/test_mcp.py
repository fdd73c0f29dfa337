"""`gamer mcp`, asked by the SDK's own client over a subprocess's standard input and output."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the mcp extra: pip install -e '.[mcp]'")

import anyio
from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_client_server_memory_streams
from mcp.types import CallToolResult, TextContent

from gamer.index import image_id
from gamer.runtime.agent import calls, mcp_server
from gamer.runtime.agent.toolbox import Toolbox
from tests import test_privacy
from tests.paths import ROOT
from tests.runtime.agent.leaving.mcp_messages import HELLO, READY
from tests.runtime.agent.leaving.secrets_album import HIDDEN_IDS, SHOWN, engine_in, leaks

Ask = Callable[[ClientSession], Awaitable[None]]
# The server over made-up models; it prints, as a library might, before it answers.
SERVER = """
import sys
from pathlib import Path
from tests.runtime.agent.leaving.secrets_album import engine_in
from gamer.runtime.agent.mcp_server import serve
from gamer.runtime.agent.toolbox import Toolbox
class Chatty(Toolbox):
    def call(self, call):
        print("a print in the middle of an answer")
        return super().call(call)
print("before", file=sys.stderr)
serve(Chatty(engine_in(Path(sys.argv[1])), leaving=sys.argv[2] == "leaving"))
"""

CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "list", "arguments": {"by": "day"}},
}


def ask(folder: Path, questions: Ask) -> None:
    """In this process, which saves the seconds that importing everything takes."""

    async def run() -> None:
        server = mcp_server.server_of(Toolbox(engine_in(folder), leaving=True))
        with anyio.fail_after(120):
            async with (
                create_client_server_memory_streams() as (client, served),
                anyio.create_task_group() as group,
            ):
                group.start_soon(server.run, *served, server.create_initialization_options())
                async with ClientSession(*client) as session:
                    await session.initialize()
                    await questions(session)
                group.cancel_scope.cancel()

    anyio.run(run)


def ask_process(
    folder: Path, questions: Ask, mode: str = "leaving", command: list[str] | None = None
) -> None:
    arguments = command or ["-c", SERVER, str(folder), mode]
    server = StdioServerParameters(command=sys.executable, args=arguments, cwd=str(ROOT))

    async def run() -> None:
        with (folder / "stderr").open("w") as errors, anyio.fail_after(120):
            async with (
                stdio_client(server, errlog=errors) as (read, write),
                ClientSession(read, write) as session,
            ):
                await session.initialize()
                await questions(session)

    anyio.run(run)


def text(result: Any) -> str:
    assert isinstance(result, CallToolResult)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def everything(result: Any) -> str:
    return text(result) + json.dumps(result.structured_content)


def test_the_part_of_the_server_that_reports_every_call_is_taken_out(tmp_path: Path) -> None:
    server = mcp_server.server_of(Toolbox(engine_in(tmp_path), leaving=True))
    assert server.middleware == []
    assert Server("any").middleware, "the library reports no more: take the line out of docs/privacy.md"


def test_the_tools_are_those_of_the_table_and_none_reaches_out(tmp_path: Path) -> None:
    async def questions(session: ClientSession) -> None:
        listed = (await session.list_tools()).tools
        assert [tool.name for tool in listed] == [name for name in calls.TOOLS if name != "web_search"]
        for tool in listed:
            assert tool.input_schema == calls.schema(tool.name)
            assert tool.description == calls.describe(tool.name)
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
        capabilities = session.server_capabilities
        assert capabilities is not None
        assert capabilities.resources is None
        assert capabilities.prompts is None

    ask(tmp_path, questions)


def test_subsets_last_for_the_session(tmp_path: Path) -> None:
    async def questions(session: ClientSession) -> None:
        found = await session.call_tool("search", {"text": "boats", "save_as": "boats"})
        assert not found.is_error
        assert "kept as boats" in text(found)
        await session.call_tool("filter", {"where": "day = 2026-05-02", "save_as": "day"})
        both = await session.call_tool(
            "combine", {"how": "and", "first": "boats", "second": "day", "save_as": "both"}
        )
        assert both.structured_content is not None
        assert both.structured_content["found"] == 2
        photo = both.structured_content["photos"][0]
        assert set(photo) == {"id", "taken", "memory", "score"}  # no row, no path

    ask(tmp_path, questions)


def test_a_wrong_call_is_an_error_of_one_line_and_the_session_goes_on(tmp_path: Path) -> None:
    hostile: tuple[tuple[str, dict[str, Any] | None], ...] = (
        ("nothing", {}),
        ("web_search", {"query": "the weather"}),
        ("__init__", {}),
        (mcp_server.TOO_LONG, {}),
        ("search", None),
        ("search", {"text": 5}),
        ("search", {"text": "x" * 5_000}),
        ("search", {"text": "boats", "k": 10**9}),
        ("search", {"text": "boats", "within": "../../etc/passwd"}),
        ("search", {"like": ["img_0000000000"]}),
        ("get", {"id": "x\ny\u202e"}),
        ("get", {"id": {"$ne": None}}),
        ("metadata", {"ids": ["a"] * 201}),
        ("filter", {"where": "(" * 3_000}),
        ("filter", {"where": "day = yesterday"}),
        ("list", {"by": "owner"}),
        ("combine", {"how": "xor", "first": "a", "second": "b", "save_as": "c"}),
        ("view", {"prompt": "?", "path": "/etc/passwd"}),
    )

    async def questions(session: ClientSession) -> None:
        for name, arguments in hostile:
            try:
                result = await session.call_tool(name, arguments)
            except (UnicodeError, ValueError, MCPError):  # the client itself refused to send it
                continue
            assert result.is_error, (name, arguments)
            assert "\n" not in text(result)
            assert len(text(result)) <= 400
            assert result.structured_content is None
        result = await session.call_tool("search", {"text": "x" * 3_000_000})
        assert result.is_error
        assert "longer than 2000000 bytes" in text(result)
        assert not (await session.call_tool("list", {"by": "day"})).is_error

    ask_process(tmp_path, questions)


def test_what_must_stay_is_not_told(tmp_path: Path) -> None:
    async def questions(session: ClientSession) -> None:
        for name, arguments in (
            ("search", {"text": "waiting at oncology"}),
            ("grep", {"words": "boats"}),
            ("filter", {}),
            ("list", {"by": "event"}),
            ("get", {"id": "half"}),
            ("view", {"prompt": "?", "within": "all"}),
        ):
            result = await session.call_tool(name, arguments)
            assert not result.is_error, name
            assert leaks(everything(result)) == [], name
        for hidden in HIDDEN_IDS:
            assert "no photo" in text(await session.call_tool("get", {"id": image_id(hidden)}))

    ask(tmp_path, questions)


def test_an_assistant_on_this_machine_is_told_all(tmp_path: Path) -> None:
    async def questions(session: ClientSession) -> None:
        result = await session.call_tool("get", {"id": "clinic"})
        assert "oncology" in everything(result)
        assert "/secret/place" not in everything(result)

    ask_process(tmp_path, questions, mode="local")


def test_many_calls_at_once_are_answered_one_after_the_other(tmp_path: Path) -> None:
    async def questions(session: ClientSession) -> None:
        answers: list[Any] = []

        async def one(number: int) -> None:
            answers.append(await session.call_tool("filter", {"save_as": f"s{number}"}))

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(one, number)
        assert len(answers) == 20
        assert not any(answer.is_error for answer in answers)
        assert all(answer.structured_content["found"] == len(SHOWN) for answer in answers)

    ask(tmp_path, questions)


def test_nothing_but_the_protocol_is_on_standard_output(tmp_path: Path) -> None:
    sent = (
        "".join(json.dumps(request) + "\n" for request in (HELLO, READY, CALL))
        + "no json\n"
        + "[" * 100_000
        + "\n"
    )
    command = [sys.executable, "-c", SERVER, str(tmp_path), "leaving"]
    # The session ends with its input; a call in progress may then go unanswered.
    done = subprocess.run(command, input=sent, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["jsonrpc"] for line in done.stdout.splitlines()]
    assert "a print" not in done.stdout


def test_a_line_that_is_too_long_is_read_away() -> None:
    long = b'{"jsonrpc": "2.0", "id": 7, "x": "%b"}\n' % (b"y" * 5_000_000)
    lines = mcp_server.Lines(io.BytesIO(b"first\n" + long + b"\xff second\n" + b"z" * 3_000_000))
    assert lines.readline() == "first\n"
    assert json.loads(lines.readline())["id"] == 7
    assert lines.readline() == "\ufffd second\n"
    assert lines.readline() == "\n"
    assert lines.readline() == ""


def test_an_album_that_cannot_be_read_does_not_tell_its_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toolbox = Toolbox(engine_in(tmp_path), leaving=True)
    toolbox.album.close()
    answer = mcp_server.answer(toolbox, "get", {"id": "boat"})
    assert answer.is_error
    assert str(tmp_path) not in text(answer)


@pytest.mark.slow
def test_the_command_serves_a_real_album(bundle: Path, sample_album: Path, tmp_path: Path) -> None:
    album = tmp_path / "a.gamer"
    shutil.copy(sample_album, album)

    async def questions(session: ClientSession) -> None:
        found = await session.call_tool("search", {"text": "my cat", "k": 3})
        assert found.structured_content is not None
        assert len(found.structured_content["photos"]) == 3
        assert str(tmp_path) not in everything(found)

    ask_process(tmp_path, questions, command=["-m", "gamer.main", "mcp", str(album), "-b", str(bundle)])
    assert (tmp_path / "stderr").read_text() == ""


@pytest.mark.slow
def test_the_command_connects_to_nothing_and_writes_nothing(
    bundle: Path, sample_album: Path, tmp_path: Path
) -> None:
    """Seen from outside: neither the SDK nor what it brings along sends anything."""
    home, albums = tmp_path / "home", tmp_path / "albums"
    for folder in (home, albums, tmp_path / "temporary"):
        folder.mkdir()
    shutil.copy(sample_album, albums / "a.gamer")
    log = tmp_path / "trace"
    gamer = [sys.executable, "-m", "gamer.main", "mcp", str(albums / "a.gamer"), "-b", str(bundle)]
    process = subprocess.Popen(
        [*test_privacy.strace(log), *gamer],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=test_privacy.environment(home),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for request in (HELLO, {**CALL, "params": {"name": "search", "arguments": {"text": "my cat"}}}):
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        assert "result" in json.loads(process.stdout.readline())
    process.stdin.close()
    assert process.wait(60) == 0
    # Python's event loop wakes itself by a byte through a pair of sockets that no other process can reach.
    woken = re.compile(r'sendto\(\d+, "\\0", 1, 0, NULL, 0\)')
    offending = test_privacy.offences(log, [tmp_path / "temporary", albums])
    assert [call for call in offending if not woken.match(call)] == []
    assert list(home.rglob("*")) == []
