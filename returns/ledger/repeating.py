"""What a part repeats: the same part of the returns that its own one replaces, whose messages may turn up late.

Once one of them is delivered the asker has been told it, whatever becomes of the others: each stays what it is by
itself, and keeps nothing back any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, cast

from sqlalchemy import Connection, bindparam, select

from returns.decisions.answering import kept_of_replaced
from returns.delivery import MAY_BE_THERE, State
from returns.ids import PartId, ReturnId
from returns.ledger.parts import Part, load
from returns.ledger.prepared import Prepared, Row
from returns.ledger.tables import part_locators, parts, returns

_RETURN: Final = Prepared(
    select(returns.c.parts, returns.c.replaces).where(returns.c.return_id == bindparam("return_id"))
)
_PART: Final = Prepared(
    select(parts.c.part_id, parts.c.state, part_locators.c.message_id)
    .outerjoin(part_locators, part_locators.c.part_id == parts.c.part_id)
    .where(parts.c.return_id == bindparam("return_id"), parts.c.position == bindparam("position"))
)
_replaced = returns.alias("replaced")
_REPLACING: Final = Prepared(
    select(returns.c.return_id, returns.c.parts, _replaced.c.parts.label("parts_of_replaced"))
    .join(_replaced, _replaced.c.return_id == returns.c.replaces)
    .where(returns.c.subject_id == bindparam("subject"), returns.c.replaces == bindparam("return_id"))
)


class Earlier(Enum):
    """How what a part repeats stands now."""

    NONE = "none"
    """It repeats nothing, or nothing of it is known to be there."""
    BEING_READ = "being_read"
    """A message of it is known, and is read next: that tells."""
    DELIVERED = "delivered"
    """It is there."""


def earlier(connection: Connection, part: Part) -> Earlier:
    """How the same part of the returns that the part's own one replaces, one after the other, stands now.

    Call it under the lock of the part's chat (``locking``): then it stays so until the transaction ends.
    """
    found = Earlier.NONE
    for row in _repeats(connection, part):
        if row["state"] == State.DELIVERED.value:
            return Earlier.DELIVERED
        if row["state"] == State.VERIFICATION_REQUIRED.value and row["message_id"] is not None:
            found = Earlier.BEING_READ
    return found


def may_be_there(connection: Connection, part: Part) -> list[Part]:
    """What the part repeats that may be in the chat, as nobody knows, the last one first; none if one is delivered."""
    rows = list(_repeats(connection, part))
    if any(row["state"] == State.DELIVERED.value for row in rows):
        return []
    ids = [PartId(cast("str", row["part_id"])) for row in rows if State(row["state"]) in MAY_BE_THERE]
    return [found for each in ids if (found := load(connection, each)) is not None]


def _repeats(connection: Connection, part: Part) -> Iterator[Row]:
    """What the part repeats, the last one first."""
    if part.replaces is None:
        return
    position = part.position
    later = _RETURN.only(connection, {"return_id": part.return_id})
    while later["replaces"] is not None:
        replaced = ReturnId(cast("str", later["replaces"]))
        of_replaced = _RETURN.only(connection, {"return_id": replaced})
        position += kept_of_replaced(cast("int", of_replaced["parts"]), cast("int", later["parts"]))
        row = _PART.first(connection, {"return_id": replaced, "position": position})
        if row is not None:
            yield row
        later = of_replaced


def repeated_by(connection: Connection, part: Part) -> list[tuple[ReturnId, int]]:
    """The same part, by its return and its position there, of the returns that replace the part's own one."""
    found: list[tuple[ReturnId, int]] = []
    at, position = part.return_id, part.position
    while (row := _REPLACING.first(connection, {"subject": part.subject, "return_id": at})) is not None:
        position -= kept_of_replaced(cast("int", row["parts_of_replaced"]), cast("int", row["parts"]))
        if position < 0:  # it was proved before, and stays in the answer
            break
        at = ReturnId(cast("str", row["return_id"]))
        found.append((at, position))
    return found
