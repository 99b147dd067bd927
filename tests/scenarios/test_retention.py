"""What is over and old is forgotten by small steps; what is pending, proves a delivery or stops a duplicate is not."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Table, func, insert, select, update

from gateway.inbox.asking import asking
from gateway.inbox.reading import Listing, list_requests, show_request
from manager.decisions.decision import Decline, Delegate
from manager.decisions.operators import OperatorRefused, Refusal, Resend
from manager.decisions.retention import DAY_MS, RetentionPolicy
from manager.ids import PeerId, RequestId
from manager.ledger import holdings, idempotency, requests, retention, revisions, tables
from manager.ledger.retention import FORGOTTEN
from manager.service.operators import Operators
from manager.service.receiving import Acceptance
from manager.service.retention import ROWS, Pruned, Retention
from providers.storage.sqlite import SqliteTransactions
from returns.ids import ChatId, MessageId, Millis
from returns.ledger import tables as way_back
from returns.ledger.echoes import owns_message
from returns.ledger.operators import stop_sending
from returns.ports import Transactions
from tests.support.databases import Database
from tests.support.handover import house
from tests.support.history import PEER, fill, filled, last_asked, request
from tests.support.returns import FakeAuthority
from tests.support.storage import migrated
from tests.support.turns import APP, Ids, ManualClock, World, message, misshapen

COUNT = 20
KEEP = RetentionPolicy()
LATER = KEEP.texts_ms + DAY_MS
"""After this much time everything of the history is old."""

TEXTS = (way_back.part_bodies, tables.messages)
PROOFS = (
    way_back.parts,
    way_back.part_locators,
    way_back.returns,
    way_back.return_routes,
    way_back.return_facts,
    way_back.answers,
    tables.event_keys,
    tables.requests,
    tables.revisions,
    tables.question_routes,
)


async def no_rest(_seconds: float) -> None:
    """Goes on at once."""
    await asyncio.sleep(0)


@dataclass
class Past:
    """A database in which ``COUNT`` questions were answered long ago."""

    transactions: Transactions
    clock: ManualClock
    policy: RetentionPolicy = KEEP

    async def run(self, rest: Callable[[float], Awaitable[None]] = no_rest) -> Pruned:
        return await Retention(self.transactions, self.clock, self.policy, rest).run()

    async def count(self, table: Table, **where: Any) -> int:
        query = select(func.count()).select_from(table)
        for name, value in where.items():
            query = query.where(table.c[name] == value)
        return await self.transactions.read(lambda c: c.execute(query).scalar_one())

    async def change(self, number: int, table: Table, **values: Any) -> None:
        """Change the rows of a question."""
        column = table.c.get("request_id", table.c.get("subject_id"))
        await self.transactions.run(lambda c: c.execute(update(table).where(column == request(number)).values(values)))

    async def kept(self, number: int) -> bool:
        """Whether all texts of a question are there; fails if only some are."""

        def look(connection: Connection) -> set[bool]:
            body = revisions.body(connection, request(number), 1)
            parts = select(way_back.part_bodies.c.part_id).join(
                way_back.parts, way_back.parts.c.part_id == way_back.part_bodies.c.part_id
            )
            said = select(tables.messages.c.seq).where(tables.messages.c.request_id == request(number))
            return {
                not body.pruned,
                bool(body.question),
                connection.execute(parts.where(way_back.parts.c.subject_id == request(number))).first() is not None,
                connection.execute(said).first() is not None,
            }

        (only,) = await self.transactions.read(look)
        return only


@asynccontextmanager
async def past(database: Database, **policy: int | None) -> AsyncIterator[Past]:
    with database.sync() as sync:
        sync.run(lambda connection: fill(connection, COUNT))
    async with database.transactions() as transactions:
        clock = ManualClock(last_asked(COUNT) + LATER)
        yield Past(transactions, clock, replace(KEEP, **policy))


async def test_what_is_over_and_old_is_forgotten_and_its_proofs_stay(database: Database) -> None:
    async with past(database) as home:
        before = [await home.count(table) for table in PROOFS]
        pruned = await home.run()
        assert (pruned.requests, pruned.texts) == (COUNT, COUNT * 4)  # a part, two messages, a revision
        assert [await home.count(table) for table in TEXTS] == [0, 0]
        assert [await home.count(table) for table in PROOFS] == before
        assert await home.count(tables.facts, fact=FORGOTTEN) == COUNT
        assert not await home.kept(1)
        assert await home.run() == Pruned()


SAID = {
    "routed": {"receiver": "payroll", "shared_words": 2, "words": "dismissal, salary"},
    "progress": {"receiver": "payroll", "characters": 9, "text": "Bob's salary"},
    "of_tomorrow": {"bytes": 3, "never_heard_of": "Bob"},
}
"""Facts that hold what was said; also one that nothing is known of."""
OPERATORS = {
    "operator_note": {"who": "kim", "text": "called Bob"},
    "cancelled": {"by": "operator", "reason": "Bob left"},
}


async def test_what_was_said_in_facts_and_by_peers_is_forgotten_and_operators_words_stay(database: Database) -> None:
    async with past(database) as home:
        words = {"accepted_scope": "a", "remaining": "b", "reason": "c", "resume_condition": "d", "owner": "Bob"}
        await home.change(3, tables.revisions, **words)
        at = last_asked(COUNT)
        rows = [
            {"request_id": request(3), "revision": 1, "at": at, "fact": fact, "detail": json.dumps(detail)}
            for fact, detail in ({**SAID, **OPERATORS}).items()
        ] * 60  # more than one step may forget
        await home.transactions.run(lambda c: c.execute(insert(tables.facts), rows))
        pruned = await home.run()
        assert pruned.texts == COUNT * 4 + len(SAID) * 60 + 1

        def look(connection: Connection) -> tuple[list[Any], Any]:
            told = select(tables.facts.c.fact, tables.facts.c.detail).where(tables.facts.c.request_id == request(3))
            revision = select(tables.revisions).where(tables.revisions.c.request_id == request(3))
            return connection.execute(told).all(), connection.execute(revision).mappings().one()

        facts, revision = await home.transactions.read(look)
        left = {fact: json.loads(detail) for fact, detail in facts if fact in {*SAID, *OPERATORS}}
        assert left == {
            "routed": {"receiver": "payroll", "shared_words": 2},
            "progress": {"receiver": "payroll", "characters": 9},
            "of_tomorrow": {"bytes": 3},
            **OPERATORS,
        }
        assert len(facts) == 4 + len(rows) + 1
        assert {revision[name] for name in words} == {None}
        assert await home.run() == Pruned()


async def test_events_go_but_their_keys_and_the_newest_stay(database: Database) -> None:
    async with past(database) as home:
        assert (await home.run()).events == COUNT - 1
        assert await home.count(tables.events) == 1
        world = World(home.transactions, clock=home.clock)
        assert await world.accept(message(chat_id=ChatId("oc_h1001"))) is Acceptance.NEW
        newest = await world.rows(tables.events)
        assert [row["seq"] for row in newest] == [COUNT, COUNT + 1]


async def test_a_copy_of_a_forgotten_event_is_still_a_copy(database: Database) -> None:
    async with past(database) as home:
        world = World(home.transactions, clock=home.clock)
        question, odd = message(chat_id=ChatId("oc_h1001")), misshapen()
        assert (await world.accept(question), await world.accept(odd)) == (Acceptance.NEW, Acceptance.PARKED)
        await home.transactions.run(lambda c: c.execute(update(tables.turns).values(pending=None, state="done")))
        home.clock.advance(LATER)
        assert await world.accept(message(chat_id=ChatId("oc_h1002"))) is Acceptance.NEW
        await home.run()
        assert await home.count(tables.event_bodies) == 0
        left = {row["event_id"] for row in await world.rows(tables.events)}
        assert not {question.envelope.event_id, odd.envelope.event_id} & left
        assert await world.accept(question) is Acceptance.DUPLICATE
        again = replace(question, envelope=replace(question.envelope, event_id="another"))
        assert await world.accept(again) is Acceptance.DUPLICATE
        assert await world.accept(odd) is Acceptance.DUPLICATE


async def test_zero_keeps_for_ever(database: Database) -> None:
    never = dict.fromkeys(("texts_ms", "unproved_ms", "events_ms", "set_aside_ms"))
    async with past(database, **never) as home:
        home.clock.advance(100 * LATER)
        assert await home.run() == Pruned()


async def test_what_is_too_young_is_kept(database: Database) -> None:
    async with past(database) as home:
        home.clock.value = Millis(last_asked(COUNT // 2) + KEEP.texts_ms)
        assert (await home.run()).requests == COUNT // 2
        assert [await home.kept(number) for number in (COUNT // 2, COUNT // 2 + 1)] == [False, True]


async def test_what_is_pending_is_never_touched(database: Database) -> None:
    async with past(database, unproved_ms=KEEP.texts_ms) as home:
        await home.change(1, tables.revisions, work="open")
        for number, state in enumerate(("queued", "sending", "retry_pending", "verification_required"), start=2):
            await home.change(number, way_back.parts, state=state)
        await home.change(6, tables.turns, pending=1, state="queued")
        await home.transactions.run(lambda c: c.execute(insert(tables.operator_commands).values(**command(7))))
        await home.change(8, tables.requests, parent_id=request(1), from_peer=PEER)
        await home.transactions.run(lambda c: _fact(c, 9, home.clock.now()))
        await home.change(10, way_back.return_facts, at=home.clock.now())
        home.clock.advance(DAY_MS)
        pruned = await home.run()
        assert [number for number in range(1, COUNT + 1) if await home.kept(number)] == list(range(1, 11))
        assert pruned.requests == COUNT - 10
        assert await home.count(tables.events, request_id=request(6)) == 1


def command(number: int) -> dict[str, object]:
    return {
        "command_id": "op_1",
        "request_id": request(number),
        "kind": "resend",
        "who": "someone",
        "pending": 1,
        "created_at": 1,
    }


def _fact(connection: Connection, number: int, at: int) -> None:
    row = {"request_id": request(number), "revision": 1, "at": at, "fact": "operator_note", "detail": "{}"}
    connection.execute(insert(tables.facts).values(**row))


async def test_what_waits_for_an_operator_is_kept_longer(database: Database) -> None:
    async with past(database) as home:
        for number in (1, 2, 3):
            await home.change(number, way_back.parts, state="explicit_unverified")
            await home.change(number, way_back.answers, status="explicit_unverified", needs_operator=True)
        await home.change(3, tables.revisions, work="cancelled")
        await home.run()
        assert [await home.kept(number) for number in (1, 2, 3)] == [True, True, False]
        home.clock.advance(KEEP.unproved_ms)
        await home.run()
        assert [await home.kept(number) for number in (1, 2, 3)] == [False] * 3


async def test_held_events_are_never_forgotten_and_those_set_aside_later(database: Database) -> None:
    async with past(database, events_ms=DAY_MS * 7, set_aside_ms=LATER * 2) as home:
        for number, state in enumerate(("held", "parked", "late", "alarm", "ignored"), start=1):
            await home.change(number, tables.events, state=state)
        await home.run()
        states = {row["state"] for row in await World(home.transactions).rows(tables.events)}
        assert states == {"held", "parked", "late", "alarm", "accepted"}  # and the newest
        home.clock.advance(LATER * 3)
        await home.run()
        states = {row["state"] for row in await World(home.transactions).rows(tables.events)}
        assert states == {"held", "accepted"}


async def test_what_is_forgotten_is_said_to_be(database: Database) -> None:
    async with past(database) as home:
        await home.run()

        def look(connection: Connection) -> tuple[Any, Any]:
            ask = asking(connection)
            return list_requests(ask, Listing("delivered"), None, 100).items, show_request(ask, request(2))

        items, shown = await home.transactions.read(look)
        assert {item["question"] for item in items} == {"(no longer kept)"}
        assert (shown["question"], shown["delivery"]["status"]) == ("(no longer kept)", "delivered")
        assert [fact["fact"] for fact in shown["timeline"]].count(FORGOTTEN) == 1
        held = await home.transactions.read(
            lambda c: holdings.page(c, PeerId(PEER), only_open=False, after=None, limit=5)
        )
        assert {each.purpose for each in held} == {"(no longer kept)"}


async def test_what_is_forgotten_is_not_sent_anew(database: Database) -> None:
    async with past(database) as home:
        await home.change(1, way_back.parts, state="undeliverable")
        await home.change(1, way_back.answers, status="undeliverable", needs_operator=True)
        home.clock.advance(KEEP.unproved_ms)
        await home.run()
        operators = Operators(FakeAuthority(), Ids(), 60_000)
        before = await home.count(way_back.returns)
        with pytest.raises(OperatorRefused) as caught:
            await home.transactions.run(
                lambda c: operators.carry_out(c, request(1), Resend("once more"), "someone", home.clock.now())
            )
        assert caught.value.refusal is Refusal.NO_LONGER_KEPT
        assert await home.count(way_back.returns) == before


async def test_a_correction_of_what_is_forgotten_stands_for_itself(database: Database) -> None:
    async with past(database) as home:
        await home.run()
        world = World(home.transactions, clock=home.clock)
        correction = message(
            "@_user_1 Correction: in the other branch",
            chat_id=ChatId("oc_h1001"),
            parent_id=MessageId("om_a1000000001"),
            created_at=home.clock.now(),
        )
        assert await world.accept(correction) is Acceptance.NEW
        view = await home.transactions.read(lambda c: requests.current(c, request(1)))
        assert view is not None
        assert view.revision == 2
        body = await home.transactions.read(lambda c: revisions.body(c, request(1), view.revision))
        assert "no longer kept" not in body.question
        assert not body.pruned
        assert any("no longer kept" in each for each in body.brief.omissions)
        assert (await home.run()).requests == 0  # it is open


async def test_a_corrected_request_is_forgotten_again_when_it_is_old_again(database: Database) -> None:
    async with past(database) as home:
        await home.run()
        view = await home.transactions.read(lambda c: requests.current(c, request(1)))
        route = await home.transactions.read(lambda c: requests.route_of(c, request(1), 1))
        assert view is not None
        assert route is not None
        body = await home.transactions.read(lambda c: revisions.body(c, request(1), 1))
        await home.transactions.run(
            lambda c: requests.open_revision(
                c, request(1), question="and now?", brief=body.brief, route=route, now=home.clock.now()
            )
        )
        home.clock.advance(LATER)
        assert (await home.run()).requests == 0
        await home.change(1, tables.revisions, work="declined")
        home.clock.advance(LATER)
        assert (await home.run()).requests == 1
        assert (await home.transactions.read(lambda c: revisions.body(c, request(1), 2))).pruned


async def test_a_revision_that_was_replaced_keeps_nothing(tmp_path: Path) -> None:
    """Its peer took up the next one and never wrote to it again, so that it stays open."""
    async with house(tmp_path) as home:
        peer = await home.peer("ada")
        asked = await home.handed("ada")
        await peer.accept(asked)
        await home.correct(asked, "And there?")
        await home.decide(asked, Delegate("ada", "And there?"))
        await peer.accept(asked, 2)

        async def is_open() -> bool:
            """Asked for what was made under it, as an answer that is still to be told would keep the request itself."""
            made = RequestId("r_made_under_it")
            return (await home.transactions.read(lambda c: retention.standing(c, made, 1, asked))).is_open

        assert await is_open()
        assert (await peer.post(asked, "result", revision=2, outcome="resolved", text="there")).status == 200
        assert not await is_open()


async def test_a_late_result_is_not_written_into_what_is_forgotten(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        peer = await home.peer("ada")
        asked = await home.handed("ada")
        await peer.accept(asked)
        await home.correct(asked, "And there?")
        home.clock.at += 1
        await home.decide(asked, Decline("no"))
        await home.transactions.run(lambda c: stop_sending(c, asked, home.clock.now()))
        home.clock.at += LATER
        assert (await Retention(home.transactions, home.clock, KEEP, no_rest).run()).requests == 1
        assert (await peer.post(asked, "result", outcome="resolved", text="there")).status == 409
        kept = await home.transactions.read(lambda c: revisions.body(c, asked, 1))
        assert (kept.pruned, kept.result) == (True, None)


async def test_our_own_messages_are_known_for_ever(database: Database) -> None:
    async with past(database) as home:
        await home.run()
        assert await home.transactions.read(lambda c: owns_message(c, APP, MessageId("om_a1000000001")))


async def test_idempotency_keys_go_when_their_time_is_over(database: Database) -> None:
    async with past(database) as home:
        for number in range(ROWS + 5):
            await home.transactions.run(
                lambda c, number=number: idempotency.claim(c, PEER, f"key-{number}", "d", home.clock.now())
            )
        assert (await home.run()).keys == 0
        home.clock.advance(8 * DAY_MS)
        assert (await home.run()).keys == ROWS + 5


async def test_between_any_two_steps_an_event_is_received(tmp_path: Path) -> None:
    path = migrated(tmp_path)
    filled(path, 600)
    async with SqliteTransactions(path) as transactions:
        watched = Watched(transactions)
        home = Past(watched, ManualClock(last_asked(600) + LATER))
        world = World(transactions, clock=home.clock)
        received: list[Acceptance] = []

        async def receive(_seconds: float) -> None:
            received.append(await world.accept(message(chat_id=ChatId("oc_h1001"))))

        pruned = await home.run(receive)
    assert pruned.texts == 2_400
    assert len(received) == len(watched.rows) > 2_400 / ROWS
    assert set(received) == {Acceptance.NEW}
    assert max(watched.rows) <= ROWS + MARKS


MARKS = 2 * ROWS
"""Beside the rows that it forgets, a step marks the request and records the fact."""


class Watched:
    """Notes how many rows each writing transaction changed. SQLite."""

    def __init__(self, transactions: Any) -> None:
        self._transactions = transactions
        self.rows: list[int] = []
        self.read = transactions.read
        self.subscribe = transactions.subscribe

    async def run(self, work: Callable[[Connection], Any]) -> Any:
        def noted(connection: Connection) -> Any:
            driver: Any = connection.connection.driver_connection
            before = driver.total_changes
            done = work(connection)
            self.rows.append(driver.total_changes - before)
            return done

        return await self._transactions.run(noted)


async def test_several_gateways_forget_together(database: Database) -> None:
    async with past(database) as home, database.transactions() as others:
        pruned = await asyncio.gather(*(Past(each, home.clock).run() for each in (home.transactions, others) * 2))
        assert sum(each.texts for each in pruned) == COUNT * 4
        assert await home.count(tables.facts, fact=FORGOTTEN) == COUNT
        assert [await home.count(table) for table in TEXTS] == [0, 0]


KILLED = """
import asyncio, sys
from pathlib import Path
from manager.decisions.retention import RetentionPolicy
from manager.service.retention import Retention
from providers.storage.sqlite import SqliteTransactions
from tests.support.turns import ManualClock

