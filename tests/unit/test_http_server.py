"""The server over real sockets: errors in one shape, the operator's door, paging, bodies, limits, health, metrics."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import web

from gateway.http import paging
from gateway.http.auth import COOKIE, SIGNED_IN_MS, Operator
from gateway.http.body import read_json
from gateway.http.errors import ApiError, json_response
from gateway.http.health import Check, Finding, Health, Level, clock_check
from gateway.http.metrics import Metrics, metrics_middleware, metrics_routes
from gateway.http.server import AddressUnusable, HttpServer, PortInUse, ServerLimits
from returns.ports import StorageUnavailable
from tests.support.webhook import Answer, ManualClock, exchange, post, read_answer

TOKEN = "operator-token-1"


async def boom(request: web.Request) -> web.StreamResponse:
    raise RuntimeError("canary of the inside")


async def no_storage(request: web.Request) -> web.StreamResponse:
    raise StorageUnavailable("canary of the disk")


async def refused(request: web.Request) -> web.StreamResponse:
    raise ApiError(409, "cycle", "That would be a cycle.", "to")


async def echo(request: web.Request) -> web.StreamResponse:
    body = await read_json(request, max_bytes=1000, within_s=0.2)
    return json_response({"data": body.data, "bytes": len(body.raw)})


async def page(request: web.Request) -> web.StreamResponse:
    return json_response({"limit": paging.limit(request), "cursor": paging.cursor(request)})


async def html(request: web.Request) -> web.StreamResponse:
    return web.Response(text="<p>page</p>", content_type="text/html")


ROUTES = [
    web.get("/boom", boom),
    web.get("/no-storage", no_storage),
    web.get("/refused", refused),
    web.post("/echo", echo),
    web.get("/page", page),
    web.get("/html", html),
]


@asynccontextmanager
async def serving(*routes: web.AbstractRouteDef, **options: object) -> AsyncIterator[HttpServer]:
    async with HttpServer([*ROUTES, *routes], "127.0.0.1", 0, **options) as server:
        yield server


async def get(server: HttpServer, path: str, *headers: tuple[str, str], host: str = "127.0.0.1") -> Answer:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return await exchange(server.port, f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n".encode())


def code_of(answer: Answer) -> str:
    assert isinstance(answer.json, dict)
    error = answer.json["error"]
    assert set(answer.json) == {"error"}
    assert set(error) == {"code", "message", "field"}
    assert answer.headers["content-type"].startswith("application/json")
    return error["code"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/boom", 500, "internal"),
        ("/no-storage", 503, "unavailable"),
        ("/refused", 409, "cycle"),
        ("/nowhere", 404, "not_found"),
        ("/echo", 405, "method_not_allowed"),
    ],
)
async def test_every_error_has_one_shape(path: str, status: int, code: str) -> None:
    async with serving() as server:
        answer = await get(server, path)
    assert (answer.status, code_of(answer)) == (status, code)
    assert b"canary" not in answer.body
    assert answer.headers["cache-control"] == "no-store"
    if status == 405:
        assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"NONSENSE canary\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nbroken canary\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"canary" * 11_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"".join(b"X-%d: canary\r\n" % n for n in range(200)) + b"\r\n", 400),
        (b"GET /" + b"canary" * 11_000 + b" HTTP/1.1\r\n\r\n", 431),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400),
        (b"GET /page HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: canary.example\r\n\r\n", 400),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ],
)
async def test_what_cannot_be_parsed_quotes_nothing_and_ends_the_connection(raw: bytes, status: int) -> None:
    async with serving() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(raw)
        answer = await read_answer(reader)
        assert (answer.status, b"canary" in answer.body) == (status, False)
        code_of(answer)
        await ended(reader)
        writer.close()


async def ended(reader: asyncio.StreamReader) -> None:
    """Wait until the server has closed; a reset is an end too."""
    with suppress(ConnectionResetError):
        assert await reader.read() == b""


async def until(what: Callable[[], object]) -> None:
    while True:
        if what():
            return
        await asyncio.sleep(0.005)


async def test_a_caller_that_goes_away_is_no_failure_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    begun = asyncio.Event()

    async def late(request: web.Request) -> web.StreamResponse:
        begun.set()
        await until(lambda: request.transport is None)
        return await echo(request)

    def told() -> list[str]:
        return [record.levelname for record in caplog.records if record.name == "gateway.http.protocol"]

    async with serving(web.post("/late", late)) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"POST /late HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n")
        await begun.wait()
        writer.transport.abort()
        await until(told)
    assert told() == ["INFO"]


@pytest.mark.parametrize(("query", "expected"), [("", 20), ("?limit=1", 1), ("?limit=100", 100), ("?limit=007", 7)])
async def test_limits(query: str, expected: int) -> None:
    async with serving() as server:
        assert (await get(server, f"/page{query}")).json == {"limit": expected, "cursor": None}


@pytest.mark.parametrize("value", ["", "0", "101", "-1", "+5", "1.0", "5&limit=6", "%EF%BC%95", "99999999999999", "a"])
async def test_bad_limits(value: str) -> None:
    async with serving() as server:
        answer = await get(server, f"/page?limit={value}")
    assert (answer.status, code_of(answer)) == (400, "invalid_limit")


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (post("/echo", b'{"a":1}'), 200),
        (post("/echo", b'{"a":1,"a":2}'), 400),
        (post("/echo", b"[]"), 400),
        (post("/echo", b""), 400),
        (post("/echo", b'{"a":"' + b"x" * 1000 + b'"}'), 413),
        (post("/echo", b"", length=10**12), 413),
        (post("/echo", b"", length=5), 408),
        (post("/echo", b"{}", [("Content-Encoding", "identity")]), 415),
        (post("/echo", b"{}").replace(b"application/json", b"text/plain"), 415),
        (post("/echo", b"{}").replace(b"utf-8", b"latin-1"), 415),
        (post("/echo", b"zz\r\n", [("Transfer-Encoding", "chunked")], length=-1), 400),
        (post("/echo", b"7\r\n" + b'{"a":1}' + b"\r\n0\r\n\r\n", [("Transfer-Encoding", "chunked")], length=-1), 200),
        (post("/echo", b"800\r\n" + b" " * 2048 + b"\r\n", [("Transfer-Encoding", "chunked")], length=-1), 413),
    ],
)
async def test_bodies(raw: bytes, status: int) -> None:
    async with serving() as server:
        answer = await exchange(server.port, raw)
    assert answer.status == status
    if status == 200:
        assert answer.json == {"data": {"a": 1}, "bytes": 7}
    else:
        code_of(answer)


async def test_a_page_may_not_be_framed() -> None:
    async with serving() as server:
        answer = await get(server, "/html")
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["server"] == "lark-steward"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


async def test_a_port_in_use_is_told_in_words() -> None:
    async with serving() as server:
        with pytest.raises(PortInUse, match=rf"listens on 127\.0\.0\.1:{server.port}.*gateway\.port"):
            async with HttpServer([], "127.0.0.1", server.port):
                pass


async def test_an_address_of_another_machine() -> None:
    with pytest.raises(AddressUnusable, match=r"gateway\.host"):
        async with HttpServer([], "192.0.2.1", 0):
            pass


async def test_requests_under_way_are_finished() -> None:
    entered, gate = asyncio.Event(), asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        entered.set()
        await gate.wait()
        return json_response({"done": True})

    server = HttpServer([web.get("/slow", slow)], "127.0.0.1", 0)
    await server.__aenter__()
    async with asyncio.TaskGroup() as group:
        request = group.create_task(get(server, "/slow"))
        await entered.wait()
        ending = group.create_task(server.__aexit__(None, None, None))
        await asyncio.sleep(0)
        gate.set()
        assert (await request).json == {"done": True}
        await ending
    with pytest.raises(OSError, match=r"refused|failed"):
        await get(server, "/slow")


async def test_connections_are_bounded() -> None:
    async with serving(limits=ServerLimits(connections=2)) as server:
        held = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
        for reader, writer in held:
            writer.write(b"GET /page HTTP/1.1\r\nHost: a\r\n\r\n")
            assert (await read_answer(reader)).status == 200
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await get(server, "/page")
        for _, writer in held:
            writer.close()


async def test_headers_that_do_not_arrive_end_the_connection() -> None:
    async with serving(limits=ServerLimits(idle_s=0.1)) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /page HTTP/1.1\r\nHost: a\r\n")
        await ended(reader)
        writer.close()


def guarded(clock: ManualClock, *hosts: str) -> tuple[Operator, list[web.RouteDef]]:
    operator = Operator(TOKEN, hosts, clock)

    async def secret(request: web.Request) -> web.StreamResponse:
        operator.require(request)
        return json_response({"secret": True})

    async def enter(request: web.Request) -> web.StreamResponse:
        response = json_response({})
        operator.sign_in(request, response)
        return response

    async def leave(request: web.Request) -> web.StreamResponse:
        response = json_response({})
        operator.sign_out(response)
        return response

    routes = [
        web.get("/secret", secret),
        web.post("/secret", secret),
        web.get("/enter", enter),
        web.get("/leave", leave),
    ]
    return operator, routes


BEARER = ("Authorization", f"Bearer {TOKEN}")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([BEARER], 200),
        ([("Authorization", f"bearer {TOKEN}")], 200),
        ([], 401),
        ([("Authorization", "Bearer ")], 401),
        ([("Authorization", f"Basic {TOKEN}")], 401),
        ([("Authorization", f"Bearer {TOKEN}x")], 401),
        ([("Authorization", "Bearer ｘ")], 401),
        ([BEARER, BEARER], 401),
        ([("Cookie", f"{COOKIE}={TOKEN}")], 401),
        ([("Cookie", f"{COOKIE}=99999999999999.0000")], 401),
        ([("Cookie", f"{COOKIE}=")], 401),
    ],
)
async def test_the_operator_s_token(headers: list[tuple[str, str]], status: int) -> None:
    _, routes = guarded(ManualClock())
    async with serving(*routes) as server:
        answer = await get(server, "/secret", *headers)
    assert answer.status == status
    if status == 401:
        assert code_of(answer) == "unauthenticated"
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("127.0.0.1", True),
        ("LOCALHOST:8080", True),
        ("[::1]:8080", True),
        ("steward.example", True),
        ("steward.example:8443", True),
        ("ported.example:9000", True),
        ("ported.example:9001", False),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example:8080", False),
        ("", False),
        ("192.0.2.7", False),
    ],
)
async def test_hosts(host: str, allowed: bool) -> None:
    _, routes = guarded(ManualClock(), "steward.example", "ported.example:9000")
    async with serving(*routes) as server:
        answer = await get(server, "/secret", BEARER, host=host)
    assert answer.status == (200 if allowed else 403)
    if not allowed:
        assert code_of(answer) == "forbidden_host"


async def signed_in(server: HttpServer) -> str:
    answer = await get(server, "/enter")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    return cookie.partition(";")[0]


@pytest.mark.parametrize(
    ("extra", "with_cookie", "status"),
    [
        ([], False, 200),
        ([("Origin", "http://127.0.0.1")], False, 200),
        ([("Origin", "http://evil.example")], False, 403),
        ([("Origin", "null")], False, 403),
        ([("Origin", "")], False, 403),
        ([("Origin", "http://127.0.0.1.evil.example")], False, 403),
        ([("Origin", "http://127.0.0.1"), ("Origin", "http://evil.example")], False, 403),
        ([("Sec-Fetch-Site", "cross-site")], False, 403),
        ([("Origin", "http://127.0.0.1")], True, 200),
        ([("Origin", "http://evil.example")], True, 403),
        ([], True, 403),
    ],
)
async def test_origins_of_changes(extra: list[tuple[str, str]], with_cookie: bool, status: int) -> None:
    _, routes = guarded(ManualClock())
    async with serving(*routes) as server:
        headers = [("Cookie", await signed_in(server))] if with_cookie else [BEARER]
        answer = await exchange(server.port, post("/secret", b"", [*headers, *extra]))
    assert answer.status == status
    if status == 403:
        assert code_of(answer) == "forbidden_origin"


async def test_a_cookie_ends_and_is_taken_away() -> None:
    clock = ManualClock()
    _, routes = guarded(clock)
    async with serving(*routes) as server:
        cookie = ("Cookie", await signed_in(server))
        assert (await get(server, "/secret", cookie)).status == 200
        assert (await get(server, "/secret", cookie, ("Origin", "http://evil.example"))).status == 200  # only looks
        clock.now_ms += SIGNED_IN_MS
        assert (await get(server, "/secret", cookie)).status == 401
        assert 'lark_steward_operator=""' in (await get(server, "/leave")).headers["set-cookie"]


async def test_an_empty_token_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        Operator("", [], ManualClock())


async def ok() -> Finding:
    return Finding(Level.OK, "Works.")


async def warn() -> Finding:
    return Finding(Level.WARNING, "Look.")


async def bad() -> Finding:
    return Finding(Level.FAILED, "Broken.")


async def hangs() -> Finding:
    await asyncio.Event().wait()
    return Finding(Level.OK, "never")


async def unreachable() -> Finding:
    raise StorageUnavailable("canary")


async def broken() -> Finding:
    raise KeyError("canary")


@pytest.mark.parametrize(
    ("check", "status", "level"),
    [
        (ok, 200, "ok"),
        (warn, 200, "warning"),
        (bad, 503, "failed"),
        (hangs, 503, "failed"),
        (unreachable, 503, "failed"),
        (broken, 503, "failed"),
    ],
)
async def test_ready(check: Check, status: int, level: str) -> None:
    health = Health({"database": check, "pump": ok}, ManualClock(), within_s=0.05)
    async with serving(*health.routes()) as server:
        answer = await get(server, "/readyz")
        assert answer.status == status
        assert answer.json["checks"]["database"]["status"] == level
        assert answer.json["checks"]["pump"] == {"status": "ok", "message": "Works."}
        assert answer.json["status"] == ("ready" if status == 200 else "not_ready")
        assert b"canary" not in answer.body
        assert (await get(server, "/healthz")).status == 200


async def test_ready_turns_but_does_not_work_for_every_caller() -> None:
    clock, state, looks = ManualClock(), [Level.OK], []

    async def check() -> Finding:
        looks.append(1)
        return Finding(state[0], "as it is")

    health = Health({"lark": check}, clock)
    async with serving(*health.routes()) as server:
        answers = await asyncio.gather(*(get(server, "/readyz") for _ in range(20)))
        assert {answer.status for answer in answers} == {200}
        assert len(looks) == 1
        state[0] = Level.FAILED
        clock.now_ms += 1_000
        assert (await get(server, "/readyz")).status == 503
        state[0] = Level.OK
        clock.now_ms += 1_000
        assert (await get(server, "/readyz")).status == 200


async def test_the_clock_is_doubted_for_an_hour() -> None:
    clock, seen = ManualClock(), [None]
    check = clock_check(lambda: seen[0], clock)
    assert (await check()).level is Level.OK
    seen[0] = clock.now()
    assert (await check()).level is Level.WARNING
    clock.now_ms += 60 * 60 * 1000
    assert (await check()).level is Level.OK


@pytest.mark.parametrize(
    ("skew", "level"), [(None, Level.OK), (60_000, Level.OK), (61_000, Level.WARNING), (-61_000, Level.WARNING)]
)
async def test_a_clock_that_differs_from_larks_is_doubted(skew: int | None, level: Level) -> None:
    assert (await clock_check(lambda: None, ManualClock(), lambda: skew)()).level is level


async def test_metrics_want_the_operator_and_name_routes_not_paths() -> None:
    metrics = Metrics()
    operator, _ = guarded(ManualClock())
    routes = [*metrics_routes(metrics, operator), web.get("/item/{name}", page)]
    async with serving(*routes, middlewares=[metrics_middleware(metrics)]) as server:
        assert (await get(server, "/metrics")).status == 401
        for path in ("/item/canary", "/canary", "/boom", "/refused"):
            await get(server, path)
        metrics.event("new", "message")
        metrics.event("new", "message")
        text = (await get(server, "/metrics", BEARER)).body.decode()
    assert "canary" not in text
    assert 'lark_steward_http_requests_total{method="GET",route="/item/{name}",status="200"} 1.0' in text
    assert 'lark_steward_http_requests_total{method="GET",route="none",status="404"} 1.0' in text
    assert 'lark_steward_http_requests_total{method="GET",route="/boom",status="500"} 1.0' in text
    assert 'lark_steward_http_requests_total{method="GET",route="/refused",status="409"} 1.0' in text
    assert 'lark_steward_http_requests_total{method="GET",route="/metrics",status="401"} 1.0' in text
    assert 'lark_steward_events_total{kind="message",outcome="new"} 2.0' in text
    assert "lark_steward_http_request_seconds_bucket" in text


def test_two_compositions_share_no_metrics() -> None:
    first, second = Metrics(), Metrics()
    first.event("new", "message")
    assert b'outcome="new"' not in second.text()


async def test_ipv6_and_every_address() -> None:
    async with HttpServer(ROUTES, "0.0.0.0", 0) as server:
        assert server.url == f"http://127.0.0.1:{server.port}"
    if socket.has_ipv6:
        assert HttpServer([], "::", 80).url == "http://[::1]:80"


async def test_answers_are_utf8_and_never_fail_for_a_character() -> None:
    assert json.loads(json_response({"a": "中\ud800"}).body) == {"a": "中?"}
