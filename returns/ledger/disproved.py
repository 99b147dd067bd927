"""Messages that a part was said to be and that proved not to be it: set aside, so that the part is looked for. Private.

A message that was set aside belongs to no part any more: whose it is, that one may find it.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, delete, select

from returns.delivery import Error, State
from returns.ids import MessageId, Millis, PartId
from returns.ledger.inserting import or_yield
from returns.ledger.locators import Source, locator_of
from returns.ledger.parts import Part
from returns.ledger.tables import part_locators, part_locators_disproved

_NOT_IT: Final = frozenset({Error.PROVIDER_DELIVERY_MISMATCH, Error.PROVIDER_MESSAGE_MISSING})
"""What a reading says of a message that the send's own answer named by mistake."""

_SET_ASIDE: Final = or_yield(part_locators_disproved, ("part_id", "message_id", "chat_id", "thread_id", "source", "at"))


def disproved(connection: Connection, part: Part) -> Source | None:
    """Who named the message that was read instead of the history, and is not the part; None if that is not so.

    A message that the send's own answer named and that was recalled is the part. Of one that an operator named, no
    reading but a proof says anything.
    """
    known = locator_of(connection, part.part_id)
    if known is None or part.state is not State.EXPLICIT_UNVERIFIED:
        return None
    match known[1]:
        case Source.OPERATOR:
            return Source.OPERATOR
        case Source.DIRECT:
            return Source.DIRECT if part.error in _NOT_IT else None
        case Source.SEARCH:
            return None


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
    connection.execute(delete(part_locators).where(part_locators.c.part_id == part.part_id))


def of_part(connection: Connection, part_id: PartId) -> tuple[MessageId, ...]:
    """The messages that were set aside of a part, in their order. Private."""
    table = part_locators_disproved
    query = select(table.c.message_id).where(table.c.part_id == part_id).order_by(table.c.at, table.c.message_id)
    return tuple(MessageId(each) for each in connection.execute(query).scalars())
