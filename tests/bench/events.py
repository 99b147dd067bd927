"""Durable acknowledged events a second: encrypted, signed, each another message, over 64 kept connections."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time

from providers.lark_double.envelope import seal, signed_headers
from tests.bench.event_server import APP_ID, BOT, KEY, TOKEN
from tests.bench.report import Figure

CONNECTIONS = 64
EVENTS = 6_000
WARM_UP = 600
ROUNDS = 3


def request(number: int) -> bytes:
    """One push as it is on the wire."""
    now_ms = time.time_ns() // 1_000_000
    payload: dict[str, object] = {
        "schema": "2.0",
        "header": {
            "event_id": f"event-{number}-{now_ms}",
            "event_type": "im.message.receive_v1",
            "create_time": str(now_ms),
            "token": TOKEN,
            "app_id": APP_ID,
            "tenant_key": "tenant",
        },
        "event": {
            "sender": {
                "sender_id": {"open_id": f"ou_{number % 50}"},
                "sender_type": "user",
                "tenant_key": "tenant",
            },
            "message": {
                "message_id": f"om_{number}_{now_ms}",
                "create_time": str(now_ms),
                "chat_id": f"oc_{number % 200}",
                "chat_type": "group",
                "message_type": "text",
                "content": '{"text":"@_user_1 where is the transition table of delivery?"}',
                "mentions": [{"key": "@_user_1", "id": {"open_id": BOT}, "name": "Steward", "tenant_key": "tenant"}],
            },
        },
    }
    body = seal(payload, KEY)
    headers = signed_headers(str(now_ms // 1000), f"nonce-{number}", KEY, body)
    lines = [
        "POST /lark/events HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        *(f"{name}: {value}" for name, value in headers.items()),
        f"Content-Length: {len(body)}",
    ]
    head = "\r\n".join([*lines, "", ""])
    return head.encode() + body


async def push(port: int, requests: list[bytes]) -> float:
    """Events a second until all are answered with 200."""
    queue = iter(requests)

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for each in queue:
            writer.write(each)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.split(b":")[1]))
        writer.close()
        await writer.wait_closed()

    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(connection())
    return len(requests) / (time.perf_counter() - started)


async def rate(mode: str) -> float:
    """One round of one server."""
    with tempfile.TemporaryDirectory() as folder:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.bench.event_server", mode, folder, stdout=asyncio.subprocess.PIPE
        )
        try:
            assert process.stdout is not None
            port = int(await process.stdout.readline())
            await push(port, [request(number) for number in range(WARM_UP)])
            return await push(port, [request(number) for number in range(WARM_UP, WARM_UP + EVENTS)])
        finally:
            process.terminate()
            await process.wait()


async def measure() -> list[Figure]:
    """The three servers in turn, ``ROUNDS`` times; medians."""
    rates: dict[str, list[float]] = {"ledger": [], "bare": [], "official": []}
    for _ in range(ROUNDS):
        for mode, found in rates.items():
            found.append(await rate(mode))
    ledger, bare, official = (statistics.median(rates[mode]) for mode in ("ledger", "bare", "official"))
    what = "durable acknowledged events, encrypted and signed, one process"
    return [
        Figure(
            what, ledger, "/s", "the same server, nothing stored", bare, ledger / bare, "≥ 0.7", ledger / bare >= 0.7
        ),
        Figure(
            what,
            ledger,
            "/s",
            "lark-oapi's dispatcher in the same server, nothing stored",
            official,
            ledger / official,
            "≥ 0.8",
            ledger / official >= 0.8,
        ),
    ]
