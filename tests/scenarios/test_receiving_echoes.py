"""Our own messages come back as events, in three shapes. None of them is a question."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, update

from manager.decisions.inbound import MessageReceived, Sender, SenderKind
from manager.ids import OpenId
from manager.ledger import tables
from manager.service.receiving import Acceptance
from returns.ids import MessageId, Millis, ThreadId
from returns.ledger import tables as returned
from returns.ledger.wakeups import RETURNS_SETTLED, announce
from tests.support.turns import ANNA, APP, GROUP, NOON, OWNER, STEWARD, TENANT, World, message, private, world

THREAD = ThreadId("omt_1")
ECHO = MessageId("om_echo")


def echo(**changes: object) -> MessageReceived:
    return message("answer to where is main?", **({"thread_id": THREAD, "message_id": ECHO} | changes))


@asynccontextmanager
async def answered(folder: Path) -> AsyncIterator[World]:
    """A thread in which the steward's answer is on its way and its fate not known."""
    async with world(folder, forged=True) as it:
        async with it.running():
            await it.accept(message(thread_id=THREAD))
            await it.until_idle(1)
        await move(it, "sending", "verify")
        yield it


async def move(it: World, state: str, lane: str | None, found: str | None = None) -> None:
    def settle(connection: Connection) -> None:
        parts = returned.parts
        connection.execute(update(parts).values(state=state, lane=lane))
        if found is not None:
            part = connection.execute(parts.select()).first()
            assert part is not None
            connection.execute(
                insert(returned.part_locators).values(
                    part_id=part.part_id, app=APP, message_id=found, chat_id=GROUP, source="direct", at=NOON
                )
            )
        announce(connection, RETURNS_SETTLED)

    await it.transactions.run(settle)


async def states(it: World) -> list[tuple[str, str | None]]:
    return [(row["state"], row["reason"]) for row in await it.rows(tables.events)][1:]


@pytest.mark.parametrize(
    ("sender", "why"),
    [
        (Sender(OpenId("cli_1"), SenderKind.BOT, TENANT), "bot"),
        (Sender(STEWARD, SenderKind.USER, TENANT), "own"),
    ],
)
async def test_an_echo_that_says_whose_it_is(tmp_path: Path, sender: Sender, why: str) -> None:
    async with answered(tmp_path) as it:
        assert await it.accept(echo(sender=sender)) is Acceptance.IGNORED
        assert await states(it) == [("ignored", why)]


async def test_an_echo_under_a_persons_name_is_held_until_it_is_known(tmp_path: Path) -> None:
    async with answered(tmp_path) as it, it.running(held=True):
        assert await it.accept(echo(sender_id=ANNA)) is Acceptance.HELD
        assert await it.accept(echo(sender_id=ANNA)) is Acceptance.DUPLICATE
        await move(it, "delivered", None, found=ECHO)
        await it.until(lambda: _released(it))
        assert await states(it) == [("ignored", "own")]
        assert len(await it.rows(tables.turns)) == 1
        assert await it.rows(tables.event_bodies) == []


async def test_the_same_words_of_a_person_are_answered_once_ours_are_settled(tmp_path: Path) -> None:
    async with answered(tmp_path) as it, it.running(held=True):
        quoting = echo(sender_id=ANNA, message_id=MessageId("om_quote"))
        assert await it.accept(quoting) is Acceptance.HELD
        await move(it, "delivered", None, found=ECHO)
        await it.until_idle(2)
        await it.until(lambda: _released(it))
        assert await states(it) == [("accepted", None)]
        assert it.runtime.questions[-1] == "answer to where is main?"


async def test_an_echo_of_a_message_that_is_known_already(tmp_path: Path) -> None:
    async with answered(tmp_path) as it:
        await move(it, "delivered", None, found=ECHO)
        assert await it.accept(echo(sender_id=ANNA)) is Acceptance.IGNORED
        assert await states(it) == [("ignored", "own")]


async def test_other_words_are_not_held(tmp_path: Path) -> None:
    async with answered(tmp_path) as it:
        assert await it.accept(message("thanks!", thread_id=THREAD)) is Acceptance.NEW


async def test_without_its_own_id_everything_waits_and_nothing_is_lost(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running(held=True):
        it.reader.ids[APP] = None
        own = message("@_user_1 who am I?", sender_id=STEWARD)
        for each in (message("@_user_1 one"), own, message("nobody"), private("two", sender=OWNER)):
            assert await it.accept(each) is Acceptance.HELD
        it.reader.ids[APP] = STEWARD
        await it.wake()
        await it.until(lambda: _released(it))
        await it.until_idle(2)
        assert sorted(it.runtime.questions) == ["one", "two"]
        assert [row["state"] for row in await it.rows(tables.events)] == [
            "accepted",
            "ignored",
            "ignored",
            "accepted",
        ]


async def test_what_was_held_for_long_is_late_by_when_it_came(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        it.reader.ids[APP] = None
        await it.accept(message("@_user_1 in time"))
        await it.accept(message("@_user_1 too late", created_at=Millis(NOON - 3_600_000)))
        it.clock.advance(3_600_000)
        it.reader.ids[APP] = STEWARD
        async with it.running(held=True):
            await it.until_idle(2)
        assert [row["state"] for row in await it.rows(tables.events)] == ["accepted", "late"]


async def test_an_own_id_that_does_not_come_does_not_keep_the_sender_waiting(tmp_path: Path) -> None:
    async with world(tmp_path) as it:

        async def hang(app: object) -> OpenId | None:
            raise TimeoutError

        it.reader.own_id = hang
        assert await it.accept(message()) is Acceptance.HELD


async def _released(it: World) -> bool:
    return all(row["state"] != "held" for row in await it.rows(tables.events))
