"""``lark-steward peer`` against the real API, and removing a peer that still holds something."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from click.testing import CliRunner, Result

from gateway.cli.main import cli
from tests.support.handover import House, house

ATLAS = "lsp_atlas"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as opened:
        yield opened


async def run(home: House, *arguments: str, token: str | None = ATLAS, stdin: str | None = None) -> Result:
    environment = {"LARK_STEWARD_URL": home.url, "LARK_STEWARD_PEER_TOKEN": token}
    return await asyncio.to_thread(lambda: CliRunner(env=environment).invoke(cli, ["peer", *arguments], input=stdin))


async def test_a_peers_day(home: House) -> None:
    await home.peer("atlas")
    await home.peer("boris")
    assert (await run(home, "next")).exit_code == 1
    assert (await run(home, "presence", "available", "--capacity", "1")).exit_code == 0
    request = await home.handed("atlas", question="count \x1b[31mthe files")
    taken = await run(home, "next", "--wait", "5", "--json")
    assert taken.exit_code == 0, taken.output
    item = json.loads(taken.stdout)
    assert item["request_id"] == request
    assert item["attempt"]
    assert item["assignment"] == "presented"
    shown = await run(home, "read", request)
    assert "\x1b" not in shown.output
    assert "the files" in shown.output
    assert (await run(home, "assess", request, "partially_accepted")).exit_code == 1
    assessed = await run(
        home, "assess", request, "partially_accepted", "--accepted-scope", "a", "--remaining", "b", "--json"
    )
    assert json.loads(assessed.stdout)["assessment"] == "partially_accepted"
    assert (await run(home, "progress", request, "half")).exit_code == 0
    handed = await run(home, "delegate", "--to", "boris", "--parent", request, "--purpose", "p", "--json")
    assert json.loads(handed.stdout)["revision"] == 1
    concluded = await run(home, "conclude", request, "--attempt", item["attempt"], stdin="共 **42** 个\n")
    assert concluded.exit_code == 0, concluded.output
    assert "resolved" in concluded.output
    assert (await home.told(request))[1][1] == "From atlas:\n\n共 **42** 个"
    again = await run(home, "conclude", request, "--text", "again")
    assert again.exit_code == 1
    assert "already_final" in again.stderr
    assert "resolved" in (await run(home, "read", request)).output


async def test_next_prefers_what_is_not_deferred(home: House) -> None:
    atlas = await home.peer("atlas")
    deferred = await home.handed("atlas")
    await atlas.post(deferred, "presented")
    await atlas.post(deferred, "assessment", assessment="deferred", reason="r", resume_condition="c", owner="o")
    assert json.loads((await run(home, "next", "--json")).stdout)["request_id"] == deferred
    fresh = await home.handed("atlas")
    assert json.loads((await run(home, "next", "--json")).stdout)["request_id"] == fresh


async def test_the_result_comes_from_a_file_or_an_option(home: House, tmp_path: Path) -> None:
    atlas = await home.peer("atlas")
    file = tmp_path / "result.md"
    file.write_text("from a file")
    for arguments, told in (
        (("--file", str(file), "--outcome", "declined"), "from a file"),
        (("--text", "said", "--declined"), "said"),
        (("--file", "-"), "piped"),
    ):
        request = await home.handed("atlas")
        await atlas.accept(request)
        result = await run(home, "conclude", request, *arguments, stdin="piped")
        assert result.exit_code == 0, result.output
        assert (await home.told(request))[1][1].endswith(told)
        assert (await home.axes(request))[2] == ("resolved" if told == "piped" else "declined")
    assert (await run(home, "conclude", request, "--text", "a", "--file", str(file))).exit_code == 2
    assert (await run(home, "conclude", request, "--file", str(tmp_path / "none"))).exit_code == 1
    file.write_bytes(b"\xff")
    assert (await run(home, "conclude", request, "--file", str(file))).exit_code == 1


async def test_a_key_makes_a_command_safe_to_repeat(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await atlas.accept(request)
    command = ("conclude", request, "--text", "once", "--idempotency-key", "k-1", "--json")
    first, second = await run(home, *command), await run(home, *command)
    assert first.exit_code == second.exit_code == 0
    assert first.stdout == second.stdout
    assert len(await home.told(request)) == 2


async def test_what_goes_wrong_is_a_sentence(home: House) -> None:
    await home.peer("atlas")
    without = await run(home, "next", token=None)
    assert without.exit_code == 2
    assert "LARK_STEWARD_PEER_TOKEN" in without.stderr
    wrong = await run(home, "next", token="lsp_wrong")
    assert wrong.exit_code == 1
    assert "unauthenticated" in wrong.stderr
    assert "does not know this token" in wrong.stderr
    assert "lsp_wrong" not in wrong.output
    assert (await run(home, "--url", "ftp://x", "next")).exit_code == 2
    unreachable = await run(home, "--url", "http://127.0.0.1:1", "next")
    assert unreachable.exit_code == 1
    assert "http://127.0.0.1:1 does not answer" in unreachable.stderr
    assert "`lark-steward serve`" in unreachable.stderr
    other = await run(home, "--url", f"{home.url}/elsewhere", "next")
    assert other.exit_code == 1
    unknown = await run(home, "read", "r_none")
    assert unknown.exit_code == 1
    assert "`lark-steward peer next`" in unknown.stderr


@pytest.mark.parametrize(
    ("status", "content"),
    [(200, "<html>"), (200, "{}"), (200, "[]"), (404, "no"), (404, '{"error": "no"}'), (404, '{"error": {}}')],
)
async def test_another_server_is_named_without_what_else_the_address_holds(
    home: House, status: int, content: str
) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=status, text=content)

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    async with TestServer(application) as other:
        for command in (("next",), ("read", "r_1")):
            said = await run(home, "--url", f"http://user:canary@127.0.0.1:{other.port}", *command)
            assert said.exit_code == 1
            assert f"http://127.0.0.1:{other.port} answers {status}, but not as a lark-steward" in said.stderr
            assert "canary" not in said.output


async def test_help_names_the_variables_and_next_names_the_axes(home: House) -> None:
    said = (await run(home, "--help")).output
    assert "LARK_STEWARD_URL" in said
    assert "LARK_STEWARD_PEER_TOKEN" in said
    await home.peer("atlas")
    request = await home.handed("atlas")
    taken = (await run(home, "next")).output
    assert "assignment presented, assessment pending, work open, since " in taken
    assessed = (await run(home, "assess", request, "accepted")).output
    assert "assignment presented, assessment accepted, work open" in assessed


async def test_a_peer_that_holds_something_is_not_removed_without_force(tmp_path: Path) -> None:
    config = tmp_path / "steward.toml"
    config.write_text(f'[gateway]\ndata_dir = "{tmp_path}"\n')

    async def remove(*flags: str) -> Result:
        command = ["--config", str(config), "peers", "remove", "atlas", *flags]
        return await asyncio.to_thread(lambda: CliRunner().invoke(cli, command))

    async with house(tmp_path, as_served=True) as home:
        atlas = await home.peer("atlas")
        stored, presented = await home.handed("atlas"), await home.handed("atlas")
        await atlas.accept(presented)
        refused = await remove()
        assert refused.exit_code == 1
        assert "2 open requests" in refused.stderr
        assert (await atlas.list()).status == 200
        forced = await remove("--force", "--json")
        assert json.loads(forced.stdout) == {"name": "atlas", "removed": True, "cancelled": 2}
        for request in (stored, presented):
            assert (await home.axes(request))[2] == "cancelled"
        assert (await atlas.list()).status == 401
