"""What an operator may ask of a delivery: to look again. Looking sends nothing."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection

from returns.delivery import Event, State, unread
from returns.ids import Millis, SubjectId
from returns.ledger.facts import Fact
from returns.ledger.locators import locator_of
from returns.ledger.moves import move, note
from returns.ledger.parts import Part, from_row, selection
from returns.ledger.prepared import Row
from returns.ledger.tables import answers, parts
from returns.ledger.wakeups import RETURNS, announce

_OPEN = (State.EXPLICIT_UNVERIFIED.value, State.VERIFICATION_REQUIRED.value)


def look_again(connection: Connection, subject: SubjectId, now: Millis) -> bool:
    """Have the unproved parts of the subject's answer read or looked for at once; False if there is none."""
    rows = (
        connection.execute(
            selection()
            .join(answers, answers.c.return_id == parts.c.return_id)
            .where(answers.c.subject_id == subject, parts.c.state.in_(_OPEN))
            .order_by(parts.c.position)
        )
        .mappings()
        .all()
    )
    for row in rows:
        _look(connection, from_row(cast("Row", row)), now)
    announce(connection, RETURNS)
    return bool(rows)


def _look(connection: Connection, part: Part, now: Millis) -> None:
    note(connection, part, now, Fact.LOOK_AGAIN)
    if part.leased(now):
        return  # it is being looked at
    located = locator_of(connection, part.part_id) is not None
    move(connection, part, Event.LOOK_AGAIN, now, error=unread(located=located), changes={"failures": 0})
