"""Every interleaving of a few workers over the real table and the real order of steps, breadth first.

A state is the database's rows, the provider and where each worker stands. From each state everything that can happen
next is tried: a worker takes its next effect, the provider deals with it in each way that the behaviour allows, a
worker is killed, the clock goes on to the next moment at which anything is due. States that differ only by when they
are reached are one. At every state the same four things must hold as in the simulation; in the end, from every state
that was reached, there must be a way to an end without any further fault.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from sqlalchemy import select

from returns.decisions import retry
from returns.decisions.policy import ReturnsPolicy
from returns.delivery import SETTLED
from returns.ids import AppName, ChatId, MessageId, Millis, ReturnId, SubjectId, ThreadId
from returns.ledger.operators import look_again
from returns.ledger.outbox import ReturnKind, enqueue, new_return
from returns.ledger.tables import metadata
from returns.ports import CommitUnknown, Ready, Refusal, Refused, Route, StorageUnavailable, Verdict
from returns.service.containing import Contained
from returns.service.pump import Pump
from tests.exploration.chat import QUESTION, SLOW_MS, Chat
from tests.exploration.lives import HouseDatabase
from tests.exploration.states import (
    Behaviour,
    Bounds,
    Happening,
    Report,
    Rows,
    Violation,
    World,
    all_can_end,
    hash_of,
    plain,
    sqlite_text,
    way,
    with_place,
)
from tests.exploration.worker import Gift, Pass, Place
from tests.support.returns import text

START = 1_700_000_000_000
POLICY = ReturnsPolicy(
    readback_delay_ms=1_000,
    settle_ms=4_000,
    give_up_after_ms=12_000,
    app_per_second=1_000_000,
    app_per_minute=1_000_000,
    chat_per_second=1_000_000,
    lease_ms=6_000,
    retry_first_ms=1_000,
    retry_max_ms=2_000,
)
LONG_AGO_MS = -20_000
"""Nothing differs between what is so long ago and what is longer ago: no delay of the policy is as long."""
APP = AppName("default")
CONSTANT = frozenset({"returns", "return_routes", "part_bodies", "return_facts"})
"""Tables in which nothing moves, and the timeline, which nobody goes by."""
FIRST = ("parts", "part_locators", "answers")
TABLES = tuple(metadata.tables[name] for name in (*FIRST, *sorted(metadata.tables.keys() - {*CONSTANT, *FIRST})))
"""What a state has of the database."""
UNTIMED = frozenset({"updated_at", "first_attempt_at", "delivered_at", "at"})
"""Columns that nothing goes by."""
SETTLED_STATES = frozenset(state.value for state in SETTLED)


class Explorer:
    """Explores one behaviour within bounds. One at a time: it owns its database."""

    def __init__(
        self, behaviour: Behaviour, bounds: Bounds, *, thread: bool = False, faults: int | None = None
    ) -> None:
        self.behaviour, self.bounds = behaviour, bounds
        self._faults = behaviour.faults if faults is None else faults
        self._policy = replace(POLICY, recalled_question="answer_in_chat") if behaviour.in_chat else POLICY
        self.database = HouseDatabase()
        self.now = START
        self.database.driver.execute("PRAGMA foreign_keys=OFF")  # a state is put back table by table
        self._revoked = False
        self._gated = frozenset({"prepare"}) if behaviour.prepare else frozenset[str]()
        self._columns = {table.name: [column.name for column in table.columns] for table in TABLES}
        self._times = {
            name: tuple(number for number, column in enumerate(columns) if column in UNTIMED)
            for name, columns in self._columns.items()
        }
        self._sql = {
            table.name: tuple(sqlite_text(each) for each in (select(table), table.delete(), table.insert()))
            for table in TABLES
        }
        self._at = {name: self._columns["parts"].index(name) for name in self._columns["parts"]}
        self._in_database: tuple[Rows, ...] | None = None
        route = Route(APP, ChatId("oc_1"), ThreadId("omt_1") if thread else None, MessageId("om_q"))
        new = new_return(
            return_id=ReturnId("t_1"),
            subject=SubjectId("r_1"),
            revision=1,
            kind=ReturnKind.ANSWER,
            route=route,
            documents=(text("the answer"),),
        )
        self.database.perform(lambda c: enqueue(c, new, Millis(START)))
        self.report = Report(behaviour.name)

    # The walk.

    def explore(self, most_states: int = 1_000_000) -> Report:
        """Reach every state. Raises ``Violation`` with the way that leads to it."""
        jitter, retry.JITTER = retry.JITTER, 0.0  # so that moments coincide
        try:
            return self._explore(most_states)
        finally:
            retry.JITTER = jitter

    def _explore(self, most_states: int) -> Report:
        start = World(
            START,
            self._rows(),
            Chat(asked_at=START),
            (None,) * self.bounds.workers,
            self.bounds.crashes,
            self.bounds.pauses,
            self._faults,
            self.behaviour.looks,
        )
        key = self._key(start)
        ways: dict[Any, tuple[Any, str]] = {key: (None, "start")}
        healthy: dict[Any, list[Any]] = {}
        ended: set[Any] = set()
        waiting = deque([(key, start)])
        while waiting:
            key, world = waiting.popleft()
            if self._settled(world):
                ended.add(key)
                self.report.ends[self._end(world)] += 1
                self.report.ways.setdefault(self._end(world), way(ways, key))
            for label, fault, step in self._next(world):
                try:
                    after = step()
                    self._check(world, after)
                except Violation as violation:
                    raise Violation(violation.oracle, f"{violation}\n{way(ways, key)}\n   {label}") from None
                self.report.transitions += 1
                found = self._key(after)
                if not fault:
                    healthy.setdefault(found, []).append(key)
                if found not in ways:
                    ways[found] = (key, label)
                    waiting.append((found, after))
                    if len(ways) > most_states:
                        raise OverflowError(f"{self.behaviour.name}: more than {most_states} states")
        self.report.states = len(ways)
        all_can_end(ways, healthy, ended)
        return self.report

    def _next(self, world: World) -> Iterator[Happening]:
        """All that can happen: what it is called, whether it is a fault, and what comes of it."""
        idle = world.places.index(None) if None in world.places and self._due(world) else None
        if idle is not None:
            yield f"{idle} begins", False, lambda: self._begin(world, idle)
        moves = [each for number in range(len(world.places)) for each in self._gates(world, number)]
        yield from moves
        for number, place in enumerate(world.places):
            if place is not None:
                yield from self._adversity(world, number, place)
        yield from self._from_outside(world)
        later = self._later(world)
        if later is not None and idle is None and not moves:
            yield f"+{later - world.now} ms", False, lambda: replace(world, now=later)

    def _adversity(self, world: World, number: int, place: Place) -> Iterator[Happening]:
        if place.paused:
            yield f"{number} goes on", False, lambda: self._paused(world, number, paused=False)
        elif world.pauses:
            yield f"{number} is paused", True, lambda: self._paused(world, number, paused=True)
        if world.crashes:
            yield f"{number} is killed", True, lambda: self._kill(world, number)

    def _from_outside(self, world: World) -> Iterator[Happening]:
        messages, state = world.chat.messages, self._part(world, "state")
        if self.behaviour.recalls and world.faults and messages and not messages[0].recalled:
            yield "recalled", True, lambda: replace(world, chat=world.chat.recall(), faults=world.faults - 1)
        if self.behaviour.begins == "on the question" and world.chat.thread is None:
            yield "a thread is begun", True, lambda: replace(world, chat=world.chat.begin_thread())
        answered = messages and messages[0].there_at <= world.now
        if self.behaviour.begins == "on the answer" and answered and messages[0].thread is None:
            yield "a thread is begun on it", True, lambda: replace(world, chat=world.chat.begin_thread_on_it())
        if self.behaviour.revokes and not world.revoked:
            yield "authority is lost", True, lambda: replace(world, revoked=True)
        if world.looks and state in {"explicit_unverified", "verification_required"}:
            yield "an operator looks", True, lambda: self._look_again(world)

    def _gates(self, world: World, number: int) -> Iterator[Happening]:
        """The effects that a worker stands before."""
        place = world.places[number]
        if place is None or place.paused:
            return
        for gate in place.waiting:
            if gate.until > world.now:
                continue
            for deed in self._deeds(gate.kind, free=world.faults > 0):
                fault = deed not in {"ok", "accept"}
                yield (
                    f"{number} {gate.kind}: {deed}",
                    fault,
                    lambda g=gate, d=deed: self._give(world, number, g.gate, g.kind, d),
                )

    def _deeds(self, kind: str, *, free: bool) -> tuple[str, ...]:
        match kind:
            case "send":
                return ("accept", *(self.behaviour.send if free else ()))
            case "read" | "list" | "prepare" | "run":
                return ("ok", *(getattr(self.behaviour, kind) if free else ()))
            case _:
                return ("ok",)

    # What can happen.

    def _begin(self, world: World, number: int) -> World:
        self._restore(world)
        going = self._pass(world.now)
        return self._after(world, number, going, Place(world.now, (), ()))

    def _kill(self, world: World, number: int) -> World:
        return replace(world, places=with_place(world.places, number, None), crashes=world.crashes - 1)

    def _look_again(self, world: World) -> World:
        self._restore(world)
        give_up = self._policy.give_up_after_ms
        now = Millis(world.now)
        self._perform(lambda c: look_again(c, SubjectId("r_1"), now, give_up_after_ms=give_up), "ok")
        return replace(world, rows=self._rows(), looks=world.looks - 1)

    def _paused(self, world: World, number: int, *, paused: bool) -> World:
        place = world.places[number]
        assert place is not None
        places = with_place(world.places, number, replace(place, paused=paused))
        return replace(world, places=places, pauses=world.pauses - paused)

    def _give(self, world: World, number: int, gate: int, kind: str, deed: str) -> World:
        place = world.places[number]
        assert place is not None
        going = self._pass(place.began_at)
        for gift in place.gifts:
            going.give(gift.gate, gift.value, gift.at)
        self._restore(world)
        chat, value = self._value(world, going.gates[gate].arguments, kind, deed)
        if kind == "send":
            self.report.most_sends = max(self.report.most_sends, chat.sends)
        faults = world.faults - (deed not in {"ok", "accept"})
        gift = Gift(gate, world.now, value, tuple(plain(value)))
        going.give(gate, value, world.now)
        place = Place(place.began_at, (*place.gifts, gift), ())
        return self._after(replace(world, chat=chat, faults=faults), number, going, place)

    def _value(self, world: World, arguments: tuple[Any, ...], kind: str, deed: str) -> tuple[Chat, Any]:
        match kind:
            case "run":
                return world.chat, self._perform(arguments[0], deed)
            case "send":
                self._before_send(world)
                chat, outcome = world.chat.send(deed, arguments[0], arguments[1], world.now)
                return chat, (outcome, SLOW_MS if deed == "slow" else 0)
            case "answer":
                return world.chat, arguments[0]
            case "read":
                if arguments[0].message_id != QUESTION:
                    self._before_reading(world, arguments[0].message_id)
                return world.chat.read(deed, arguments[0], world.now)
            case "list":
                return world.chat, world.chat.page(deed, *arguments, world.now)
            case "prepare":
                return world.chat, Ready() if deed == "ok" else Refused(Refusal.OFFLINE)
            case _:
                return world.chat, None

    def _perform(self, work: Callable[..., Any], deed: str) -> Any:
        if deed == "away":
            return StorageUnavailable("explored")
        self._in_database = None
        with Contained() as contained:
            result = self.database.perform(work, keep=deed != "lost")
            return result if deed == "ok" else CommitUnknown("explored")
        return contained.fault  # a closure's own error is what its caller gets

    def _after(self, world: World, number: int, going: Pass, place: Place) -> World:
        """The state once the pass stands still.

        What it looks for in the database it finds at once, and a quick answer it has at once: neither has an effect,
        so that whatever happens before it happens after it too.
        """
        try:
            while not going.done:
                quick = [each for each in going.waiting() if each.kind in {"look", "answer"} and not each.until]
                if not quick:
                    break
                for each in quick:
                    asked = going.gates[each.gate].arguments[0]
                    value = asked(self.database.connection) if each.kind == "look" else asked
                    gift = Gift(each.gate, world.now, value, tuple(plain(value)))
                    place = replace(place, gifts=(*place.gifts, gift))
                    going.give(each.gate, value, world.now)
            standing = None if going.done else replace(place, waiting=going.waiting())
        finally:
            going.end()
        return replace(world, rows=self._rows(), places=with_place(world.places, number, standing))

    def _pass(self, at: int) -> Pass:
        return Pass(self._one_pass, at, self._gated)

    async def _one_pass(self, ports: Pass) -> None:
        pump = Pump(ports, ports, self, ports, self._policy, "gateway", sleep=ports.sleep)
        pump.last_pass_at = Millis(0)
        async with asyncio.TaskGroup() as group:
            await pump._pass(group)

    # The authority.

    def verdict(self, *_asked: object) -> Verdict:
        return Verdict.REVOKED if self._revoked else Verdict.ALLOWED

    def question_recalled(self, *_told: object) -> None:
        """Nobody's question is recalled here."""

    # The database.

    def _rows(self) -> tuple[Rows, ...]:
        if self._in_database is None:
            execute = self.database.driver.execute
            self._in_database = tuple(tuple(execute(self._sql[table.name][0]).fetchall()) for table in TABLES)
        return self._in_database

    def _restore(self, world: World) -> None:
        self._revoked = world.revoked
        there = self._rows()
        if there is world.rows:
            return
        execute = self.database.driver.execute
        execute("BEGIN")
        execute("DELETE FROM return_facts")
        for table, now, then in zip(TABLES, there, world.rows, strict=True):
            if now == then:
                continue
            _, delete, insert = self._sql[table.name]
            execute(delete)
            for row in then:
                execute(insert, row)
        execute("COMMIT")
        self._in_database = world.rows

    def _part(self, world: World, column: str) -> Any:
        return world.rows[0][0][self._at[column]]

    def _due(self, world: World) -> bool:
        return self._part(world, "lane") is not None and self._part(world, "due_at") <= world.now

    def _later(self, world: World) -> int | None:
        """The next moment at which anything can change."""
        moments = [gate.until for place in world.places if place for gate in place.waiting if gate.until]
        if self._part(world, "lane") is not None:
            moments += [self._part(world, name) for name in ("due_at", "lease_until", "give_up_at")]
        moments += [moment for each in world.chat.messages for moment in (each.there_at, each.listed_at)]
        return min((moment for moment in moments if moment is not None and moment > world.now), default=None)

    # What must hold.

    def _before_send(self, world: World) -> None:
        if self._part(world, "attempts") <= world.chat.sends:
            raise Violation("order", "a request leaves whose attempt is not durable")
        if world.chat.messages:
            raise Violation("duplicate", "a request leaves although an earlier one was, or will be, accepted")

    def _before_reading(self, world: World, message: str) -> None:
        column = self._columns["part_locators"].index("message_id")
        if message not in {row[column] for row in world.rows[1]}:
            raise Violation("order", "a message is read whose locator is not durable")

    def _check(self, before: World, world: World) -> None:
        was, state = self._part(before, "state"), self._part(world, "state")
        messages = world.chat.messages
        if len(messages) > 1:
            raise Violation("duplicate", f"{len(messages)} messages")
        if was in {"delivered", "undeliverable", "superseded"} and state != was:
            raise Violation("truth", f"{was} became {state}")
        if state == "delivered" and (len(messages) != 1 or not world.chat.shown):
            raise Violation("truth", "delivered, and nothing showed it")
        if state in {"queued", "retry_pending", "undeliverable", "superseded"} and messages:
            raise Violation("truth", f"{state}, and it is there or will be")
        if before.rows[1] and before.rows[1] != world.rows[1]:
            raise Violation("truth", "a locator was changed or forgotten")
        if world.rows[1] and self._part(world, "error") in {"no_match_found", "provider_locator_unavailable"}:
            raise Violation("truth", "it is known where the message is, and said that it is not")
        answers = dict(zip(self._columns["answers"], world.rows[2][0], strict=True))
        if (answers["status"], answers["attempts"]) != (state, self._part(world, "attempts")):
            raise Violation("truth", "the summary says something else than the part")
        if bool(answers["needs_operator"]) != (state in {"explicit_unverified", "undeliverable"}):
            raise Violation("liveness", f"{state}, and the operator is told {answers['needs_operator']}")

    def _settled(self, world: World) -> bool:
        return self._part(world, "state") in SETTLED_STATES and not any(world.places)

    def _end(self, world: World) -> str:
        error = self._part(world, "error")
        return self._part(world, "state") + (f"/{error}" if error else "")

    def _key(self, world: World) -> Any:
        """What makes two states the same: times count from now on."""
        now, open_ = world.now, self._part(world, "lane") is not None
        rows: list[Any] = []
        for table, of_table in zip(TABLES, world.rows, strict=True):
            untimed = self._times[table.name]
            for row in of_table:
                rows += [
                    None
                    if number in untimed or (not open_ and type(value) is int and value > 1_000_000_000)
                    else max(value - now, LONG_AGO_MS)
                    if type(value) is int and value > 1_000_000_000
                    else value
                    for number, value in enumerate(row)
                ]
        chat = [
            (
                max(each.there_at - now, LONG_AGO_MS if open_ else 0),
                max(each.listed_at - now, 0),
                each.recalled,
                each.route.reply_to,
                each.thread,
            )
            for each in world.chat.messages
        ]
        places = sorted(repr(self._standing(place, now)) for place in world.places)
        left = (world.crashes, world.pauses, world.faults, world.looks, world.revoked, world.chat.thread)
        return hash_of((rows, chat, world.chat.sends, world.chat.shown, places, left))

    def _standing(self, place: Place | None, now: int) -> Any:
        if place is None:
            return None
        flat: list[Any] = [max(place.began_at - now, LONG_AGO_MS), place.paused]
        for gift in place.gifts:
            flat += [gift.gate, max(gift.at - now, LONG_AGO_MS)]
            flat += [
                max(value - now, LONG_AGO_MS) if type(value) is int and value > 1_000_000_000 else value
                for value in gift.told
            ]
        flat += [(gate.gate, max(gate.until - now, 0) if gate.until else None) for gate in place.waiting]
        return flat
