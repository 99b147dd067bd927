"""The door for events: each is taken once, durably, before anybody is told that it was.

One transaction claims the event's keys, stores the event and commits what it leads to (conversation, request, queued
turn), so that a copy, a crash or a second gateway finds either all of it or nothing. Events that wait are taken in one
transaction: what they need is read for all of them first, and what they write is written at the end.
What cannot be judged yet is stored as held and judged again later by the same rules.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from pydantic import TypeAdapter
from sqlalchemy import Connection

from manager.decisions.inbound import (
    BotAdded,
    BotRemoved,
    ChatDisbanded,
    Inbound,
    MessageRecalled,
    MessageReceived,
    Misshapen,
    Unwanted,
)
from manager.decisions.policy import StewardPolicy
from manager.decisions.questions import clean
from manager.ids import OpenId, RequestId
from manager.ledger import chats, events, turns
from manager.ledger.chats import ChatState
from manager.ledger.claims import Claims
from manager.ledger.events import EventState, HeldEvent, key
from manager.service.claiming import Acceptance, ClaimedElsewhere, cleaned, keys_of, seen_before, take
from manager.service.intake import Intake
from manager.service.judging import Judged, judge
from manager.service.reading_ahead import Ahead
from manager.service.recalling import opened_by, take_back_revision
from returns.ids import AppName, Millis
from returns.ledger.deferring import deferring
from returns.ports import Clock, Together, Transactions

OWN_ID_WAIT_S: Final = 1.0
"""The event has to be answered within 3 s; what does not know itself by then holds it."""

CLAIM_TRIES: Final = 3

MESSAGE: Final = TypeAdapter(MessageReceived)


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event on its way in. Private."""

    event: Inbound
    body: str
    own_id: OpenId | None
    received_at: Millis
    keys: tuple[str, ...]
    """See ``claiming.keys_of``."""


