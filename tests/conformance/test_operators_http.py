"""The operator's hands over HTTP and on the pages: who may, once, and what is said."""

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
from gateway.http.server import HttpServer
from gateway.inbox.acting_api import ActingApi
from gateway.inbox.acting_pages import ActingPages
from gateway.inbox.api import InboxApi
from gateway.inbox.pages import InboxPages
from gateway.system import new_id
from manager.service.operators import Operators
from providers.storage.sqlite import SqliteTransactions
from returns.delivery import Error, State
from returns.ids import Millis
from tests.support.inbox import ASKED, answer, ask, filled
from tests.support.returns import FakeAuthority

TOKEN = "the-operators-token-of-this-test"


class StillClock:
    """A day later."""

    def now(self) -> Millis:
        return Millis(ASKED + 86_400_000)


@dataclass
class Served:
    client: httpx.AsyncClient
    transactions: SqliteTransactions

    async def act(self, path: str, body: object = None, **headers: str) -> httpx.Response:
        return await self.client.post(
            f"/api/v1/inbox/{path}", json=body, headers={"Authorization": f"Bearer {TOKEN}", **headers}
        )

    async def timeline(self, request: str) -> list[dict]:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return (await self.client.get(f"/api/v1/inbox/{request}", headers=headers)).json()["timeline"]

    async def sign_in(self) -> None:
        origin = str(self.client.base_url).rstrip("/")
        answered = await self.client.post("/inbox/sign-in", data={"token": TOKEN}, headers={"Origin": origin})
        assert answered.status_code == 303

    async def form(self, path: str, *, origin: str | None = None, **fields: str) -> httpx.Response:
        ours = str(self.client.base_url).rstrip("/")
        return await self.client.post(f"/inbox/{path}", data=fields, headers={"Origin": origin or ours})


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    operator, clock = Operator(TOKEN, (), StillClock()), StillClock()
    cursors = Cursors(derive(TOKEN, "cursors"))
    async with SqliteTransactions(filled(tmp_path, 3)) as transactions:
        acting = Operators(FakeAuthority(), new_id, 60_000)
        pages = InboxPages(transactions, operator, cursors, clock)
        routes = [
            *InboxApi(transactions, operator, cursors, clock).routes(),
            *ActingApi(transactions, operator, clock, acting).routes(),
            *pages.routes(),
            *ActingPages(transactions, operator, clock, acting, pages).routes(),
        ]
        async with (
            HttpServer(routes, "127.0.0.1", 0) as server,
            httpx.AsyncClient(base_url=server.url, trust_env=False) as client,
        ):
            yield Served(client, transactions)


async def undeliverable(served: Served, request: str = "r_1") -> None:
    await served.transactions.run(lambda c: answer(c, request, State.UNDELIVERABLE, Error.CONTENT_REFUSED))


async def test_the_same_outcomes_as_json(served: Served) -> None:
    await undeliverable(served)
    resent = await served.act("r_1/resend", {"reason": "cured"}, **{"X-Operator-Name": "mei"})
    assert (resent.status_code, resent.json()["command"]["outcome"]) == (200, "queued")
    assert resent.json()["item"]["delivery"]["status"] == "queued"
    noted = await served.act("r_1/note", {"text": "fine"})
    assert (noted.status_code, noted.json()["command"]["outcome"]) == (200, "noted")
    again = await served.act("r_1/resend", {"reason": "cured"})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "not_resendable")
    who = [fact["detail"]["who"] for fact in await served.timeline("r_1") if fact["fact"].startswith("operator_")]
    assert who == ["mei", "api"]
    snoozed = await served.act("r_2/snooze", {"until": "2h"})
    assert snoozed.json()["item"]["snoozed_until"] == "2025-10-10T10:53:20.000Z"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("r_1/resend", {}, "reason"),
        ("r_1/resend", {"reason": "  "}, "reason"),
        ("r_1/resend", {"reason": 5}, "reason"),
        ("r_1/resend", {"reason": "x", "force": True}, "force"),
        ("r_1/verify", {"reason": "x"}, "reason"),
        ("r_1/found", {}, "ref"),
        ("r_1/note", {"text": "x" * 2_001}, "text"),
        ("r_1/snooze", {"until": "tomorrow"}, "until"),
        ("r_1/cancel", {"reason": "x" * 501}, "reason"),
    ],
)
async def test_what_is_missing_or_wrong_is_named(served: Served, path: str, body: object, field: str) -> None:
    answered = await served.act(path, body)
    error = answered.json()["error"]
    assert (answered.status_code, error["code"], error["field"]) == (400, "invalid_request", field)
    assert [fact["fact"] for fact in await served.timeline("r_1")] == ["received"]


