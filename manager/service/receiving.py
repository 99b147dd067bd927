"""The door for events: each is taken once, durably, before anybody is told that it was.

One transaction claims the event's keys, stores the event and commits what it leads to (conversation, request, queued
turn), so that a copy, a crash or a second gateway finds either all of it or nothing. Waiting events share commits.
What cannot be judged yet is stored as held and judged again later by the same rules.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from enum import Enum
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
from manager.ids import OpenId
from manager.ledger import chats, events, requests, turns
from manager.ledger.chats import ChatState
from manager.ledger.events import Claim, EventState, HeldEvent, key
from manager.service.intake import Intake
from manager.service.judging import Judged, judge
from returns.ids import AppName, ChatId, Millis
from returns.ports import Clock, Transactions

OWN_ID_WAIT_S: Final = 1.0
"""The event has to be answered within 3 s; what does not know itself by then holds it."""

CLAIM_TRIES: Final = 3

MESSAGE: Final = TypeAdapter(MessageReceived)


class Acceptance(Enum):
    """What became of an event; all of them are durable, and are answered with 200."""

    NEW = "new"
    """It led to something."""
    DUPLICATE = "duplicate"
    """It was taken before."""
    ALARM = "alarm"
    """Its name was taken before by an event with another body; the first one stays."""
    IGNORED = "ignored"
    """It asks nothing of the steward."""
    PARKED = "parked"
    """It is not as documented; somebody has to look at it."""
    HELD = "held"
    """It will be judged again."""


class ClaimedElsewhere(Exception):
    """Another gateway took the same event at the same moment; what this one wrote is rolled back."""

    code = "claimed_elsewhere"


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
                return self._take_message(connection, _cleaned(event), own_id, now)
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
        same = [key("message", message.message_id), *_content_keys(message)]
        taken = events.claims(connection, app, (event_key, *same, recalled))
        seen = self._seen_before(connection, message, taken.get(event_key), now)
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
        self._claim(connection, message, seq, (event_key, *same), now)
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
        seen = self._seen_before(connection, event, taken.get(keys[0]), now)
        if seen is not None or keys[1] in taken:
            return seen or Acceptance.DUPLICATE
        found = requests.mark_recalled(connection, app, event.message_id, now)
        request = None if found is None else found[0]
        seq = events.store(connection, event.envelope, EventState.ACCEPTED, None, now, request)
        self._claim(connection, event, seq, keys, now)
        if found is not None:
            turns.withdraw(connection, found[0], revision=found[1])
        return Acceptance.NEW

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
        seen = self._seen_before(connection, event, taken.get(event_key), now)
        if seen is not None:
            return seen
        chat = chats.find_or_create(connection, app, chat_id, private=False, new_id=self._new_id, now=now)
        chats.enter(connection, chat, state, event.envelope.created_at or now)
        if external is not None:
            chats.learn_external(connection, chat.chat_ref, external=external)
        seq = events.store(connection, event.envelope, EventState.ACCEPTED, None, now)
        self._claim(connection, event, seq, (event_key,), now)
        return Acceptance.NEW

    def _park(self, connection: Connection, event: Misshapen, body: str, now: Millis) -> Acceptance:
        event_key = key("event", event.envelope.event_id)
        taken = events.claims(connection, event.envelope.app, (event_key,))
        seen = self._seen_before(connection, event, taken.get(event_key), now)
        if seen is not None:
            return seen
        seq = events.store(connection, event.envelope, EventState.PARKED, event.field[:80], now)
        events.keep_body(connection, seq, clean(body))
        self._claim(connection, event, seq, (event_key,), now)
        return Acceptance.PARKED

    def _seen_before(
        self, connection: Connection, event: Inbound, claim: Claim | None, now: Millis
    ) -> Acceptance | None:
        """What to say of an event whose name is taken; each other body under that name is an alarm, once."""
        if claim is None:
            return None
        envelope = event.envelope
        if claim.body_digest == envelope.body_digest:
            return Acceptance.DUPLICATE
        alarm = key("alarm", f"{envelope.event_id}:{envelope.body_digest}")
        if not events.claims(connection, envelope.app, (alarm,)):
            seq = events.store(connection, envelope, EventState.ALARM, "same_event_other_body", now)
            events.claim(connection, envelope.app, (alarm,), Claim(seq, envelope.body_digest), now)
        return Acceptance.ALARM

    def _claim(self, connection: Connection, event: Inbound, seq: int, keys: tuple[str, ...], now: Millis) -> None:
        if not events.claim(connection, event.envelope.app, keys, Claim(seq, event.envelope.body_digest), now):
            raise ClaimedElsewhere


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


def _cleaned(message: MessageReceived) -> MessageReceived:
    mentions = tuple(replace(mention, name=clean(mention.name)) for mention in message.mentions)
    return replace(message, text=clean(message.text), mentions=mentions)


def _content_keys(message: MessageReceived) -> tuple[str, ...]:
    """What makes a message the same under another id. Without its author or its time, two would be taken for one."""
    if message.created_at is None or message.sender.open_id is None:
        return ()
    parts = (
        message.chat_id,
        message.thread_id or "",
        message.sender.open_id,
        str(message.created_at),
        message.content_digest,
    )
    return (key("content", hashlib.sha256("\x00".join(parts).encode()).hexdigest()),)
