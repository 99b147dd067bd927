"""Where sent messages are. A locator is a fact, not a claim: no lease and no state refuses its write."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final, cast

from sqlalchemy import Connection, bindparam, delete, select, update

from returns.delivery import Error, Event, State, Verification
from returns.ids import AppName, ChatId, MessageId, Millis, PartId, ThreadId
from returns.ledger.facts import Fact
from returns.ledger.inserting import or_yield
from returns.ledger.moves import Told, move, note, write
from returns.ledger.parts import Part, load
from returns.ledger.prepared import Prepared, Row, listed, names, size_for
from returns.ledger.tables import part_locators, part_locators_disproved, parts
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

_SET_ASIDE: Final = or_yield(part_locators_disproved, ("part_id", "message_id", "chat_id", "thread_id", "source", "at"))
_CONFIRM: Final = Prepared(update(part_locators).where(part_locators.c.part_id == bindparam("of_part")), ("source",))
_FORGET: Final = Prepared(delete(part_locators).where(part_locators.c.part_id == bindparam("part")))


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
    CONFIRMED = "confirmed"
    """It was the part's before, by a search or by an operator, and now the send's own answer says so."""
    ANOTHERS = "anothers"
    """The part has another one, or the message belongs to another part; nothing was stored."""


class Holder(Enum):
    """How the part stands that a message is said to be."""

    ITS_OWN = "its_own"
    """It is the message: proved, or named by an answer that came after all was over."""
    OPEN = "open"
    """It is read next, which tells."""
    UNPROVED = "unproved"
    """It could not be proved, and the send's own answer or a search named the message."""
    DISPROVED = "disproved"
    """It is settled, and the message was read and is another one, or an operator named it and no reading proved it."""


def keep(connection: Connection, part: Part, locator: Locator, source: Source, now: Millis) -> Kept:
    """Store where a part's message is, and nothing else.

    The first locator of a part stays; but the send's own answer comes before whatever was found or named instead and is
    not proved. A message that another part was only said to be is set aside there.
    """
    known = locator_of(connection, part.part_id)
    if known is not None:
        if known[0].message_id == locator.message_id:
            if source is not Source.DIRECT or known[1] is Source.DIRECT:
                return Kept.KNOWN
            if known[1] is Source.OPERATOR:  # a guess no more
                _CONFIRM.run(connection, {"of_part": part.part_id, "source": source.value})
            return Kept.CONFIRMED
        if source is not Source.DIRECT or known[1] is Source.DIRECT or part.state is State.DELIVERED:
            return Kept.ANOTHERS
    if not _free(connection, part, locator.message_id, source, now):
        return Kept.ANOTHERS
    if known is not None:
        set_aside(connection, part, now)
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
    """Store where a part's message is (see ``keep``), and look at it if the part's outcome is open.

    The same locator again changes nothing, but what could not be proved is looked at again when the send's own answer
    confirms it. False if it was not stored.
    """
    part = load(connection, part_id)
    if part is None:
        return False
    kept = keep(connection, part, locator, source, now)
    if kept is Kept.ANOTHERS:
        return False
    if kept is Kept.KNOWN or (kept is Kept.CONFIRMED and part.state is not State.EXPLICIT_UNVERIFIED):
        return True
    told = Told(Fact.LOCATED, {"source": source.value})
    if part.state in (State.VERIFICATION_REQUIRED, State.EXPLICIT_UNVERIFIED):
        # A search that is under way loses its hold: it would conclude that nothing was found.
        move(connection, part, Event.LOCATED, now, changes={"failures": 0, "fence": part.fence + 1}, told=told)
    else:
        note(connection, part, now, told.fact, told.detail)
    return True


