"""What makes two events the same, and the claim by which one of them is taken."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from sqlalchemy import Connection

from manager.decisions.inbound import Inbound, MessageRecalled, MessageReceived
from manager.decisions.questions import clean
from manager.ledger import events
from manager.ledger.claims import Claims
from manager.ledger.events import Claim, EventState, key
from returns.ids import Millis


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
    """Another gateway took the same at the same moment; what this one wrote is rolled back, and it looks again."""

    code = "claimed_elsewhere"


def take(claims: Claims, event: Inbound, seq: int, keys: Sequence[str]) -> None:
    """Take the keys for the stored event."""
    claims.take(event.envelope.app, keys, Claim(seq, event.envelope.body_digest))


def keys_of(event: Inbound) -> tuple[str, ...]:
    """Every key that taking the event asks for: its own first, then what makes it the same as another one."""
    own = key("event", event.envelope.event_id)
    if isinstance(event, MessageReceived):
        return (own, *same_keys(event), key("recalled", event.message_id))
    return (own, key("recalled", event.message_id)) if isinstance(event, MessageRecalled) else (own,)


def seen_before(
    connection: Connection, claims: Claims, event: Inbound, claim: Claim | None, now: Millis
) -> Acceptance | None:
    """What to say of an event whose name is taken; each other body under that name is an alarm, once."""
    if claim is None:
        return None
    envelope = event.envelope
    if claim.body_digest == envelope.body_digest:
        return Acceptance.DUPLICATE
    alarm = key("alarm", f"{envelope.event_id}:{envelope.body_digest}")
    if not claims.find(envelope.app, (alarm,)):
        take(
            claims, event, events.store(connection, envelope, EventState.ALARM, "same_event_other_body", now), (alarm,)
        )
    return Acceptance.ALARM


def cleaned(message: MessageReceived) -> MessageReceived:
    """The message in characters that every database holds."""
    text = clean(message.text)
    if text == message.text and all(clean(mention.name) == mention.name for mention in message.mentions):
        return message
    mentions = tuple(replace(mention, name=clean(mention.name)) for mention in message.mentions)
    return replace(message, text=text, mentions=mentions)


def same_keys(message: MessageReceived) -> tuple[str, ...]:
    """What makes a message the same: its id, and what it says under another one.

    Without its author or its time, two would be taken for one.
    """
    named = key("message", message.message_id)
    if message.created_at is None or message.sender.open_id is None:
        return (named,)
    parts = (
        message.chat_id,
        message.thread_id or "",
        message.sender.open_id,
        str(message.created_at),
        message.content_digest,
    )
    return (
        named,
        key("content", hashlib.sha256("\x00".join(parts).encode()).hexdigest()),
    )
