"""The operator's HTTP: JSON and pages over a real socket."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from gateway.http.auth import Operator
from gateway.http.cursors import Cursors
from gateway.http.keys import derive
from gateway.http.operator_token import load_or_make
from gateway.http.server import HttpServer
from gateway.inbox.acting_api import ActingApi
from gateway.inbox.acting_pages import ActingPages
from gateway.inbox.api import InboxApi
from gateway.inbox.pages import InboxPages
from gateway.instance_lock import hold
from gateway.system import new_id
from manager.service.authority import StewardAuthority
from manager.service.operators import Operators
from providers.storage.sqlite import SqliteTransactions
from returns.delivery import Error, State
from returns.ids import Millis
from returns.ledger.wakeups import RETURNS
from tests.support.inbox import ASKED, PRIVATE_THINGS, answer, ask, filled

TOKEN = "operator-token-of-this-test"
SCRIPT = "<script>alert(1)</script> & \"quotes\" 'x'"


class StillClock:
    def now(self) -> Millis:
        return Millis(ASKED + 60_000)


@dataclass
class Served:
    client: httpx.AsyncClient
    transactions: SqliteTransactions

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.client.get(path, headers={"Authorization": f"Bearer {TOKEN}", **headers})

    async def post(self, path: str) -> httpx.Response:
        return await self.client.post(path, headers={"Authorization": f"Bearer {TOKEN}"})


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    operator = Operator(TOKEN, (), StillClock())
    cursors = Cursors(derive(TOKEN, "cursors"))
    async with SqliteTransactions(filled(tmp_path, 5)) as transactions:
        acting = Operators(StewardAuthority("say_nothing", StillClock(), new_id), new_id, 86_400_000)
        pages = InboxPages(transactions, operator, cursors, StillClock())
        routes = [
            *InboxApi(transactions, operator, cursors, StillClock()).routes(),
            *ActingApi(transactions, operator, StillClock(), acting).routes(),
            *pages.routes(),
            *ActingPages(transactions, operator, StillClock(), acting, pages).routes(),
        ]
        async with (
            HttpServer(routes, "127.0.0.1", 0) as server,
            httpx.AsyncClient(base_url=server.url, trust_env=False) as client,
        ):
            yield Served(client, transactions)


def error_of(response: httpx.Response) -> tuple[int, str, str | None]:
    error = response.json()["error"]
    assert set(error) == {"code", "message", "field"}
    return response.status_code, error["code"], error["field"]


async def test_the_list(served: Served) -> None:
    response = await served.get("/api/v1/inbox")
    assert response.status_code == 200
    body = response.json()
    assert [item["request_id"] for item in body["items"]] == [f"r_{number}" for number in range(4, -1, -1)]
    assert body["next_cursor"] is None


async def test_the_list_by_pages(served: Served) -> None:
    first = (await served.get("/api/v1/inbox?limit=2")).json()
    second = (await served.get(f"/api/v1/inbox?limit=2&cursor={first['next_cursor']}")).json()
    third = (await served.get(f"/api/v1/inbox?limit=2&cursor={second['next_cursor']}")).json()
    assert [len(page["items"]) for page in (first, second, third)] == [2, 2, 1]
    assert third["next_cursor"] is None


async def test_a_cursor_belongs_to_its_filter(served: Served) -> None:
    cursor = (await served.get("/api/v1/inbox?limit=2")).json()["next_cursor"]
    refused = await served.get(f"/api/v1/inbox?status=absent&cursor={cursor}")
    assert error_of(refused) == (400, "invalid_cursor", "cursor")
    assert error_of(await served.get("/api/v1/inbox?cursor=zzz")) == (400, "invalid_cursor", "cursor")


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("status=lost", "invalid_request", "status"),
        ("status=absent&status=queued", "invalid_request", "status"),
        ("all=maybe", "invalid_request", "all"),
        ("limit=0", "invalid_limit", "limit"),
        ("limit=101", "invalid_limit", "limit"),
        ("limit=x", "invalid_limit", "limit"),
    ],
)
async def test_what_is_not_understood_is_refused(served: Served, query: str, code: str, field: str) -> None:
    assert error_of(await served.get(f"/api/v1/inbox?{query}")) == (400, code, field)


async def test_a_status_filter(served: Served) -> None:
    await served.transactions.run(lambda c: answer(c, "r_2", State.RETRY_PENDING, Error.PROVIDER_OFFLINE))
    items = (await served.get("/api/v1/inbox?status=retry_pending")).json()["items"]
    assert [item["request_id"] for item in items] == ["r_2"]
    assert (await served.get("/api/v1/inbox?status=delivered")).json()["items"] == []
    assert len((await served.get("/api/v1/inbox?status=&all=1")).json()["items"]) == 5


async def test_one_request(served: Served) -> None:
    body = (await served.get("/api/v1/inbox/r_1")).json()
    assert body["request_id"] == "r_1"
    assert [fact["fact"] for fact in body["timeline"]] == ["received"]
    assert body["lineage"]["children"] == []


@pytest.mark.parametrize("request_id", ["r_99", "%00", "a" * 500, "%27%20OR%201=1"])
async def test_no_such_request(served: Served, request_id: str) -> None:
    assert error_of(await served.get(f"/api/v1/inbox/{request_id}")) == (404, "not_found", None)
    assert error_of(await served.post(f"/api/v1/inbox/{request_id}/verify")) == (404, "not_found", None)


@pytest.mark.parametrize("request_id", ["%00", "r_1%00", "a" * 41, "%27%20OR%201=1", "%E4%BD%A0", "r_1%0A"])
async def test_no_database_is_asked_about_what_no_request_is_called(
    served: Served, monkeypatch: pytest.MonkeyPatch, request_id: str
) -> None:
    """Some have characters that one of them cannot hold."""

    async def asked(*_: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(type(served.transactions), "run", asked)
    monkeypatch.setattr(type(served.transactions), "read", asked)
    for base in ("/inbox", "/api/v1/inbox"):
        assert (await served.get(f"{base}/{request_id}")).status_code == 404
        assert (await served.post(f"{base}/{request_id}/verify")).status_code == 404


async def test_looking_again(served: Served) -> None:
    await served.transactions.run(lambda c: answer(c, "r_2", State.EXPLICIT_UNVERIFIED, Error.NO_MATCH_FOUND))
    bell = served.transactions.subscribe(RETURNS)
    response = await served.post("/api/v1/inbox/r_2/verify")
    assert response.status_code == 202
    assert response.json()["looking"] is True
    assert response.json()["item"]["delivery"]["status"] == "verification_required"
    assert await bell.wait(0) is True
    facts = (await served.get("/api/v1/inbox/r_2")).json()["timeline"]
    assert "look_again" in [fact["fact"] for fact in facts]
    again = await served.post("/api/v1/inbox/r_1/verify")
    assert (again.status_code, again.json()["looking"]) == (200, False)


async def test_the_pump_can_be_woken(served: Served) -> None:
    bell = served.transactions.subscribe(RETURNS)
    response = await served.post("/api/v1/wakeup")
    assert (response.status_code, response.json()) == (202, {"rung": True})
    assert await bell.wait(0) is True


async def test_the_command_wakes_the_running_gateway(served: Served, tmp_path: Path) -> None:
    """It asks at the address that the holder of the data folder signed with, whatever the configuration says."""
    await served.transactions.run(lambda c: answer(c, "r_2", State.EXPLICIT_UNVERIFIED, Error.NO_MATCH_FOUND))
    bell = served.transactions.subscribe(RETURNS)
    load_or_make(tmp_path, lambda: TOKEN)
    config = tmp_path / "steward.toml"
    config.write_text(f'[gateway]\ndata_dir = "{tmp_path}"\nport = 0\n')
    with hold(tmp_path, Millis(ASKED)) as held:
        held.sign(str(served.client.base_url))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *["-c", "from gateway.cli.main import inbox_main; inbox_main()"],
            *["--config", str(config), "verify", "r_2"],
            cwd=Path(__file__).parents[2],
            stdout=asyncio.subprocess.DEVNULL,
        )
        assert await bell.wait(60) is True
        assert await process.wait() == 3


async def test_events(served: Served) -> None:
    assert (await served.get("/api/v1/events?state=parked")).json() == {"items": [], "next_cursor": None}
    assert error_of(await served.get("/api/v1/events?state=accepted")) == (400, "invalid_request", "state")


OPERATORS = (
    ("GET", "/api/v1/inbox"),
    ("GET", "/api/v1/inbox/r_1"),
    ("POST", "/api/v1/inbox/r_1/verify"),
    ("GET", "/api/v1/events?state=late"),
    ("POST", "/api/v1/wakeup"),
)


@pytest.mark.parametrize(("method", "path"), OPERATORS)
async def test_only_the_operator(served: Served, method: str, path: str) -> None:
    assert error_of(await served.client.request(method, path)) == (401, "unauthenticated", None)
    wrong = {"Authorization": "Bearer wrong"}
    assert error_of(await served.client.request(method, path, headers=wrong)) == (401, "unauthenticated", None)
    right = {"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}
    assert error_of(await served.client.request(method, path, headers=right))[:2] == (403, "forbidden_host")
    if method == "POST":
        foreign = {"Authorization": f"Bearer {TOKEN}", "Origin": "https://evil.example"}
        assert error_of(await served.client.request(method, path, headers=foreign))[:2] == (403, "forbidden_origin")


async def test_nothing_private_in_any_answer(served: Served) -> None:
    await served.transactions.run(lambda c: ask(c, 50, question="private question", private=True))
    await served.transactions.run(lambda c: answer(c, "r_50", State.UNDELIVERABLE, Error.CONTENT_REFUSED))
    paths = ("/api/v1/inbox", "/api/v1/inbox/r_50", "/inbox", "/inbox/r_50")
    said = "".join([(await served.get(path)).text for path in paths])
    assert "(private)" in said
    assert not [thing for thing in PRIVATE_THINGS if thing in said]


async def test_a_stranger_sees_a_form_and_nothing_else(served: Served) -> None:
    for path in ("/inbox", "/inbox/r_1", "/inbox/r_99"):
        response = await served.client.get(path)
        assert response.status_code == 401
        assert 'name="token"' in response.text
        assert "r_1" not in response.text
        assert "parser" not in response.text


async def test_the_address_alone_leads_to_the_list(served: Served) -> None:
    home = await served.client.get("/")
    assert (home.status_code, home.headers["location"]) == (303, "/inbox")
    assert (await served.client.get("/", headers={"Host": "evil.example"})).status_code == 403


async def test_signing_in_and_out(served: Served) -> None:
    wrong = await served.client.post("/inbox/sign-in", data={"token": "wrong"})
    assert wrong.status_code == 401
    assert "not the operator" in wrong.text
    assert "set-cookie" not in wrong.headers
    right = await served.client.post("/inbox/sign-in", data={"token": f" {TOKEN} "})
    assert (right.status_code, right.headers["location"]) == (303, "/inbox")
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    assert "Where is the parser?" in (await served.client.get("/inbox")).text
    origin = str(served.client.base_url).rstrip("/")
    foreign = await served.client.post("/inbox/sign-out", headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    out = await served.client.post("/inbox/sign-out", headers={"Origin": origin})
    assert out.status_code == 303
    assert (await served.client.get("/inbox")).status_code == 401


async def test_a_file_as_the_token_is_no_token(served: Served) -> None:
    response = await served.client.post("/inbox/sign-in", files={"token": ("x", TOKEN.encode())})
    assert response.status_code == 401


async def test_what_people_wrote_is_text_on_the_page(served: Served) -> None:
    await served.transactions.run(lambda c: ask(c, 51, question=SCRIPT))
    for path in ("/inbox", "/inbox/r_51"):
        response = await served.get(path)
        assert response.status_code == 200
        assert "<script" not in response.text
        assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &#34;quotes&#34;" in response.text
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert "unsafe" not in policy


async def test_the_page_speaks_the_readers_language(served: Served) -> None:
    chinese = await served.get("/inbox", **{"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8"})
    english = await served.get("/inbox", **{"Accept-Language": "en"})
    assert '<html lang="zh">' in chinese.text
    assert "收件箱" in chinese.text
    assert "等提问者回答" in chinese.text
    assert '<html lang="en">' in english.text
    assert "It waits for the asker" in english.text


async def test_the_page_goes_on_to_older_ones(served: Served) -> None:
    for number in range(100, 130):
        await served.transactions.run(lambda c, number=number: ask(c, number))
    first = (await served.get("/inbox")).text
    link = first.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
    second = (await served.get(link)).text
    assert first.count("<article") == 20
    assert second.count("<article") == 15
    assert "r_0" in second
    gone = await served.get("/inbox?cursor=nonsense")
    assert (gone.status_code, gone.headers["location"]) == (302, "/inbox")


async def test_the_filter_of_the_page(served: Served) -> None:
    await served.transactions.run(lambda c: answer(c, "r_2", State.EXPLICIT_UNVERIFIED, Error.NO_MATCH_FOUND))
    page = (await served.get("/inbox?status=explicit_unverified")).text
    assert page.count("<article") == 1
    assert "Needs you" in page
    assert (await served.get("/inbox?status=nonsense")).text.count("<article") == 5


async def test_a_request_that_there_is_not(served: Served) -> None:
    response = await served.get("/inbox/r_99")
    assert response.status_code == 404
    assert "There is no such request." in response.text


async def test_the_style_sheet_is_ours(served: Served) -> None:
    response = await served.client.get("/inbox/style.css")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/css; charset=utf-8")
