"""Messages that a part was said to be and that proved not to be it: set aside, so that the part is looked for. Private.

A message that was set aside belongs to no part any more: whose it is, that one may find it.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, select

from returns.delivery import Error, State
from returns.ids import MessageId, PartId
from returns.ledger.locators import Source, locator_of
from returns.ledger.parts import Part
from returns.ledger.tables import part_locators_disproved

_NOT_IT: Final = frozenset({Error.PROVIDER_DELIVERY_MISMATCH, Error.PROVIDER_MESSAGE_MISSING})
"""What a reading says of a message that the send's own answer named by mistake."""


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


def only_read(connection: Connection, part: Part) -> bool:
    """Whether so far a message was read that is not the part, and nothing says that the history was searched."""
    if disproved(connection, part) is not None:
        return True
    return part.error in _NOT_IT and locator_of(connection, part.part_id) is None  # it was set aside since


def of_part(connection: Connection, part_id: PartId) -> tuple[MessageId, ...]:
    """The messages that were set aside of a part, in their order. Private."""
    table = part_locators_disproved
    query = select(table.c.message_id).where(table.c.part_id == part_id).order_by(table.c.at, table.c.message_id)
    return tuple(MessageId(each) for each in connection.execute(query).scalars())
