"""Cells of the fault matrix through the real process: one chat a fault, one kill for all of them at one moment."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from providers.lark_double.faults import FaultKind
from providers.lark_double.journal import Entry
from providers.lark_double.model import Chat, Message, UuidRepeat
from providers.lark_double.server import LarkDouble
from tests.soak.faults import ELSEWHERE, HTTP_TIMEOUT_S, SENDS, SLOW, Trouble, elsewhere
from tests.soak.outcomes import How, Moment, Outcome
from tests.soak.waiting import until
from tests.support.world import FINAL, World, world

SETTINGS = {
    "readback_delay_s": 0.4,
    "settle_s": 2.5,
    "give_up_after_s": 12,
    "retry_first_s": 0.2,
    "retry_max_s": 1,
}
QUESTION = "where is the class Engine defined?"
PATIENT_S = 60
"""What the gateway waits for Lark where no fault is about that."""
WITHIN_S = 90.0


class TooSlow(Exception):
    """The machine was too busy to catch the moment."""


@dataclass
class Case:
    """A fault in a chat of its own."""

    trouble: Trouble
    chat: Chat
    question: Message | None = None


async def process_cells(folder: Path, moment: Moment, troubles: Sequence[Trouble]) -> dict[str, Outcome]:
    """How the answer to a question ends under each fault when the process is killed at ``moment``.

    The moment must come under each of them.
    """
    steward = {"max_parallel_turns": 64}
    waits_s = HTTP_TIMEOUT_S if any(each.name in SLOW for each in troubles) else PATIENT_S
    async with world(folder, returns={**SETTINGS, "http_timeout_s": waits_s}, steward=steward) as here:
        lark = here.lark
        lark.knobs.uuid_repeat = UuidRepeat.IGNORED  # Lark forgives nothing: sent twice is seen twice
        other = lark.create_chat(ELSEWHERE, ["lin"], [here.app])
        lark.say(other, "lin", "something else")
        cases = [Case(each, lark.create_chat(each.name, ["lin"], [here.app])) for each in troubles]
        for case in cases:
            case.trouble.arm(lark, case.chat)
            _hold(lark, case, moment)
        async with asyncio.TaskGroup() as group:
            watching = [group.create_task(_when_there(lark, case)) for case in cases if case.trouble.when_there]
            for case in cases:
                case.question = lark.say(case.chat, "lin", QUESTION, mention=[here.app.app_id])
            if moment is not Moment.NEVER:
                await _killed(here, cases, moment, waits_s)
            found = {case.trouble.name: await _outcome(here, case) for case in cases}
            for task in watching:
                task.cancel()
    return found


def _hold(lark: LarkDouble, case: Case, moment: Moment) -> None:
    chat = case.chat
    if moment is Moment.BEFORE_ATTEMPT:
        lark.fault(FaultKind.HOLD_BEFORE, "get", chat=chat)  # the turn reads its question again
    elif moment in (Moment.AFTER_BYTES, Moment.BEFORE_RECORDED):
        lark.fault(FaultKind.HOLD_BEFORE, SENDS, chat=chat)
    elif moment is Moment.AFTER_ACTING:
        lark.fault(FaultKind.HOLD_AFTER, SENDS, chat=chat, times=None)
    elif moment in (Moment.BEFORE_READ, Moment.BEFORE_PROOF):
        if case.trouble.read_elsewhere:
            lark.fault(FaultKind.HOLD_BEFORE, "get", chat=elsewhere(lark))
        lark.fault(FaultKind.HOLD_BEFORE, "get", chat=chat, skip=1)
        lark.fault(FaultKind.HOLD_BEFORE, "list", chat=chat)


async def _when_there(lark: LarkDouble, case: Case) -> None:
    (message, *_) = await lark.wait_visible(case.chat, timeout_s=WITHIN_S)
    assert case.trouble.when_there is not None
    case.trouble.when_there(lark, case.chat, message)


async def _killed(here: World, cases: Sequence[Case], moment: Moment, waits_s: float) -> None:
    """Kill when each case is at the moment, and start again."""
    lark = here.lark

    def at_the_moment() -> list[Entry]:
        found = [[entry for entry in _watched(lark, case, moment) if entry.status is None] for case in cases]
        return [entries[0] for entries in found] if all(found) else []

    entries = await lark.wait_for(at_the_moment, WITHIN_S, moment.value)
    if moment in (Moment.BEFORE_RECORDED, Moment.BEFORE_PROOF):
        await _killed_before_it_is_durable(here, entries)
    else:
        await here.gateway.kill()
        held_ms = max(lark.clock.now() - entry.at for entry in entries)
        if held_ms >= waits_s * 1000:
            raise TooSlow(f"killed {held_ms} ms after the first request: the gateway had given up waiting")
    await _finished(lark, entries)
    await here.gateway.start()


def _watched(lark: LarkDouble, case: Case, moment: Moment) -> list[Entry]:
    """The requests of a chat that are at the moment while they have no answer."""
    if moment is Moment.BEFORE_ATTEMPT:
        return lark.requests("get", chat=case.chat)[:1]
    if moment in (Moment.BEFORE_READ, Moment.BEFORE_PROOF):
        other = lark.requests("get", chat=elsewhere(lark)) if case.trouble.read_elsewhere else []
        return [*other, *lark.requests("get", chat=case.chat)[1:], *lark.requests("list", chat=case.chat)]
    if moment is Moment.AFTER_ACTING:
        return lark.sends(case.chat, committed=True)
    return lark.sends(case.chat)


async def _killed_before_it_is_durable(here: World, entries: Sequence[Entry]) -> None:
    """Nobody can write to the database while Lark answers; then the process is killed."""
    with closing(sqlite3.connect(here.gateway.settings.data_dir / "steward.db", timeout=5)) as database:
        database.execute("BEGIN IMMEDIATE")
        await _finished(here.lark, entries)
        await asyncio.sleep(0.2)  # for the answer to arrive; whether it did makes no difference to what is durable
        await here.gateway.kill()
        database.rollback()


async def _finished(lark: LarkDouble, entries: Sequence[Entry]) -> None:
    """Let go of what is held, also of what comes to the hold only now, until every request was answered."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            for fault in lark.faults.armed.values():
                if fault.kind in (FaultKind.HOLD_BEFORE, FaultKind.HOLD_AFTER):
                    fault.left = 0
                    lark.release(fault)
            if all(entry.status is not None for entry in entries):
                return
            await asyncio.sleep(0.02)