def set_aside(connection: Connection, part: Part, now: Millis) -> None:
    """Keep the part's locator beside it: where its message is, is not known any more."""
    known = locator_of(connection, part.part_id)
    if known is None:
        return
    locator, source = known
    row = {
        "part_id": part.part_id,
        "message_id": locator.message_id,
        "chat_id": locator.chat_id,
        "thread_id": locator.thread_id,
        "source": source.value,
        "at": now,
    }
    _SET_ASIDE[connection.dialect.name].run(connection, row)
    _FORGET.run(connection, {"part": part.part_id})


def locator_of(connection: Connection, part_id: PartId) -> tuple[Locator, Source] | None:
    """Where the part's message is, as far as it is known. Private."""
    row = _OF_PART.first(connection, {"part": part_id})
    if row is None:
        return None
    message, chat = MessageId(cast("str", row["message_id"])), ChatId(cast("str", row["chat_id"]))
    return Locator(message, chat, cast("ThreadId | None", row["thread_id"])), Source(row["source"])


def owned(connection: Connection, app: AppName, messages: Collection[MessageId]) -> frozenset[MessageId]:
    """Which of the messages parts are said to be, proved or not."""
    return frozenset(MessageId(cast("str", row["message_id"])) for row in _named(connection, app, messages))


def holders(connection: Connection, app: AppName, messages: Collection[MessageId]) -> Mapping[MessageId, Holder]:
    """Of the messages those that parts are said to be, and how these stand."""
    return {MessageId(cast("str", row["message_id"])): _holder(row) for row in _named(connection, app, messages)}


def _holder(row: Row) -> Holder:
    match State(row["state"]):
        case State.EXPLICIT_UNVERIFIED:
            guessed = Source(row["source"]) is Source.OPERATOR
            another = row["error"] == Error.PROVIDER_DELIVERY_MISMATCH.value
            return Holder.DISPROVED if guessed or another else Holder.UNPROVED
        case State.DELIVERED | State.UNDELIVERABLE | State.SUPERSEDED:
            return Holder.ITS_OWN
        case State.QUEUED | State.SENDING | State.RETRY_PENDING | State.VERIFICATION_REQUIRED:
            return Holder.OPEN


def _free(connection: Connection, part: Part, message: MessageId, source: Source, now: Millis) -> bool:
    """Whether the message is no other part's; of one that was only said to be it, it is set aside."""
    for row in _named(connection, part.app, [message]):
        if row["part_id"] == part.part_id:
            continue
        holder = _holder(row)
        guessed = source is Source.DIRECT and Source(row["source"]) is Source.OPERATOR and holder is Holder.OPEN
        other = load(connection, PartId(cast("str", row["part_id"])))
        if other is None or not (holder is Holder.DISPROVED or guessed):
            return False
        if not (_disprove(connection, other, now) if guessed else write(connection, other, {"updated_at": now})):
            return False
        set_aside(connection, other, now)
    return True


def _disprove(connection: Connection, part: Part, now: Millis) -> bool:
    """End the reading of a message that an operator named: the provider itself says that it is another part's."""
    told = Told(Fact.READ_BACK, {"outcome": Event.MISMATCH.value, "differs": "message"})
    changes = {"failures": 0, "fence": part.fence + 1}
    return move(connection, part, Event.MISMATCH, now, changes=changes, told=told)


def _named(connection: Connection, app: AppName, messages: Collection[MessageId]) -> Sequence[Row]:
    if not messages:
        return ()
    return _naming(size_for(len(messages))).rows(connection, {"app": app, **listed("message", messages)})


@lru_cache(maxsize=32)
def _naming(count: int) -> Prepared:
    return Prepared(
        select(
            part_locators.c.message_id,
            part_locators.c.part_id,
            part_locators.c.source,
            parts.c.state,
            parts.c.error,
        )
        .join(parts, parts.c.part_id == part_locators.c.part_id)
        .where(part_locators.c.app == bindparam("app"), part_locators.c.message_id.in_(names("message", count)))
    )


def verification_by(source: Source) -> Verification:
    """How a part that is proved through such a locator was verified."""
    return Verification.DIRECT if source is Source.DIRECT else Verification.RECONCILED
