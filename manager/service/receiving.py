"""The door for events: each is taken once, durably, before anybody is told that it was.

One transaction claims the event's keys, stores the event and commits what it leads to (conversation, request, queued
turn), so that a copy, a crash or a second gateway finds either all of it or nothing. Waiting events share commits.
What cannot be judged yet is stored as held and judged again later by the same rules.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
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
from manager.ledger import chats, events, requests, turns
from manager.ledger.chats import ChatState
from manager.ledger.events import Claim, EventState, HeldEvent, key
from manager.service.claiming import Acceptance, ClaimedElsewhere, cleaned, content_keys, seen_before, take
from manager.service.intake import Intake
from manager.service.judging import Judged, judge
from returns.ids import AppName, ChatId, Millis
from returns.ports import Clock, Transactions

OWN_ID_WAIT_S: Final = 1.0
"""The event has to be answered within 3 s; what does not know itself by then holds it."""

CLAIM_TRIES: Final = 3

MESSAGE: Final = TypeAdapter(MessageReceived)


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
        self._own_id = own_id
        self._policy = policy
        self._intake = Intake(new_id)

    async def accept(self, event: Inbound, body: str) -> Acceptance:
        """Take one authenticated event; returns only after it is durable. Raises ``StorageUnavailable``.

        ``body`` is the event as it came; it is kept only for an event that is parked.
        """
        if isinstance(event, Unwanted):
            return Acceptance.IGNORED
        own_id = await self._know_thyself(event.envelope.app) if isinstance(event, MessageReceived) else None
        received_at = self._clock.now()
        for _ in range(CLAIM_TRIES - 1):
            try:
                return await self._transactions.run(lambda each: self._take(each, event, body, own_id, received_at))
            except ClaimedElsewhere:
                continue
        return await self._transactions.run(lambda each: self._take(each, event, body, own_id, received_at))

    async def judge_again(self, held: HeldEvent) -> Acceptance:
        """Judge a held event by what is known now; ``HELD`` when that is still not enough."""
        message = MESSAGE.validate_json(held.body)
        own_id = await self._know_thyself(held.app)
        now = self._clock.now()
        return await self._transactions.run(lambda each: self._release(each, held, message, own_id, now))

    async def _know_thyself(self, app: AppName) -> OpenId | None:
        try:
            async with asyncio.timeout(OWN_ID_WAIT_S):
                return await self._own_id(app)
        except TimeoutError:
            return None

    def _take(
        self, connection: Connection, event: Inbound, body: str, own_id: OpenId | None, now: Millis
    ) -> Acceptance:
        match event:
            case MessageReceived():
                return self._take_message(connection, cleaned(event), own_id, now)
            case MessageRecalled():
                return self._take_recall(connection, event, now)
            case BotAdded():
                return self._take_chat(connection, event, event.chat_id, ChatState.ACTIVE, event.external, now)
            case BotRemoved():
                return self._take_chat(connection, event, event.chat_id, ChatState.LEFT, None, now)
            case ChatDisbanded():
                return self._take_chat(connection, event, event.chat_id, ChatState.DISBANDED, None, now)
            case Misshapen():
                return self._park(connection, event, body, now)
            case Unwanted():
                return Acceptance.IGNORED
            case _:
                assert_never(event)

    def _take_message(
        self, connection: Connection, message: MessageReceived, own_id: OpenId | None, now: Millis
    ) -> Acceptance:
        app = message.envelope.app
        event_key, recalled = key("event", message.envelope.event_id), key("recalled", message.message_id)
        same = [key("message", message.message_id), *content_keys(message)]
        taken = events.claims(connection, app, (event_key, *same, recalled))
        seen = seen_before(connection, message, taken.get(event_key), now)
        if seen is not None:
            return seen
        first = next((taken[one] for one in same if one in taken), None)
        if first is not None:
            again = Claim(first.seq, message.envelope.body_digest)
            events.claim(connection, app, (event_key,), again, now)
            return Acceptance.DUPLICATE
        judged = judge(connection, self._policy, message, own_id, received_at=now, now=now)
        request = self._intake.identify(judged)
        seq = events.store(connection, message.envelope, judged.state, judged.reason, now, request)
        take(connection, message, seq, (event_key, *same), now)
        if judged.state is EventState.HELD:
            events.hold(connection, seq, MESSAGE.dump_json(message).decode())
        self._intake.carry_out(connection, message, judged, request, seq, now, recalled=recalled in taken)
        return _acceptance(judged)

    def _release(
        self, connection: Connection, held: HeldEvent, message: MessageReceived, own_id: OpenId | None, now: Millis
    ) -> Acceptance:
        if not events.is_held(connection, held.seq):
            return Acceptance.DUPLICATE
        judged = judge(connection, self._policy, message, own_id, received_at=held.received_at, now=now)
        if judged.state is EventState.HELD:
            return Acceptance.HELD
        request = self._intake.identify(judged)
        recalled = key("recalled", message.message_id)
        taken = events.claims(connection, held.app, (recalled,))
        events.settle(connection, held.seq, judged.state, judged.reason, request)
        events.drop_body(connection, held.seq)
        self._intake.carry_out(connection, message, judged, request, held.seq, now, recalled=recalled in taken)
        return _acceptance(judged)

    def _take_recall(self, connection: Connection, event: MessageRecalled, now: Millis) -> Acceptance:
        """A recall that comes before its message is remembered by its key, and cancels the question when it comes."""
        app = event.envelope.app
        keys = (key("event", event.envelope.event_id), key("recalled", event.message_id))
        taken = events.claims(connection, app, keys)
        seen = seen_before(connection, event, taken.get(keys[0]), now)
        if seen is not None or keys[1] in taken:
            return seen or Acceptance.DUPLICATE
        request = self._recall(connection, event, now)
        seq = events.store(connection, event.envelope, EventState.ACCEPTED, None, now, request)
        take(connection, event, seq, keys, now)
        return Acceptance.NEW

    def _recall(self, connection: Connection, event: MessageRecalled, now: Millis) -> RequestId | None:
        """An undecided question is cancelled; once it is decided, the policy says what becomes of its answer."""
        app = event.envelope.app
        found = requests.request_of_message(connection, app, event.message_id)
        if found is None:
            return None
        request, revision = found
        undecided = turns.withdraw(connection, request, revision=revision) > 0
        say_nothing = undecided or self._policy.recalled_question == "say_nothing"
        requests.mark_recalled(connection, app, event.message_id, now, say_nothing=say_nothing)
        return request

    def _take_chat(
        self,
        connection: Connection,
        event: BotAdded | BotRemoved | ChatDisbanded,
        chat_id: ChatId,
        state: ChatState,
        external: bool | None,
        now: Millis,
    ) -> Acceptance:
        app = event.envelope.app
        event_key = key("event", event.envelope.event_id)
        taken = events.claims(connection, app, (event_key,))
        seen = seen_before(connection, event, taken.get(event_key), now)
        if seen is not None:
            return seen
        chat = chats.find_or_create(connection, app, chat_id, private=False, new_id=self._new_id, now=now)
        chats.enter(connection, chat, state, event.envelope.created_at or now)
        if external is not None:
            chats.learn_external(connection, chat.chat_ref, external=external)
        seq = events.store(connection, event.envelope, EventState.ACCEPTED, None, now)
        take(connection, event, seq, (event_key,), now)
        return Acceptance.NEW

    def _park(self, connection: Connection, event: Misshapen, body: str, now: Millis) -> Acceptance:
        event_key = key("event", event.envelope.event_id)
        taken = events.claims(connection, event.envelope.app, (event_key,))
        seen = seen_before(connection, event, taken.get(event_key), now)
        if seen is not None:
            return seen
        seq = events.store(connection, event.envelope, EventState.PARKED, event.field[:80], now)
        events.keep_body(connection, seq, clean(body))
        take(connection, event, seq, (event_key,), now)
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
