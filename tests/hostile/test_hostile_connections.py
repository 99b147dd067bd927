"""Rows 6, 11 and 12 where time, numbers or memory matter: over raw sockets."""

from __future__ import annotations

import asyncio
import gzip
import json
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from gateway.webhook.handler import Limits
from tests.support.hostile import door, door_over, request_of
from tests.support.storage import transactions
from tests.support.webhook import exchange, message_event, post, push, read_answer, seal, signed_headers

SLOW = Limits(body_s=0.3)
TAKEN = {"events": 1, "event_keys": 3, "requests": 1, "turns": 1}


async def ended(reader: asyncio.StreamReader) -> None:
    """Wait until the server has closed."""
    with suppress(ConnectionResetError):
        assert await reader.read() == b""


async def test_fifty_at_once_at_two_doors_are_one(tmp_path: Path) -> None:
    async with (
        transactions(tmp_path) as store,
        door_over(store, made="a") as first,
        door_over(store, made="b") as second,
    ):
        answers = await asyncio.gather(
            *(push((first, second)[number % 2].server.port, message_event()) for number in range(50))
        )
        assert [answer.status for answer in answers] == [200] * 50
        assert await first.rows() == TAKEN
        outcomes = [outcome for outcome, _ in first.metrics.outcomes + second.metrics.outcomes]
        assert sorted(outcomes) == ["duplicate"] * 49 + ["new"]


async def test_a_restart_forgets_nothing(tmp_path: Path) -> None:
    async with door(tmp_path) as opened:
        assert (await push(opened.server.port, message_event())).status == 200
    async with door(tmp_path) as opened:
        assert (await push(opened.server.port, message_event())).status == 200
        assert await opened.rows() == TAKEN


@pytest.mark.parametrize(
    ("headers", "length", "status"),
    [([("Content-Encoding", "gzip")], 10_000, 415), ([], 1024 * 1024 + 1, 413), ([], 10**15, 413)],
)
async def test_decided_by_the_headers_before_a_byte_of_the_body(
    headers: list[tuple[str, str]], length: int, status: int, tmp_path: Path
) -> None:
    async with door(tmp_path) as opened:
        reader, writer = await asyncio.open_connection("127.0.0.1", opened.server.port)
        writer.write(post("/lark/events", b"", headers, length=length))  # and nothing after it
        assert (await read_answer(reader)).status == status
        await ended(reader)
        writer.close()
        assert await opened.rows() == {}


async def test_a_bomb_leaves_memory_as_it_was(tmp_path: Path) -> None:
    bomb = gzip.compress(b"\0" * 100_000_000)
    assert len(bomb) < 150_000
    async with door(tmp_path) as opened:
        before = psutil.Process().memory_info().rss
        for _ in range(20):
            answer = await exchange(opened.server.port, post("/lark/events", bomb, [("Content-Encoding", "gzip")]))
            assert answer.status == 415
        assert psutil.Process().memory_info().rss - before < 50_000_000


async def test_an_endless_body_in_chunks_is_cut_off(tmp_path: Path) -> None:
    async with door(tmp_path) as opened:
        reader, writer = await asyncio.open_connection("127.0.0.1", opened.server.port)
        writer.write(post("/lark/events", b"", [("Transfer-Encoding", "chunked")], length=-1))

        async def flood() -> None:
            chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
            with suppress(ConnectionError):
                while True:
                    writer.write(chunk)
                    await writer.drain()

        async with asyncio.TaskGroup() as group:
            group.create_task(flood())  # ends only because the connection does
            assert (await read_answer(reader)).status == 413
        writer.close()
        assert await opened.rows() == {}


async def test_one_byte_after_the_other_is_given_up_and_holds_up_nobody(tmp_path: Path) -> None:
    body = seal(json.dumps(message_event("ev-slow", "om_slow00001")).encode())
    async with door(tmp_path, SLOW) as opened:
        slow = [await asyncio.open_connection("127.0.0.1", opened.server.port) for _ in range(30)]

        async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
            writer.write(post("/lark/events", b"", signed_headers(body), length=len(body)))
            answering = asyncio.ensure_future(read_answer(reader))
            for code in body:
                if (await asyncio.wait({answering}, timeout=0.05))[0]:
                    break
                writer.write(bytes([code]))
            status = (await answering).status
            await ended(reader)
            writer.close()
            return status

        async with asyncio.TaskGroup() as group:
            trickling = [group.create_task(trickle(*connection)) for connection in slow]
            assert (await push(opened.server.port, message_event())).status == 200
            assert not any(task.done() for task in trickling)
        assert {task.result() for task in trickling} == {408}
        assert await opened.rows() == TAKEN


async def test_a_body_that_breaks_off_is_nothing(tmp_path: Path) -> None:
    async with door(tmp_path) as opened:
        _, writer = await asyncio.open_connection("127.0.0.1", opened.server.port)
        writer.write(request_of({})[:-40])
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        assert (await push(opened.server.port, message_event("ev-2", "om_question2"))).status == 200
        assert await opened.rows() == TAKEN


@pytest.mark.parametrize("tail", [b"GET /lark/events HTTP/1.1\r\nHost: a\r\n\r\n", request_of({})])
async def test_a_second_request_behind_the_first_is_judged_by_itself(tail: bytes, tmp_path: Path) -> None:
    async with door(tmp_path) as opened:
        reader, writer = await asyncio.open_connection("127.0.0.1", opened.server.port)
        writer.write(request_of({}) + tail)
        assert (await read_answer(reader)).status == 200
        assert (await read_answer(reader)).status == (405 if tail.startswith(b"GET") else 200)
        writer.close()
        assert await opened.rows() == TAKEN
