"""What was tried against the promises and once succeeded: a false proof, a leak, a stall."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.world import world

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

SAME = "where is the class Engine defined?"


@pytest.mark.parametrize("order", ["first lost", "second lost"])
async def test_one_message_proves_neither_of_two_equal_answers(tmp_path: Path, order: str) -> None:
    """History cannot be read until both are unsure: the answer that never arrived is not called delivered."""
    async with world(tmp_path, returns={"settle_s": 2, "retry_first_s": 0.3, "retry_max_s": 1}) as here:
        here.lark.forbid_history(chat=here.chat)
        root = here.lark.say(here.chat, "lin", "a topic")
        kinds = ("reset_before", "drop_after") if order == "first lost" else ("drop_after", "reset_before")
        for number, (kind, who) in enumerate(zip(kinds, ("lin", "mei"), strict=True), start=1):
            here.lark.fault(kind, "reply", times=1)
            here.lark.say(here.chat, who, SAME, mention=[here.app.app_id], reply_to=root, in_thread=True)
            await here.lark.wait_for(lambda number=number: len(here.lark.sends(here.chat)) == number, 20, "send")
        await here.inbox_until(lambda items: all(item["delivery"]["attempts"] == 1 for item in items))
        last = here.lark.sends(here.chat)[-1].at
        await here.lark.wait_for(lambda: here.lark.requests("list", chat=here.chat), 20, "a search")
        here.lark.advance(max(0, 3 - (here.lark.clock.now() - last) / 1000))
        here.lark.forbid_history(chat=here.chat, forbidden=False)
        newest, oldest = await here.settled(2)
        lost = oldest if order == "first lost" else newest
        assert lost["delivery"]["status"] != "delivered"
        assert len([seen for seen in here.lark.visible(here.chat, by_app=True) if not seen.recalled]) == 1


@pytest.mark.parametrize("fault", ["http_500", "html_502", "error"])
async def test_nothing_is_said_where_outsiders_may_read(tmp_path: Path, fault: str) -> None:
    """External chats are open only by an owner's grant; while nobody knows whether a chat is one, nothing is said."""
    async with world(tmp_path, returns={"http_timeout_s": 2}) as here:
        chat = here.lark.create_chat("with outsiders", ["lin"], [here.app.app_id], external=True)
        here.lark.fault(fault, "chat", times=None, code=99991672)
        here.lark.say(chat, "lin", SAME, mention=[here.app.app_id])
        await here.lark.wait_request("chat", 2, timeout_s=30)
        (item,) = await here.inbox_until(lambda items: items)
        async with here.gateway.operator() as http:

            async def waits() -> bool:
                shown = (await http.get(f"/api/v1/inbox/{item['request_id']}")).json()
                return any(fact["fact"] == "turn_waits" for fact in shown["timeline"])

            while not await waits():
                await here.lark.wait_request("chat", len(here.lark.requests("chat")) + 1, timeout_s=30)
        assert here.lark.visible(chat, by_app=True) == []
        here.lark.clear_faults()
        await here.inbox_until(lambda items: items[0]["work"] == "cancelled")
        assert here.lark.visible(chat, by_app=True) == []
        assert here.lark.sends(chat) == []


async def test_words_of_a_private_question_stand_in_no_timeline(tmp_path: Path) -> None:
    async with world(tmp_path, app={"private": "open"}) as here:
        peer = await here.add_peer("payroll", "salary review and dismissal letters")
        private = here.lark.private_chat("lin", here.app)
        here.lark.say(private, "lin", "please prepare the dismissal and salary papers for Bob")
        item = await here.inbox_until(lambda items: items[0] if items and items[0]["receiver"] else None)
        async with here.gateway.operator() as http:
            shown = (await http.get(f"/api/v1/inbox/{item['request_id']}")).text
        await peer.http.aclose()
        assert item["question"] == "(private)"
        for word in ("dismissal", "salary", "Bob"):
            assert word not in shown


async def test_a_shared_peer_is_no_way_to_a_private_one(tmp_path: Path) -> None:
    """Who is no owner has no private profile, in a private chat neither: the private peer is unknown to the request."""
    async with world(tmp_path, app={"private": "open"}) as here:
        scribe, vault = await here.add_peer("scribe"), await here.add_peer("vault", audience="private")
        private = here.lark.private_chat("lin", here.app)
        here.lark.say(private, "lin", "ask scribe to tell me")
        parent = (await scribe.next())["request_id"]
        await scribe.write(f"/api/v1/peer/requests/{parent}/presented", {"revision": 1})
        handed, unknown = [
            await scribe.write("/api/v1/peer/requests", {"to": to, "parent": parent, "brief": {"purpose": "p"}})
            for to in ("vault", "nobody")
        ]
        await scribe.http.aclose()
        await vault.http.aclose()
        assert (handed.status_code, handed.text) == (unknown.status_code, unknown.text)
        assert handed.status_code == 404


async def test_a_message_that_is_readable_only_later_is_not_missing(tmp_path: Path) -> None:
    """Not found counts only after ``settle_s``, by its locator too."""
    async with world(tmp_path, returns={"settle_s": 10}) as here:
        here.lark.fault("hide", "reply", seconds=1.5)
        question = here.ask(SAME)
        (item,) = await here.settled()
        assert (item["delivery"]["status"], item["delivery"]["verification"]) == ("delivered", "direct")
        assert len(here.lark.replies(question)) == 1


async def test_the_threads_of_a_blocked_chat_leave_room_for_others(tmp_path: Path) -> None:
    async with world(tmp_path, returns={"http_timeout_s": 60}) as here:
        blocked = here.lark.create_chat("blocked", ["lin"], [here.app.app_id])
        here.lark.fault("hold_before", "get", chat=blocked, times=None)
        for number in range(10):
            root = here.lark.say(blocked, "lin", f"topic {number}")
            here.lark.say(blocked, "lin", SAME, mention=[here.app.app_id], reply_to=root, in_thread=True)
        await here.lark.wait_request("get", 3, chat=blocked, finished=False, timeout_s=20)
        question = here.ask(SAME)
        await here.lark.wait_for(lambda: here.lark.replies(question), 30, "an answer")  # well before any time limit
        here.lark.clear_faults()


async def test_hostile_words_stall_nobody(tmp_path: Path) -> None:
    """While questions made to be costly are worked on, another's event gets its 200 the first time Lark pushes it."""
    async with world(tmp_path) as here:
        for number in range(8):
            chat = here.lark.create_chat(f"c{number}", ["lin"], [here.app.app_id])
            here.lark.say(chat, "lin", "让x " * 2000, mention=[here.app.app_id])
        question = here.ask(SAME)
        (push,) = here.lark.pushes(message_id=question.message_id)
        await here.lark.wait_for(lambda: push.attempts, 20, "an attempt")
        await here.lark.wait_pushed(push, timeout_s=20)
        assert (push.state, len(push.attempts)) == ("delivered", 1)  # Lark gives up on an attempt after 3 s
        items = await here.settled(9)
        assert [item for item in items if item["work"] == "open"] == []
