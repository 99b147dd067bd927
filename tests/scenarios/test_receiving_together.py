"""Events that are taken in one go lead to what each of them leads to after the other."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection

from manager.decisions.inbound import Inbound, MessageReceived
from manager.ledger import tables, turns
from manager.service.receiving import Acceptance
from returns.ids import ChatId, MessageId, Millis, ThreadId
from tests.support.turns import (
    BEN,
    GROUP,
    NOON,
    OTHER_APP,
    World,
    bot_added,
    bot_removed,
    envelope,
    message,
    misshapen,
    private,
    recall,
    world,
)

OTHER_GROUP = ChatId("oc_other")


def events() -> list[Inbound]:
    """One of each, and what depends on another."""
    question = message()
    again = replace(question, envelope=envelope("im.message.receive_v1", question.created_at))
    under_another_id = replace(again, envelope=envelope("im.message.receive_v1"), message_id=MessageId("om_copy"))
    other_body = replace(question, envelope=replace(question.envelope, body_digest="0" * 64))
    recalled = message("@_user_1 who wrote it?", chat_id=OTHER_GROUP)
    first_recalled, then_asked = recall(late := message("@_user_1 why?")), late
    return [
        question,
        again,
        under_another_id,
        other_body,
        other_body,
        message("@_user_1 Correction: bar", parent_id=question.message_id),
        recalled,
        recall(recalled),
        first_recalled,
        then_asked,
        message("@_user_1 in a thread", thread_id=ThreadId("omt_1")),
        message("@_user_1 in the same thread", thread_id=ThreadId("omt_1")),
        message("@_user_1 in another chat", chat_id=OTHER_GROUP),
        message("@_user_1 to another app", app=OTHER_APP),
        message("said to nobody"),
        message("@_user_1 late", created_at=Millis(NOON - 3_600_000)),
        private(),
        private(sender=BEN),
        private("once more", sender=BEN),
        misshapen(),
        bot_added(ChatId("oc_new")),
        message("@_user_1 hello", chat_id=ChatId("oc_new")),
        bot_removed(OTHER_GROUP, NOON + 10_000_000),
        message("@_user_1 still there?", chat_id=OTHER_GROUP),
    ]


@asynccontextmanager
async def busy(it: World) -> AsyncIterator[None]:
    """The writer is busy until the end of the block: what was submitted in it is taken together."""
    begun, release = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work(_connection: Connection) -> None:
        loop.call_soon_threadsafe(begun.set)
        release.wait()

    held = asyncio.ensure_future(it.transactions.run(work))
    await begun.wait()
    try:
        yield
    finally:
        release.set()
        await held


async def together(it: World, arriving: Sequence[Inbound]) -> list[Acceptance | BaseException]:
    async with busy(it):
        tasks = [asyncio.ensure_future(it.accept(each)) for each in arriving]
        for _ in range(20):
            await asyncio.sleep(0)
    return await asyncio.gather(*tasks, return_exceptions=True)


async def everything(it: World) -> dict[str, list[dict[str, object]]]:
    found = {table.name: await it.rows(table) for table in tables.metadata.sorted_tables}
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


@pytest.mark.parametrize("seed", range(8))
async def test_the_same_as_one_after_the_other(tmp_path: Path, seed: int) -> None:
    arriving = events()
    if seed:
        random.Random(seed).shuffle(arriving)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    async with world(tmp_path / "a") as one, world(tmp_path / "b") as other:
        calls = 0
        take_all = one.receiving._take_all

        def counted(connection: Connection, arrivals: Sequence[object]) -> list[Acceptance]:
            nonlocal calls
            calls += 1
            return take_all(connection, arrivals)

        one.receiving._take_all = counted
        assert await together(one, arriving) == [await other.accept(each) for each in arriving]
        assert calls == 1
        assert await everything(one) == await everything(other)


async def test_one_that_fails_takes_nobody_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(tmp_path) as it:
        good, bad, other = message(), message("@_user_1 bad"), message(chat_id=OTHER_GROUP)
        queue = turns.queue

        def broken(connection: Connection, new: turns.NewTurn, now: Millis) -> None:
            if new.position == bad.created_at:
                raise ZeroDivisionError
            queue(connection, new, now)

        with monkeypatch.context() as patch:
            patch.setattr(turns, "queue", broken)
            first, second, third = await together(it, [good, bad, other])
        assert (first, third) == (Acceptance.NEW, Acceptance.NEW)
        assert isinstance(second, ZeroDivisionError)
        assert {row["chat_id"] for row in await it.rows(tables.question_routes)} == {GROUP, OTHER_GROUP}
        assert await it.accept(bad) is Acceptance.NEW


async def test_a_row_that_the_database_refuses_is_of_its_own_event(tmp_path: Path) -> None:
    """Deferred rows are written at the end of all of them, and at the end of each when they are performed apart."""
    async with world(tmp_path) as it:
        new_id = it.ids
        it.ids = lambda prefix: "u_same" if prefix == "u" else new_id(prefix)
        first, second = await together(it, [message(), message("@_user_1 bad")])
        assert first is Acceptance.NEW
        assert "IntegrityError" in {each.__name__ for each in type(second).__mro__}
        assert len(await it.rows(tables.turns)) == len(await it.rows(tables.events)) == 1


async def test_many_chats_at_once(tmp_path: Path) -> None:
    """More than are read with one statement."""
    async with world(tmp_path) as it:
        chats = [ChatId(f"oc_{number}") for number in range(70)]
        for _ in range(2):
            asked: list[MessageReceived] = [message(chat_id=chat) for chat in chats]
            assert set(await together(it, asked)) == {Acceptance.NEW}
        assert len(await it.rows(tables.chats)) == len(await it.rows(tables.grants)) == 70
        rows = await it.rows(tables.turns)
        assert len({row["conversation_id"] for row in rows}) == 70
        assert sorted(row["event_seq"] for row in rows) == list(range(1, 141))
