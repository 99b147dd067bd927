"""When a send fails, what counts is whether anything of it can have left: each step of a connection, broken."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from providers.lark import http as http_module
from providers.lark.answers import Answer, NoAnswer
from providers.lark.config import LarkApp
from providers.lark.http import Http, trust
from providers.lark.outcomes import Endpoint, send_outcome
from returns.ids import AppName, ChatId
from returns.ports import Refusal, Refused
from tests.support.lark import Names

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
BODY = b'{"content":"hello"}'
ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"code":0}'


def app(domain: str = "http://lark.localhost") -> LarkApp:
    return LarkApp(AppName("default"), "cli_x", "s", domain)


@asynccontextmanager
async def server(talk: Talk) -> AsyncIterator[Names]:
    """A server that does as told with each connection; the names lead to it."""
    talking: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talking.add(task)
        try:
            await talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            talking.discard(task)
            writer.close()

    listening = await asyncio.start_server(accept, "127.0.0.1", 0)
    names = Names()
    names.port = listening.sockets[0].getsockname()[1]
    try:
        yield names
    finally:
        listening.close()
        for task in list(talking):
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)


async def post(names: Names, which: LarkApp | None = None, timeout_s: float = 0.3) -> Answer | NoAnswer:
    asked = which or app()
    async with Http(asked, timeout_s, trust([asked]), names) as http:
        return await http.exchange("POST", "/x", {}, BODY, {})


async def heard(reader: asyncio.StreamReader) -> bytes:
    """A whole request."""
    head = await reader.readuntil(b"\r\n\r\n")
    return head + (await reader.readexactly(len(BODY)) if head.startswith(b"POST") else b"")


async def silent(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


def left(outcome: Answer | NoAnswer) -> bool:
    assert isinstance(outcome, NoAnswer), outcome
    return outcome.left


async def test_a_name_that_is_not_known_is_never_left() -> None:
    names = Names()
    names.known = False
    assert left(await post(names)) is False


async def test_nobody_who_listens_is_never_left() -> None:
    names = Names()
    names.port = 1
    assert left(await post(names)) is False


async def test_tls_that_is_not_agreed_on_is_never_left() -> None:
    heard_first: list[bytes] = []

    async def no_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard_first.append(await reader.read(1))
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    async with server(no_tls) as names:
        assert left(await post(names, app("https://lark.test"))) is False
    assert heard_first == [b"\x16"]  # a handshake, not a request


async def test_a_handshake_without_end_is_never_left() -> None:
    async with server(silent) as names:
        assert left(await post(names, app("https://lark.test"))) is False


async def test_waiting_for_a_free_connection_is_never_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "MAX_CONNECTIONS", 3)
    arrived = asyncio.Semaphore(0)

    async def hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await heard(reader)
        arrived.release()
        await asyncio.Event().wait()

    async with server(hang) as names, Http(app(), 5.0, trust([app()]), names) as http, asyncio.TaskGroup() as group:
        busy = [group.create_task(http.exchange("POST", "/x", {}, BODY, {})) for _ in range(3)]
        for _ in busy:
            await arrived.acquire()
        hurried = Http(app(), 0.1, trust([app()]), names)
        hurried._session = http._session  # the same pool, asked with less patience
        hurried._deadline_s = 0.2
        assert left(await hurried.exchange("POST", "/x", {}, BODY, {})) is False
        for task in busy:
            task.cancel()


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 502 Bad Gateway\r\n\r\n", b"HTTP/1.1 407 Who are you\r\n\r\n", b"", b"nonsense\r\n\r\n"],
)
async def test_a_tunnel_that_is_not_opened_is_never_left(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await heard(reader))
        writer.write(answer)
        await writer.drain()

    async with server(refuse) as names:
        monkeypatch.setenv("HTTPS_PROXY", "http://me:pw@proxy.test:3128")
        assert left(await post(names, app("https://lark.test"))) is False
    assert asked[0].startswith(b"CONNECT lark.test:443 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic bWU6cHc=" in asked[0]


async def test_a_tunnel_whose_other_end_speaks_no_tls_is_never_left(monkeypatch: pytest.MonkeyPatch) -> None:
    async def open_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await heard(reader)
        writer.write(b"HTTP/1.1 200 Established\r\n\r\n")
        await writer.drain()
        await reader.read(1)

    async with server(open_and_close) as names:
        monkeypatch.setenv("HTTPS_PROXY", "proxy.test:3128")
        assert left(await post(names, app("https://lark.test"))) is False


async def test_a_plain_proxy_that_breaks_off_may_have_passed_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    async def swallow(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        asked.append(await heard(reader))

    async with server(swallow) as names:
        monkeypatch.setenv("HTTP_PROXY", "http://proxy.test:3128")
        assert left(await post(names, app("http://lark.test"))) is True
    assert asked[0].startswith(b"POST http://lark.test/x HTTP/1.1\r\n")


async def test_a_proxy_is_passed_by_where_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await heard(reader)).startswith(b"POST /x ")
        writer.write(ANSWER)
        await writer.drain()

    async with server(answer) as names:
        monkeypatch.setenv("HTTP_PROXY", "http://proxy.test:3128")
        monkeypatch.setenv("NO_PROXY", "lark.test")
        outcome = await post(names, app("http://lark.test"))
    assert isinstance(outcome, Answer)


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", ANSWER[:-4], b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\n" * 9000]
)
async def test_what_breaks_off_after_the_request_may_have_left(answer: bytes) -> None:
    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await heard(reader)
        writer.write(answer)
        await writer.drain()

    async with server(break_off) as names:
        assert left(await post(names)) is True


@pytest.mark.parametrize("answer", [b"", ANSWER[:-4]])
async def test_silence_after_the_request_may_have_left(answer: bytes) -> None:
    async def fall_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await heard(reader)
        writer.write(answer)
        await asyncio.Event().wait()

    async with server(fall_silent) as names:
        assert left(await post(names)) is True


async def test_a_request_that_was_cut_off_in_the_middle_may_have_left() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.transport.abort()

    async with server(reset) as names:
        assert left(await post(names)) is True


async def test_a_kept_connection_that_ends_under_a_request_may_have_carried_it_and_it_goes_out_once() -> None:
    requests: list[bytes] = []

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await heard(reader))
        writer.write(ANSWER)
        await writer.drain()
        requests.append(await heard(reader))

    async with server(answer_once) as names, Http(app(), 1.0, trust([app()]), names) as http:
        assert isinstance(await http.exchange("POST", "/x", {}, BODY, {}), Answer)
        assert left(await http.exchange("POST", "/x", {}, BODY, {})) is True
    assert len(requests) == 2


async def test_what_may_not_leave_any_more_when_it_is_connected_is_never_left() -> None:
    heard_first: list[bytes] = []
    asked: list[bool] = []

    over = asyncio.Event()

    async def listen(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        heard_first.append(await reader.read(1))
        over.set()

    async with server(listen) as names, Http(app(), 1.0, trust([app()]), names) as http:
        outcome = await http.exchange("POST", "/x", {}, BODY, {}, lambda: bool(asked.append(False)))
        assert left(outcome) is False
        await asyncio.wait_for(over.wait(), 5)
        assert send_outcome(Endpoint.REPLY, outcome, ChatId("oc_1")) == Refused(Refusal.OFFLINE)
    assert (asked, heard_first) == ([False], [b""])


async def test_who_is_trusted() -> None:
    assert not trust([app()]).get_ca_certs()
    far = trust([app(), app("https://open.feishu.cn")])
    assert far.verify_mode is ssl.CERT_REQUIRED
    assert far.get_ca_certs()