async def test_who_may_not(served: Served) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        assert (
            await served.client.post("/api/v1/inbox/r_1/cancel", json={"reason": "x"}, headers=headers)
        ).status_code == 401
    foreign = {"Origin": "https://elsewhere.example"}
    assert (await served.act("r_1/cancel", {"reason": "x"}, **foreign)).json()["error"]["code"] == "forbidden_origin"
    assert (await served.act("r_1/cancel", {"reason": "x"}, Host="elsewhere.example")).status_code == 403
    assert (await served.act("r_1/destroy", {})).status_code == 404
    assert (await served.act("r_none/note", {"text": "x"})).json()["error"]["code"] == "not_found"
    assert (await served.act("r_1/note", {"text": "x"}, **{"Content-Encoding": "gzip"})).status_code == 415
    assert [fact["fact"] for fact in await served.timeline("r_1")] == ["received"]


async def test_a_key_carries_it_out_once(served: Served) -> None:
    key = {"Idempotency-Key": "k1"}
    first = await served.act("r_1/note", {"text": "once"}, **key)
    again = await served.act("r_1/note", {"text": "once"}, **key)
    assert (first.status_code, first.content) == (again.status_code, again.content)
    other = await served.act("r_1/note", {"text": "twice"}, **key)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_conflict")
    assert [fact["fact"] for fact in await served.timeline("r_1")] == ["received", "operator_note"]
    assert (await served.act("r_1/note", {"text": "x"}, **{"Idempotency-Key": "k" * 201})).status_code == 400


async def test_what_is_revealed_is_kept_nowhere(served: Served) -> None:
    await served.transactions.run(lambda c: ask(c, 9, question="private question", private=True))
    key = {"Idempotency-Key": "k2"}
    revealed = (await served.act("r_9/reveal", None, **key)).json()["revealed"]
    assert (revealed["question"], revealed["question_message_id"]) == ("private question", "om_secret_9")
    assert "om_secret" not in str(await served.timeline("r_9"))
    stored = await served.transactions.read(
        lambda c: c.exec_driver_sql("SELECT count(*) FROM idempotency_keys WHERE answer LIKE '%secret%'").scalar_one()
    )
    assert stored == 0


async def test_the_list_of_what_waits_for_an_operator(served: Served) -> None:
    await undeliverable(served)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    waiting = (await served.client.get("/api/v1/inbox?needs_operator=1", headers=headers)).json()["items"]
    assert [item["request_id"] for item in waiting] == ["r_1"]
    both = await served.client.get("/api/v1/inbox?needs_operator=1&status=queued", headers=headers)
    assert both.json()["error"]["field"] == "needs_operator"
    await served.act("r_1/snooze", {"until": "1h"})
    assert (await served.client.get("/api/v1/inbox?needs_operator=1", headers=headers)).json()["items"] == []


@pytest.mark.parametrize(("language", "said"), [("en", "A new return"), ("zh-CN", "新的答复")])
async def test_the_forms_of_the_page(served: Served, language: str, said: str) -> None:
    await undeliverable(served)
    assert (await served.form("r_1/resend", reason="cured")).status_code == 401
    await served.sign_in()
    page = (await served.client.get("/inbox/r_1")).text
    assert '<form class="act" method="post" action="/inbox/r_1/resend">' in page
    assert "/inbox/r_1/verify" not in page, "there is nothing to look for"
    assert "<script" not in page
    assert (await served.form("r_1/resend", origin="https://elsewhere.example", reason="x")).status_code == 403
    missing = await served.form("r_1/resend", reason=" ")
    assert (missing.status_code, "reason is needed" in missing.text) == (400, True)
    done = await served.form("r_1/resend", reason="cured <b>", who="mei")
    assert done.status_code == 303
    after = await served.client.get(done.headers["Location"], headers={"Accept-Language": language})
    assert said in after.text
    assert "cured &lt;b&gt;" in after.text
    refused = await served.form("r_1/resend", reason="again")
    assert (refused.status_code, "nothing was sent" in refused.text) == (409, True)
    assert (await served.form("r_none/note", text="x")).status_code == 404
    assert (await served.form("r_1/destroy")).status_code == 404


async def test_what_is_private_is_on_the_page_only_once(served: Served) -> None:
    await served.sign_in()
    assert "om_secret" not in (await served.client.get("/inbox/r_1")).text
    revealed = await served.form("r_1/reveal", who="mei")
    assert (revealed.status_code, revealed.headers["Cache-Control"]) == (200, "no-store")
    assert "om_secret_1" in revealed.text
    assert "om_secret" not in (await served.client.get("/inbox/r_1")).text


async def test_every_command_has_help_that_says_what_it_does(tmp_path: Path) -> None:
    program = (
        "from click.testing import CliRunner\nfrom gateway.cli.inbox import inbox\n"
        "for name, command in inbox.commands.items():\n"
        "    ran = CliRunner().invoke(inbox, [name, '--help'])\n"
        "    assert ran.exit_code == 0 and '--json' in ran.output, name\n"
        "    print(name)\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, cwd=Path(__file__).parents[2], stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    assert set(out.decode().split()) == {
        "list", "show", "verify", "found", "resend", "cancel", "note", "snooze", "reveal", "export", "events",
    }  # fmt: skip
