"""Attempts at the whole product that succeeded: lost, falsely told, disclosed. Each failed when it was written."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.world import World, world

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

QUESTION = "where is the class Engine defined?"
SOON = {"settle_s": 1}
WAIT_S = 30


async def shown(here: World, request: str) -> dict[str, Any]:
    """The item with its timeline."""
    async with here.gateway.operator() as http:
        answer = await http.get(f"/api/v1/inbox/{request}")
        answer.raise_for_status()
        return answer.json()


async def until_told(here: World, *facts: str) -> dict[str, Any]:
    """The only request, once its timeline has one of the facts."""
    async with asyncio.timeout(WAIT_S):
        while True:
            for item in await here.inbox_until(lambda items: items):
                found = await shown(here, item["request_id"])
                if {fact["fact"] for fact in found["timeline"]} & set(facts):
                    return found
            await asyncio.sleep(0.1)


async def act(here: World, request: str, kind: str, **body: str) -> None:
    """An operator acts over HTTP."""
    async with here.gateway.operator() as http:
        answer = await http.post(f"/api/v1/inbox/{request}/{kind}", json=body)
        assert answer.status_code == 202, answer.text


async def until_outcome(here: World, request: str, kind: str, outcome: str) -> None:
    """What was asked for came to this."""
    async with asyncio.timeout(WAIT_S):
        while True:
            item = await shown(here, request)
            ends = [fact["detail"] for fact in item["timeline"] if fact["fact"] == f"operator_{kind}_done"]
            if ends:
                assert [each["outcome"] for each in ends] == [outcome]
                return
            await asyncio.sleep(0.1)


async def test_a_question_that_cannot_be_read_yet_is_taken_for_recalled(tmp_path: Path) -> None:
    """Lark pushes the event, and for a moment its REST API does not know the message: nobody is answered or told."""
    async with world(tmp_path, returns=SOON) as here:
        here.lark.fault("error", "get", times=1, code=99992354, http_status=400)
        here.ask(QUESTION)
        item = await until_told(here, "turn_withdrawn", "delivered")
        assert "question_recalled" not in [fact["fact"] for fact in item["timeline"]], "nobody recalled it"
        assert item["work"] != "cancelled"


async def test_a_question_back_that_never_arrived_waits_for_the_asker_for_ever(tmp_path: Path) -> None:
    """What the steward asks back is a notice: it ended without proof, no operator sees it, none can send it anew."""
    async with world(tmp_path, returns=SOON) as here:
        here.lark.fault("reset_before", "reply", times=1)
        here.ask("")
        item = await until_told(here, "unverified")
        assert here.lark.visible(here.chat, by_app=True) == []
        assert item["notice"] == {"status": "explicit_unverified", "error": "no_match_found"}
        assert "manager-inbox resend" in item["next"]
        await act(here, item["request_id"], "verify")
        await until_outcome(here, item["request_id"], "verify", "unproved")
        await act(here, item["request_id"], "resend", reason="nobody saw it")
        await until_outcome(here, item["request_id"], "resend", "queued")
        await until_told(here, "delivered")
        assert len(here.lark.visible(here.chat, by_app=True)) == 1
        item = await shown(here, item["request_id"])
        assert item["notice"] is None
        assert "asker" in item["next"]


async def test_a_recalled_correction_takes_the_question_with_it(tmp_path: Path) -> None:
    """The question still stands in the chat; only what was said of it was taken back. It is never answered."""
    async with world(tmp_path, returns=SOON) as here:
        here.lark.fault("delay_before", "get", times=None, seconds=1.0)
        question = here.ask(QUESTION)
        await here.inbox_until(lambda items: items)
        mention = [here.app.app_id]
        correction = here.lark.say(here.chat, "lin", "更正：in python", mention=mention, reply_to=question)
        await until_told(here, "corrected")
        here.lark.recall(correction)
        item = await until_told(here, "question_recalled")
        here.lark.clear_faults()
        assert item["work"] != "cancelled"


async def test_an_answer_that_never_arrived_is_called_delivered(tmp_path: Path) -> None:
    """Lark names another message for the first answer; the second, equal one never arrives and takes the first's."""
    async with world(tmp_path, returns=SOON) as here:
        root = here.lark.say(here.chat, "lin", "a topic")
        mention = [here.app.app_id]
        here.lark.fault("other_chat", "reply", times=1)
        here.lark.say(here.chat, "lin", QUESTION, mention=mention, reply_to=root, in_thread=True)
        await here.settled(1)
        here.lark.fault("reset_before", "reply", times=1)
        here.lark.say(here.chat, "mei", QUESTION, mention=mention, reply_to=root, in_thread=True)
        newest, _ = await here.settled(2)
        assert len(here.lark.visible(here.chat, by_app=True)) == 1
        assert newest["delivery"]["status"] != "delivered"


async def test_an_export_holds_what_people_said(tmp_path: Path) -> None:
    """docs/operators.md: "no message, no answer, no id of Lark's". Nor does retention ever forget these words."""
    async with world(tmp_path, returns=SOON) as here:
        peer = await here.add_peer("payroll", "salary review and dismissal letters")
        here.ask("please prepare the salary and dismissal papers for Bob")
        item = await peer.next()
        path, revision = f"/api/v1/peer/requests/{item['request_id']}", item["revision"]
        for step, body in (
            ("presented", {"turn": None}),
            ("assessment", {"assessment": "accepted"}),
            ("progress", {"text": "Bob's papers are half done"}),
            ("result", {"outcome": "resolved", "text": "done"}),
        ):
            answer = await peer.write(f"{path}/{step}", {"revision": revision, **body})
            assert answer.is_success, answer.text
        await here.settled(1)
        await peer.http.aclose()
        output = tmp_path / "export.jsonl"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "gateway", "--config", str(here.gateway.settings.config),
            "inbox", "export", "--output", str(output),
        )  # fmt: skip
        assert await process.wait() == 0
        exported = output.read_text(encoding="utf-8")
        assert [word for word in ("salary", "dismissal", "Bob") if word in exported] == []
