"""Attempts to make something private reach where it does not belong."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.world import world

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]


@pytest.mark.parametrize("fault", [{"kind": "http_500"}, {"kind": "error", "code": 99991672}, {"kind": "html_502"}])
async def test_external_chat_whose_facts_cannot_be_read(tmp_path: Path, fault: dict) -> None:
    """contract: "external chats only by an owner's grant". A colleague asks in a chat with outsiders; reading the chat fails."""
    async with world(tmp_path, returns={"http_timeout_s": 2}) as here:
        chat = here.lark.create_chat("with outsiders", ["lin"], [here.app.app_id], external=True)
        kind = fault.pop("kind")
        here.lark.fault(kind, "chat", times=None, **fault)
        here.lark.say(chat, "lin", "where is the class Engine defined?", mention=[here.app.app_id])
        await asyncio.sleep(12)
        seen = [m.text for m in here.lark.visible(chat, by_app=True)]
        print(seen, await here.gateway.inbox())
        assert seen == [], "answered in an external chat without an owner's grant"


async def test_words_of_a_private_question_in_the_timeline(tmp_path: Path) -> None:
    """contract: "`question` of a private conversation is `(private)` until revealed"."""
    async with world(tmp_path, app={"private": "open"}) as here:
        peer = await here.add_peer("payroll", "salary review and dismissal letters")
        private = here.lark.private_chat("lin", here.app)
        here.lark.say(private, "lin", "please prepare the dismissal and salary papers for Bob")
        item = await here.inbox_until(lambda items: items[0] if items and items[0]["receiver"] else None)
        async with here.gateway.operator() as http:
            shown = (await http.get(f"/api/v1/inbox/{item['request_id']}")).text
        await peer.http.aclose()
        assert item["question"] == "(private)"
        assert "dismissal" not in shown and "salary" not in shown


async def test_progress_of_a_private_request(tmp_path: Path) -> None:
    async with world(tmp_path, app={"private": "open"}) as here:
        peer = await here.add_peer("payroll", "salary review and dismissal letters")
        private = here.lark.private_chat("lin", here.app)
        here.lark.say(private, "lin", "ask payroll to prepare the papers for Bob")
        item = await peer.next()
        path = f"/api/v1/peer/requests/{item['request_id']}"
        await peer.write(f"{path}/presented", {"revision": 1})
        r = await peer.write(
            f"{path}/assessment",
            {
                "revision": 1,
                "assessment": "deferred",
                "reason": "SECRETREASON",
                "owner": "SECRETOWNER",
                "resume_condition": "SECRETCOND",
            },
        )
        assert r.status_code == 200, r.text
        r = await peer.write(f"{path}/progress", {"revision": 1, "text": "SECRETPROGRESS"})
        async with here.gateway.operator() as http:
            shown = (await http.get(f"/api/v1/inbox/{item['request_id']}")).text
            page = (await http.get(f"/inbox/{item['request_id']}")).text
            metrics = (await http.get("/metrics")).text
        await peer.http.aclose()
        assert "SECRET" not in shown + page + metrics + here.gateway.output(), shown
