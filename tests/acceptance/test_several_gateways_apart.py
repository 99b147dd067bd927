"""What holds across gateways, and what each of them does while its database is away or when it ends."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import postgresql
from tests.support.gateways import TOKEN, Gateways, gateways, until

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

QUESTION = "where is the class Engine defined?"
ANSWERED_WITHIN_S = 2.5


async def status(http: httpx.AsyncClient, path: str) -> int:
    return (await http.get(path)).status_code


async def is_status(http: httpx.AsyncClient, path: str, expected: int) -> bool:
    return await status(http, path) == expected


async def refused(here: Gateways, http: httpx.AsyncClient, peer: Any) -> None:
    """Everything that needs the database is 503, soon, and the process lives."""
    asked = here.ask(QUESTION)
    (push,) = here.lark.pushes(message_id=asked.message_id)
    await here.lark.wait_for(lambda: push.attempts, 30, "an answer to the push")
    assert push.attempts[0].status == 503
    assert push.attempts[0].latency_ms < ANSWERED_WITHIN_S * 1000
    answer = await peer.write("/api/v1/peer/presence", {"state": "available"}, method="PUT")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    await until(lambda: is_status(http, "/readyz", 503))  # what it found is a second old at most
    assert await status(http, "/healthz") == 200


async def test_a_database_that_goes_away_and_comes_back(tmp_path: Path, postgresql_server: postgresql.Server) -> None:
    with postgresql_server.empty() as url:
        async with gateways(tmp_path, url, 1) as here:
            (gateway,), (way,) = here.each, here.ways
            here.lark.knobs.push_timeout_s = 10
            here.lark.set_webhook(here.app, f"{gateway.settings.url}/lark/events")
            peer = await here.add_peer("atlas", gateway)
            async with here.operator(gateway) as http:
                assert await status(http, "/readyz") == 200
                way.cut()
                await refused(here, http, peer)
                way.mend()
                await here.settled(gateway, 1)
                way.freeze()  # nobody says that it is away
                await refused(here, http, peer)
                way.mend()
                items = await here.settled(gateway, 2)
                await until(lambda: is_status(http, "/readyz", 200))
                answer = await peer.write("/api/v1/peer/presence", {"state": "available"}, method="PUT")
            assert answer.status_code == 200
            assert [item["delivery"]["status"] for item in items] == ["delivered"] * 2
            assert [len(here.lark.replies(question)) for question in here.asked] == [1, 1]
            assert postgresql.PASSWORD not in gateway.output()
            await peer.http.aclose()


async def test_what_two_gateways_share(tmp_path: Path, postgresql_server: postgresql.Server) -> None:
    with postgresql_server.empty() as url:
        async with gateways(tmp_path, url, 2, steward={"lease_s": 600}) as here:
            one, other = here.each
            atlas = await here.add_peer("atlas", one)
            elsewhere = httpx.AsyncClient(
                base_url=other.settings.url, headers=atlas.http.headers, timeout=40, trust_env=False
            )
            async with elsewhere:
                await a_key_holds_everywhere(here, atlas, elsewhere)
            await a_cursor_and_a_cookie_hold_everywhere(here)
            await commands_read_and_write(here)
            await a_turn_is_handed_over_at_an_orderly_end(here)
            await atlas.http.aclose()


async def a_key_holds_everywhere(here: Gateways, atlas: Any, elsewhere: httpx.AsyncClient) -> None:
    """The same key and body at two gateways at once: one effect, and the same status and body, byte by byte."""
    here.ask("ask atlas to count the carts")
    item = await atlas.next()
    path, revision = f"/api/v1/peer/requests/{item['request_id']}", item["revision"]
    for step, body in (
        ("presented", {"turn": None}),
        ("assessment", {"assessment": "accepted"}),
        ("result", {"outcome": "resolved", "text": "There are seven."}),
    ):
        asked = {
            "url": f"{path}/{step}",
            "json": {"revision": revision, **body},
            "headers": {"Idempotency-Key": f"the same {step}"},
        }
        first, second = await asyncio.gather(atlas.http.post(**asked), elsewhere.post(**asked))
        assert (first.status_code, first.content) == (200, second.content)
        assert second.status_code == 200
        different = {**asked, "json": {"revision": revision, **body, "attempt": "another"}}
        if step != "presented":
            assert (await elsewhere.post(**different)).json()["error"]["code"] == "idempotency_conflict"
    facts = await here.timeline(here.each[1], item["request_id"])
    assert [facts.count(fact) for fact in ("presented", "assessed", "result")] == [1, 1, 1]
    await here.settled(here.each[0], 1)
    assert [seen.text for seen in here.lark.replies(here.asked[0])][-1].endswith("There are seven.")


async def a_cursor_and_a_cookie_hold_everywhere(here: Gateways) -> None:
    here.ask(QUESTION)
    await here.settled(here.each[0], 2)
    async with here.operator(here.each[0]) as one, here.operator(here.each[1]) as other:
        page = (await one.get("/api/v1/inbox", params={"limit": 1})).json()
        following = await other.get("/api/v1/inbox", params={"limit": 1, "cursor": page["next_cursor"]})
        assert following.status_code == 200
        assert following.json()["items"][0]["request_id"] != page["items"][0]["request_id"]
    async with httpx.AsyncClient(trust_env=False) as browser:
        signed = await browser.post(f"{here.each[0].settings.url}/inbox/sign-in", data={"token": TOKEN}, headers={
            "Origin": here.each[0].settings.url,
        })  # fmt: skip
        assert signed.status_code in {302, 303}, signed.text
        shown = await browser.get(f"{here.each[1].settings.url}/inbox")
        assert shown.status_code == 200
        assert QUESTION in shown.text


async def commands_read_and_write(here: Gateways) -> None:
    """Commands work on the database itself, by whichever gateway's configuration."""
    gateway = here.each[1]
    listed = await gateway.command("inbox", "list")
    assert [item["request_id"] for item in listed["items"]] == [
        item["request_id"] for item in (await here.inbox(gateway))[::-1]
    ]
    newest = listed["items"][0]["request_id"]
    async with here.operator(here.each[0]) as http:
        shown = (await http.get(f"/api/v1/inbox/{newest}")).json()
    assert await gateway.command("inbox", "show", newest) == shown
    assert (await gateway.command("inbox", "verify", newest))["delivery"]["status"] == "delivered"
    await gateway.command("peers", "stop", "atlas")
    (grant,) = (await gateway.command("grants", "list"))["items"]
    assert grant["granted_by"] == "policy"


async def a_turn_is_handed_over_at_an_orderly_end(here: Gateways) -> None:
    """Its lease would last for ten minutes; the other one goes on at once."""
    leaving, staying = here.each
    here.lark.set_webhook(here.app, f"{leaving.settings.url}/lark/events")
    fault = here.lark.fault("hold_before", "get", times=1)  # the turn reads its question again
    os.kill(staying.pid, signal.SIGSTOP)
    question = here.ask(QUESTION)
    await here.lark.wait_held(fault.fault_id, timeout_s=60)
    os.kill(staying.pid, signal.SIGCONT)
    assert await leaving.stop(signal.SIGTERM) == 0
    await here.settled(staying, 3)
    assert len(here.lark.replies(question)) == 1
    facts = await here.timeline(staying, (await here.inbox(staying))[-1]["request_id"])
    assert facts.count("decided") == 1