async def _by_chat(here: World, http: Any) -> dict[str, dict[str, Any]]:
    """The items by the name of the chat of their question: requests are found by when they were asked."""
    answer = await http.get("/api/v1/inbox", params={"limit": 100})
    answer.raise_for_status()
    database = here.gateway.settings.data_dir / "steward.db"
    with closing(sqlite3.connect(database, timeout=5)) as connection:
        chats = dict(connection.execute("SELECT request_id, chat_id FROM question_routes"))
    names = {chat.chat_id: chat.name for chat in here.lark.world.chats.values()}
    return {names[chats[item["request_id"]]]: item for item in answer.json()["items"]}


def _over(item: dict[str, Any]) -> bool:
    return item["delivery"]["status"] in FINAL or item["needs_operator"]


async def _outcome(here: World, case: Case) -> Outcome:
    """The case's item once it is over, held against what Lark has."""

    async with here.gateway.operator() as http:

        async def over() -> dict[str, Any] | None:
            item = (await _by_chat(here, http)).get(case.chat.name)
            return item if item is not None and _over(item) else None

        item = await until(over, WITHIN_S)
    assert item is not None
    delivery = item["delivery"]
    return Outcome(
        delivery["status"],
        delivery["error"],
        delivery["verification"],
        item["needs_operator"],
        len(here.lark.sends(case.chat, committed=True)),
        len(here.lark.sends(case.chat)),
        How.PROCESS.value,
    )