class Receiving:
    """Takes events. Stateless but for its collaborators."""

    def __init__(
        self,
        transactions: Transactions,
        clock: Clock,
        new_id: Callable[[str], str],
        policy: StewardPolicy,
        own_id: Callable[[AppName], Awaitable[OpenId | None]],
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._new_id = new_id
        self.own_id: Final = own_id
        """Learns an app's own id, for as long as that takes; None where it cannot be learnt now."""
        self._policy = policy
        self._intake = Intake(new_id)

    @property
    def apps(self) -> Collection[AppName]:
        """The apps that are configured."""
        return self._policy.apps

    async def accept(self, event: Inbound, body: str) -> Acceptance:
        """Take one authenticated event; returns only after it is durable. Raises ``StorageUnavailable``.

        ``body`` is the event as it came; it is kept only for an event that is parked.
        """
        if isinstance(event, Unwanted):
            return Acceptance.IGNORED
        own_id = await self._know_thyself(event.envelope.app) if isinstance(event, MessageReceived) else None
        if isinstance(event, MessageReceived):
            event = cleaned(event)
        arrival = Arrival(event, body, own_id, self._clock.now(), keys_of(event))
        return await self._run(Together(arrival, self._take_all))

    async def judge_again(self, held: HeldEvent, own_id: OpenId) -> Acceptance:
        """Judge a held event of a configured app by what is known now; ``HELD`` when that is not enough."""
        message = MESSAGE.validate_json(held.body)
        now = self._clock.now()
        return await self._run(lambda each: self._release(each, held, message, own_id, now))

    async def _run(self, work: Callable[[Connection], Acceptance]) -> Acceptance:
        for _ in range(CLAIM_TRIES - 1):
            try:
                return await self._transactions.run(work)
            except ClaimedElsewhere:
                continue
        return await self._transactions.run(work)

    async def _know_thyself(self, app: AppName) -> OpenId | None:
        try:
            async with asyncio.timeout(OWN_ID_WAIT_S):
                return await self.own_id(app)
        except TimeoutError:
            return None

    def _take_all(self, connection: Connection, arrivals: Sequence[Arrival]) -> list[Acceptance]:
        """Take events in their order. Raises ``ClaimedElsewhere``."""
        with deferring(connection) as waiting:
            messages = [each.event for each in arrivals if isinstance(each.event, MessageReceived)]
            keys = [(each.event.envelope.app, one) for each in arrivals for one in each.keys]
            ahead = Ahead(connection, waiting, messages, keys)
            taken = [self._take(connection, ahead, each) for each in arrivals]
            if not ahead.claims.write(arrivals[0].received_at):
                raise ClaimedElsewhere
            return taken

    def _take(self, connection: Connection, ahead: Ahead, arrival: Arrival) -> Acceptance:
        event, now = arrival.event, arrival.received_at
        claim = ahead.claims.find(event.envelope.app, arrival.keys[:1]).get(arrival.keys[0])
        seen = seen_before(connection, ahead.claims, event, claim, now)
        if seen is not None:
            return seen
        match event:
            case MessageReceived():
                return self._take_message(connection, ahead, event, arrival, now)
            case MessageRecalled():
                return self._take_recall(connection, ahead.claims, event, arrival.keys, now)
            case BotAdded():
                state, external = ChatState.ACTIVE, event.external
            case BotRemoved():
                state, external = ChatState.LEFT, None
            case ChatDisbanded():
                state, external = ChatState.DISBANDED, None
            case Misshapen():
                return self._park(connection, ahead.claims, event, arrival, now)
            case Unwanted():
                return Acceptance.IGNORED
            case _:
                assert_never(event)
        seq = self._take_chat(connection, event, state, external, now)
        take(ahead.claims, event, seq, arrival.keys)
        return Acceptance.NEW

    def _take_message(
        self, connection: Connection, ahead: Ahead, message: MessageReceived, arrival: Arrival, now: Millis
    ) -> Acceptance:
        *own, recalled = arrival.keys
        taken = ahead.claims.find(message.envelope.app, arrival.keys)
        first = next((taken[one] for one in own if one in taken), None)
        if first is not None:
            take(ahead.claims, message, first.seq, own[:1])
            return Acceptance.DUPLICATE
        judged = judge(connection, ahead, self._policy, message, arrival.own_id, received_at=now, now=now)
        request = self._intake.identify(judged)
        seq = events.store(connection, message.envelope, judged.state, judged.reason, now, request)
        take(ahead.claims, message, seq, own)
        if judged.state is EventState.HELD:
            events.hold(connection, seq, MESSAGE.dump_json(message).decode())
        self._intake.carry_out(connection, message, judged, request, seq, now, recalled=recalled in taken)
        return _acceptance(judged)

    def _release(
        self, connection: Connection, held: HeldEvent, message: MessageReceived, own_id: OpenId, now: Millis
    ) -> Acceptance:
        if not events.is_held(connection, held.seq):
            return Acceptance.DUPLICATE
        recalled = key("recalled", message.message_id)
        with deferring(connection) as waiting:
            ahead = Ahead(connection, waiting, [message], [(held.app, recalled)])
            judged = judge(connection, ahead, self._policy, message, own_id, received_at=held.received_at, now=now)
            if judged.state is EventState.HELD:
                return Acceptance.HELD
            request = self._intake.identify(judged)
            events.settle(connection, held.seq, judged.state, judged.reason, request)
            events.drop_body(connection, held.seq)
            was_recalled = recalled in ahead.claims.find(held.app, (recalled,))
            self._intake.carry_out(connection, message, judged, request, held.seq, now, recalled=was_recalled)
        return _acceptance(judged)

    def _take_recall(
        self, connection: Connection, claims: Claims, event: MessageRecalled, keys: Sequence[str], now: Millis
    ) -> Acceptance:
        """A recall that comes before its message is remembered by its key, and cancels the question when it comes."""
        if claims.find(event.envelope.app, keys[1:]):
            return Acceptance.DUPLICATE
        request = self._recall(connection, event, now)
        seq = events.store(connection, event.envelope, EventState.ACCEPTED, None, now, request)
        take(claims, event, seq, keys)
        return Acceptance.NEW

    def _recall(self, connection: Connection, event: MessageRecalled, now: Millis) -> RequestId | None:
        """An undecided question is cancelled; once it is decided, the policy says what becomes of its answer.

        What a recalled correction spoke of stands again (see ``recalling``).
        """
        app = event.envelope.app
        found = opened_by(connection, app, event.message_id)
        if found is None:
            return None
        request, revision = found
        undecided = turns.withdraw(connection, request, revision=revision) > 0
        say_nothing = undecided or self._policy.recalled_question == "say_nothing"
        take_back_revision(connection, self._new_id, request, revision, now, say_nothing=say_nothing)
        return request

    def _take_chat(
        self,
        connection: Connection,
        event: BotAdded | BotRemoved | ChatDisbanded,
        state: ChatState,
        external: bool | None,
        now: Millis,
    ) -> int:
        app = event.envelope.app
        chat = chats.find_or_create(connection, app, event.chat_id, private=False, new_id=self._new_id, now=now)
        at = event.envelope.created_at or now
        # An event may come late: the bot was taken out, let in again, and asked since.
        if state is not ChatState.LEFT or not chats.was_asked_since(connection, chat, at):
            chats.enter(connection, chat, state, at)
        if external is not None:
            chats.learn_external(connection, chat.chat_ref, external=external)
        return events.store(connection, event.envelope, EventState.ACCEPTED, None, now)

    def _park(
        self, connection: Connection, claims: Claims, event: Misshapen, arrival: Arrival, now: Millis
    ) -> Acceptance:
        seq = events.store(connection, event.envelope, EventState.PARKED, event.field[:80], now)
        events.keep_body(connection, seq, clean(arrival.body))
        take(claims, event, seq, arrival.keys)
        return Acceptance.PARKED


def _acceptance(judged: Judged) -> Acceptance:
    match judged.state:
        case EventState.HELD:
            return Acceptance.HELD
        case EventState.IGNORED:
            return Acceptance.IGNORED
        case EventState.ACCEPTED | EventState.LATE:
            return Acceptance.NEW
        case EventState.PARKED | EventState.ALARM:
            return Acceptance(judged.state.value)
        case _:
            assert_never(judged.state)
