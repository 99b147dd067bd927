"""Where sent messages are. A locator is a fact, not a claim: no lease and no state refuses its write."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from functools import lru_cache
from typing import Final, cast

from sqlalchemy import Connection, bindparam, select

from returns.delivery import Event, State, Verification
from returns.ids import AppName, ChatId, MessageId, Millis, PartId, ThreadId
from returns.ledger.facts import Fact
from returns.ledger.inserting import or_yield
from returns.ledger.moves import Told, move, note
from returns.ledger.parts import Part, load
from returns.ledger.prepared import Prepared, listed, names, size_for
from returns.ledger.tables import part_locators
from returns.ports import Locator

_LEARN: Final = or_yield(part_locators, ("part_id", "app", "message_id", "chat_id", "thread_id", "source", "at"))
_OF_PART: Final = Prepared(
    select(
        part_locators.c.message_id,
        part_locators.c.chat_id,
        part_locators.c.thread_id,
        part_locators.c.source,
    ).where(part_locators.c.part_id == bindparam("part"))
)


class Source(Enum):
    """Who said where the message is."""

    DIRECT = "direct"
    """The send's own answer."""
    SEARCH = "search"
    """It was found in the history."""
    OPERATOR = "operator"
    """An operator named it."""


class Kept(Enum):
    """What became of a locator that was to be stored."""

    NEW = "new"
    """It is the part's now."""
    KNOWN = "known"
    """It was the part's before."""
    ANOTHERS = "anothers"
    """The part has another one, or the message belongs to another part; nothing was stored."""


def keep(connection: Connection, part: Part, locator: Locator, source: Source, now: Millis) -> Kept:
    """Store where a part's message is, and nothing else. The first locator of a part stays."""
    known = locator_of(connection, part.part_id)
    if known is not None:
        return Kept.KNOWN if known[0].message_id == locator.message_id else Kept.ANOTHERS
    row = {
        "part_id": part.part_id,
        "app": part.app,
        "message_id": locator.message_id,
        "chat_id": locator.chat_id,
        "thread_id": locator.thread_id,
        "source": source.value,
        "at": now,
    }
    return Kept.NEW if _LEARN[connection.dialect.name].run(connection, row) == 1 else Kept.ANOTHERS


def learn(connection: Connection, part_id: PartId, locator: Locator, source: Source, now: Millis) -> bool:
    """Store where a part's message is, and look at it if the part's outcome is open.

    The first locator of a part stays; the same one again changes nothing. False if the part has another one, or if the
    message belongs to another part.
    """
    part = load(connection, part_id)
    if part is None:
        return False
    kept = keep(connection, part, locator, source, now)
    if kept is not Kept.NEW:
        return kept is Kept.KNOWN
    told = Told(Fact.LOCATED, {"source": source.value})
    if part.state in (State.VERIFICATION_REQUIRED, State.EXPLICIT_UNVERIFIED):
        # A search that is under way loses its hold: it would conclude that nothing was found.
        move(connection, part, Event.LOCATED, now, changes={"failures": 0, "fence": part.fence + 1}, told=told)
    else:
        note(connection, part, now, told.fact, told.detail)
    return True


def locator_of(connection: Connection, part_id: PartId) -> tuple[Locator, Source] | None:
    """Where the part's message is, as far as it is known. Private."""
    row = _OF_PART.first(connection, {"part": part_id})
    if row is None:
        return None
    message, chat = MessageId(cast("str", row["message_id"])), ChatId(cast("str", row["chat_id"]))
    return Locator(message, chat, cast("ThreadId | None", row["thread_id"])), Source(row["source"])


def owned(connection: Connection, app: AppName, messages: Collection[MessageId]) -> frozenset[MessageId]:
    """Which of the messages belong to parts already."""
    if not messages:
        return frozenset()
    found = _owned(size_for(len(messages))).rows(connection, {"app": app, **listed("message", messages)})
    return frozenset(MessageId(cast("str", row["message_id"])) for row in found)


@lru_cache(maxsize=32)
def _owned(count: int) -> Prepared:
    return Prepared(
        select(part_locators.c.message_id).where(
            part_locators.c.app == bindparam("app"), part_locators.c.message_id.in_(names("message", count))
        )
    )


def verification_by(source: Source) -> Verification:
    """How a part that is proved through such a locator was verified."""
    return Verification.DIRECT if source is Source.DIRECT else Verification.RECONCILED
