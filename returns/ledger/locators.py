"""Where sent messages are. A locator is a fact, not a claim: no lease and no state refuses its write."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from sqlalchemy import Connection, select

from returns.delivery import Event, State, Verification
from returns.ids import AppName, ChatId, MessageId, Millis, PartId, ThreadId
from returns.ledger.facts import Fact
from returns.ledger.inserting import insert_or_yield
from returns.ledger.moves import move, note
from returns.ledger.parts import load
from returns.ledger.tables import part_locators
from returns.ports import Locator


class Source(Enum):
    """Who said where the message is."""

    DIRECT = "direct"
    """The send's own answer."""
    SEARCH = "search"
    """It was found in the history."""
    OPERATOR = "operator"
    """An operator named it."""


def learn(connection: Connection, part_id: PartId, locator: Locator, source: Source, now: Millis) -> bool:
    """Store where a part's message is, and look at it if the part's outcome is open.

    The first locator of a part stays; the same one again changes nothing. False if the part has another one, or if the
    message belongs to another part.
    """
    known = locator_of(connection, part_id)
    if known is not None:
        return known[0].message_id == locator.message_id
    part = load(connection, part_id)
    if part is None:
        return False
    row = {
        "part_id": part_id,
        "app": part.app,
        "message_id": locator.message_id,
        "chat_id": locator.chat_id,
        "thread_id": locator.thread_id,
        "source": source.value,
        "at": now,
    }
    if not insert_or_yield(connection, part_locators, row):
        return False
    note(connection, part, now, Fact.LOCATED, {"source": source.value})
    if part.state in (State.VERIFICATION_REQUIRED, State.EXPLICIT_UNVERIFIED):
        move(connection, part, Event.LOCATED, now, changes={"failures": 0})
    return True


def locator_of(connection: Connection, part_id: PartId) -> tuple[Locator, Source] | None:
    """Where the part's message is, as far as it is known. Private."""
    row = connection.execute(
        select(
            part_locators.c.message_id,
            part_locators.c.chat_id,
            part_locators.c.thread_id,
            part_locators.c.source,
        ).where(part_locators.c.part_id == part_id)
    ).one_or_none()
    if row is None:
        return None
    thread = ThreadId(row.thread_id) if row.thread_id is not None else None
    return Locator(MessageId(row.message_id), ChatId(row.chat_id), thread), Source(row.source)


def owned(connection: Connection, app: AppName, messages: Collection[MessageId]) -> frozenset[MessageId]:
    """Which of the messages belong to parts already."""
    if not messages:
        return frozenset()
    found = connection.execute(
        select(part_locators.c.message_id).where(
            part_locators.c.app == app, part_locators.c.message_id.in_(list(messages))
        )
    ).scalars()
    return frozenset(MessageId(message) for message in found)


def verification_by(source: Source) -> Verification:
    """How a part that is proved through such a locator was verified."""
    return Verification.DIRECT if source is Source.DIRECT else Verification.RECONCILED
