"""The messages of which reading cannot tell whether they are a part: kept until an operator says which. Private."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final, cast

from sqlalchemy import Connection, bindparam, delete, insert, select

from returns.ids import MessageId, PartId
from returns.ledger.parts import Part
from returns.ledger.prepared import Prepared
from returns.ledger.tables import part_candidates
from returns.ports import Reading

MOST: Final = 20
"""So many are kept of one search, the earliest ones."""

_NAMED: Final = Prepared(
    select(part_candidates.c.message_id).where(
        part_candidates.c.part_id == bindparam("part"), part_candidates.c.number == bindparam("number")
    )
)


def keep(connection: Connection, part: Part, found: Iterable[Reading], owned: Set[MessageId]) -> int:
    """Keep what a search left open, in the order in which it was sent, instead of what an earlier one did; how many."""
    forget(connection, part.part_id)
    live = [reading for reading in found if not reading.recalled and reading.locator.message_id not in owned]
    live.sort(key=lambda reading: (reading.sent_at, reading.locator.message_id))
    rows = [
        {
            "part_id": part.part_id,
            "number": number,
            "message_id": reading.locator.message_id,
            "chat_id": reading.locator.chat_id,
            "thread_id": reading.locator.thread_id,
            "sent_at": reading.sent_at,
        }
        for number, reading in enumerate(live[:MOST], 1)
    ]
    if rows:
        connection.execute(insert(part_candidates), rows)
    return len(rows)


def forget(connection: Connection, part_id: PartId) -> None:
    """Forget the candidates of a part."""
    connection.execute(delete(part_candidates).where(part_candidates.c.part_id == part_id))


def message_of(connection: Connection, part_id: PartId, number: int) -> MessageId | None:
    """The candidate that was shown under this number. Private."""
    row = _NAMED.first(connection, {"part": part_id, "number": number})
    return None if row is None else MessageId(cast("str", row["message_id"]))