async def tell(_seconds):
    print("step", flush=True)

async def main():
    async with SqliteTransactions(Path(sys.argv[1])) as transactions:
        await Retention(transactions, ManualClock(int(sys.argv[2])), RetentionPolicy(), tell).run()

asyncio.run(main())
"""


@pytest.mark.parametrize("steps", [1, 4])
async def test_a_killed_run_is_gone_on_with(tmp_path: Path, steps: int) -> None:
    path = migrated(tmp_path)
    filled(path, 400)
    now = last_asked(400) + LATER
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, str(path), str(now), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    assert process.stdout is not None
    for _ in range(steps):
        assert await process.stdout.readline() == b"step\n"
    process.kill()
    await process.wait()
    async with SqliteTransactions(path) as transactions:
        home = Past(transactions, ManualClock(now))
        await home.run()
        assert await home.count(tables.facts, fact=FORGOTTEN) == 400
        assert [await home.count(table) for table in TEXTS] == [0, 0]
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)


ROOT = Path(__file__).parents[2]


async def test_the_file_takes_new_rows_into_the_place_of_the_old(tmp_path: Path) -> None:
    path = migrated(tmp_path)
    filled(path, 600)
    before = path.stat().st_size
    async with SqliteTransactions(path) as transactions:
        await Past(transactions, ManualClock(last_asked(600) + LATER)).run()
    with closing(sqlite3.connect(path)) as file:
        (free,) = file.execute("PRAGMA freelist_count").fetchone()
        (page,) = file.execute("PRAGMA page_size").fetchone()
    assert free * page > before / 12
    async with SqliteTransactions(path) as transactions:
        world = World(transactions)
        for _ in range(20):
            await asyncio.gather(*(world.accept(message(chat_id=ChatId(f"oc_{n}"))) for n in range(10)))
    assert path.stat().st_size <= before + 64 * page
