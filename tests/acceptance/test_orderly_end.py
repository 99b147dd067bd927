"""SIGTERM in the middle of sends: those under way end, no other begins, and no routine restart costs a person."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from providers.lark_double.model import Message, UuidRepeat
from tests.support.gateways import until
from tests.support.world import PERSON, World, world

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

QUESTION = "where is the class Engine defined?"
ENDS = "The gateway ends"
CHATS = 6


@asynccontextmanager
async def ending(here: World, times: int = 1) -> AsyncIterator[asyncio.Task[int]]:
    """Inside, the process is told to end and has heard it; at the end it is over."""
    stopping = asyncio.create_task(here.gateway.stop())
    await until(lambda: here.gateway.output().count(ENDS) >= times)
    yield stopping
    assert await stopping == 0


def ask(here: World, chats: int = CHATS) -> list[Message]:
    made = [here.lark.create_chat(f"c{number}", [PERSON], [here.app.app_id]) for number in range(chats)]
    return [here.lark.say(chat, PERSON, QUESTION, mention=[here.app.app_id]) for chat in made]


async def all_direct(here: World, asked: list[Message]) -> None:
    """Each is delivered, as its send's own answer said, and is there once."""
    items = await here.settled(len(asked))
    shown = {(item["delivery"]["status"], item["delivery"]["verification"]) for item in items}
    assert (len(items), shown) == (len(asked), {("delivered", "direct")})
    assert [len(here.lark.replies(each)) for each in asked] == [1] * len(asked)


async def test_sends_under_way_end_and_no_other_begins(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.lark.knobs.uuid_repeat = UuidRepeat.IGNORED
        slow = here.lark.fault("hold_before", "reply", times=3)
        asked = ask(here)
        await here.lark.wait_held(slow.fault_id, 3, timeout_s=20)
        async with ending(here):
            late = here.ask(QUESTION)  # the doors are open: it is stored, and answered by whoever comes next
            pushes = here.lark.pushes(message_id=late.message_id)
            await here.lark.wait_for(lambda: pushes[0].state == "delivered", 20, "200")
            here.lark.release(slow)
        assert here.lark.replies(late) == []
        await here.gateway.start()
        await all_direct(here, [*asked, late])


async def test_again_and_again(tmp_path: Path) -> None:
    """Lark is slow, and the process is replaced while answers stream out."""
    async with world(tmp_path) as here:
        here.lark.knobs.uuid_repeat = UuidRepeat.IGNORED
        here.lark.knobs.push_timeout_s, here.lark.knobs.repush_after_s = 1.5, (0.3,) * 100
        here.lark.fault("delay_before", "reply", times=None, seconds=0.3)
        asked: list[Message] = []
        for times in range(1, 5):
            seen = len(here.lark.requests("reply"))
            asked += ask(here)
            await here.lark.wait_for(lambda seen=seen: len(here.lark.requests("reply")) > seen, 20, "a send")
            async with ending(here, times):
                pass
            await here.gateway.start()
        await all_direct(here, asked)


async def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    async with world(tmp_path, returns={"http_timeout_s": 60}) as here:
        slow = here.lark.fault("hold_after", "reply")
        question = here.ask(QUESTION)
        await here.lark.wait_held(slow.fault_id, timeout_s=20)
        async with ending(here):
            await here.gateway.stop(signal.SIGINT)
        here.lark.release(slow)
        await here.gateway.start()
        (item,) = await here.settled()
        assert (item["delivery"]["status"], item["delivery"]["verification"]) == ("delivered", "reconciled")
        assert len(here.lark.replies(question)) == 1


async def test_a_send_that_hangs_holds_the_end_up_no_longer_than_its_time_limit(tmp_path: Path) -> None:
    """What it came to is recorded before the process ends."""
    async with world(tmp_path, returns={"http_timeout_s": 1}) as here:
        hangs = here.lark.fault("hold_after", "reply")
        here.ask(QUESTION)
        await here.lark.wait_held(hangs.fault_id, timeout_s=20)
        async with ending(here):
            pass
        here.lark.release(hangs)
        await here.gateway.start()
        (item,) = await here.settled()
        assert (item["delivery"]["status"], item["delivery"]["verification"]) == ("delivered", "reconciled")
        async with here.gateway.operator() as http:
            timeline = (await http.get(f"/api/v1/inbox/{item['request_id']}")).json()["timeline"]
        (reason,) = [fact["detail"]["reason"] for fact in timeline if fact["fact"] == "unknown"]
        assert reason != "lease_lost"
