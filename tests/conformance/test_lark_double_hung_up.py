"""A client that is killed in the middle of a request: nothing is done, and nothing is complained about."""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import urlsplit

import pytest

from providers.lark_double.server import LarkDouble
from tests.soak.waiting import until
from tests.support.double import calling, running


async def _arrived(double: LarkDouble) -> bool:
    return bool(double.requests("send"))


async def test_half_a_request(caplog: pytest.LogCaptureFixture) -> None:
    async with running() as double, calling(double) as caller:
        await caller.login()
        address = urlsplit(double.url)
        _, writer = await asyncio.open_connection(address.hostname, address.port)
        head = (
            "POST /open-apis/im/v1/messages?receive_id_type=chat_id HTTP/1.1\r\nHost: lark\r\n"
            f"Authorization: Bearer {caller.token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        )
        writer.write(head.encode() + b'{"receive_id": "')
        await writer.drain()
        await until(lambda: _arrived(double), 10)
        writer.transport.abort()
        (entry,) = await double.wait_request("send")
        assert (entry.status, entry.committed) == (0, False)
        assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
